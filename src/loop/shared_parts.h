// Which parts of a statement's expressions are computed once, for all that read them.
//
//   %y[i] = select(c, sqrt(%x[i]), exp(a*b)) + a*b         a*b      is read twice: computed before
//   %y[i] = select(c, %x[i]*%x[i], 0.0)                    %x[i]    is only read where c holds
#pragma once
#include <span>
#include <unordered_map>
#include <utility>

#include "loop/expr.h"

namespace cleave::loop {

class SharedParts {
 public:
  SharedParts() = default;
  // Of expressions that outlive this.
  explicit SharedParts(std::span<const Expr> roots);

  // ---- of parts but constants and variables
  // Whether it is read more than once.
  bool is_shared(const Expr& e) const { return uses_.at(&*e).count > 1; }
  // Whether it is evaluated whichever arms are taken.
  bool is_always_reached(const Expr& e) const { return uses_.at(&*e).always; }
  // Whether it is shared, and may be computed before the statement: it reads no memory that only an
  // arm of a select reads.
  bool is_computed_before(const Expr& e) const {
    return is_shared(e) && (!e->reads_memory || is_always_reached(e));
  }

 private:
  struct Uses {
    int count = 0;
    bool always = false;
  };
  void count(const Expr& e);
  void reach(const Expr& e);

  std::unordered_map<const ExprNode*, Uses> uses_;
};

inline bool is_leaf(const Expr& e) { return e->op == Op::constant || e->op == Op::var; }

}  // namespace cleave::loop
