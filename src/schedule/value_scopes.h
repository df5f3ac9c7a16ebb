// The open blocks of a kernel that is written, outermost first, and which values at which indices
// are known in each: a value is written where the loops of its index are open, and no further
// inside.
//
//   for p {                      scope 0    owns p
//     let v = w[p] * 2           index [p]: written here, though it is read in scope 1
//     for j { x[p, j] * v }      scope 1    owns j
//   }
#pragma once
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "loop/index_math.h"
#include "loop/kernel_builder.h"
#include "schedule/index_key.h"

namespace cleave {

class ValueScopes {
 public:
  ValueScopes(loop::KernelSheet& sheet, loop::IndexMath& math) : sheet_(sheet), math_(math) {}

  // The innermost open block, and the variables of its loops.
  void open(const loop::Exprs& variables);
  void close();
  // Declares what stands in the innermost scope but wasn't written by write_at().
  void own(const loop::Expr& variable);

  size_t innermost() const { return scopes_.size() - 1; }
  // The scope in which all variables of the index are known.
  size_t depth_of(const loop::Exprs& index) const;
  // The value, where this scope or one further outside knows it; nullptr: none.
  const loop::Expr* known(const IndexKey& key, size_t depth) const;
  void remember(IndexKey key, size_t depth, loop::Expr value);

  // What is written meanwhile, and the variables that are made, belong to this scope.
  void write_at(size_t depth, const std::function<void()>& write);
  // A name for the expression in this scope, prefix_number.
  loop::Expr name(const std::string& prefix, loop::Expr e, size_t depth);
  // A name for a part of an index, with values in [0, extent): the same one for the same part.
  loop::Expr name_part(const loop::Expr& part, int64_t extent);

 private:
  struct Scope {
    loop::Block* block;
    std::map<IndexKey, loop::Expr> known;
    std::unordered_map<loop::Expr, loop::Expr> parts;
  };

  loop::KernelSheet& sheet_;
  loop::IndexMath& math_;
  std::vector<Scope> scopes_;
  std::unordered_map<int64_t, size_t> scope_of_;  // by variable
  size_t writing_ = 0;                            // the scope that is written in
};

}  // namespace cleave
