// How an index changes from one element of a loop to the next, and what divides the rest of it.
#pragma once
#include <optional>
#include <unordered_map>

#include "loop/expr.h"

namespace cleave::simt {

// factor * j + rest, where `divisor`, a power of two, divides the rest.
struct Affine {
  int64_t factor = 0, divisor = 1;
};

class Affines {
 public:
  static constexpr int64_t most = 64;  // divisors are told up to this

  // In the loop over `var`; undefined: in none.
  void set_loop(const loop::Expr& var) { loop_ = var; }
  void set(const loop::Expr& var, std::optional<Affine> value) { variables_[var->id()] = value; }
  // nullopt: it changes in some other way.
  std::optional<Affine> of(const loop::Expr& e) const;

 private:
  loop::Expr loop_;
  std::unordered_map<int64_t, std::optional<Affine>> variables_;
};

}  // namespace cleave::simt
