#include "loop/shared_parts.h"

namespace cleave::loop {

SharedParts::SharedParts(std::span<const Expr> roots) {
  for (const Expr& e : roots) count(e);
  for (const Expr& e : roots) reach(e);
}

void SharedParts::count(const Expr& e) {
  if (is_leaf(e) || ++uses_[&*e].count > 1) return;
  for (const Expr& a : e->args) count(a);
}

void SharedParts::reach(const Expr& e) {
  if (is_leaf(e)) return;
  bool& always = uses_[&*e].always;
  if (std::exchange(always, true)) return;
  for (size_t k = 0; k < e->args.size(); ++k)
    if (e->op != Op::select || k == 0) reach(e->args[k]);
}

}  // namespace cleave::loop
