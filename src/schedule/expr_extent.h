// The size of an expression when written out: a shared subexpression counts as often as it is used.
//
//   t = a + b         operations 3
//   t * t + t         operations 11, though it has four nodes in memory
#pragma once
#include <unordered_map>

#include "loop/expr.h"

namespace cleave {

class ExprExtents {
 public:
  struct Extent {
    size_t operations;  // at most 65,536
    bool reads_memory;
  };
  Extent of(const loop::Expr& e);

 private:
  std::unordered_map<const loop::ExprNode*, Extent> extents_;  // of those in kept_alive_
  loop::Exprs kept_alive_;
};

}  // namespace cleave
