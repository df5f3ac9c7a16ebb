#include "schedule/next_variable.h"

#include <algorithm>

namespace cleave::schedule {

using namespace cleave::loop;

int64_t next_variable(const Block& block) {
  int64_t out = 0;
  const auto with = [&](const Expr& var) { out = std::max(out, var->id() + 1); };
  for (const Stmt& s : block) {
    if (auto* f = std::get_if<For>(&s.node)) {
      with(f->loop.var);
      out = std::max(out, next_variable(f->body));
    } else if (auto* r = std::get_if<Reduce>(&s.node)) {
      for (const Loop& l : r->loops) with(l.var);
      for (const Fold& f : r->folds) with(f.var);
      out = std::max(out, next_variable(r->body));
    } else if (auto* i = std::get_if<If>(&s.node)) {
      out = std::max(out, next_variable(i->then));
    } else if (auto* let = std::get_if<Let>(&s.node)) {
      with(let->var);
    } else if (auto* define = std::get_if<Define>(&s.node)) {
      with(define->var);
    }
  }
  return out;
}

}  // namespace cleave::schedule
