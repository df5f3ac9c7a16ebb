#include "simt/scopes.h"

#include <unordered_set>

namespace cleave::simt {
namespace {

std::string declared_twice(const Block& scope) {
  std::unordered_set<int64_t> declared;
  for (const Stmt& s : scope) {
    const Expr* var = nullptr;
    if (auto* l = std::get_if<Let>(&s.node)) var = &l->var;
    if (auto* d = std::get_if<Define>(&s.node)) var = &d->var;
    if (auto* e = std::get_if<Exchange>(&s.node)) var = &e->var;
    if (var != nullptr && !declared.insert((*var)->id()).second) return (*var)->name();
    std::string inside;
    if (auto* f = std::get_if<For>(&s.node)) inside = declared_twice(f->body);
    if (auto* i = std::get_if<If>(&s.node)) {
      inside = declared_twice(i->then);
      if (inside.empty()) inside = declared_twice(i->otherwise);
    }
    if (!inside.empty()) return inside;
  }
  return {};
}

}  // namespace

std::string declared_twice(const Phase& phase) { return declared_twice(phase.body); }

}  // namespace cleave::simt
