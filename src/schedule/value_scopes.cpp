#include "schedule/value_scopes.h"

#include <algorithm>
#include <utility>

namespace cleave {

using namespace cleave::loop;

void ValueScopes::open(const Exprs& variables) {
  scopes_.push_back({sheet_.open.back(), {}, {}});
  writing_ = innermost();
  for (const Expr& v : variables) own(v);
}

void ValueScopes::close() {
  scopes_.pop_back();
  writing_ = scopes_.empty() ? 0 : innermost();
}

void ValueScopes::own(const Expr& variable) {
  if (variable->op == Op::var && !scopes_.empty()) scope_of_[variable->id()] = innermost();
}

size_t ValueScopes::depth_of(const Exprs& index) const {
  size_t depth = 0;
  for (const Expr& e : index)
    for (const int64_t v : math_.variables(e))
      if (const auto it = scope_of_.find(v); it != scope_of_.end())
        depth = std::max(depth, it->second);
      else  // of the rule that asks
        depth = std::max(depth, writing_);
  return depth;
}

const Expr* ValueScopes::known(const IndexKey& key, size_t depth) const {
  for (size_t d = 0; d <= depth; ++d)
    if (const auto it = scopes_[d].known.find(key); it != scopes_[d].known.end())
      return &it->second;
  return nullptr;
}

void ValueScopes::remember(IndexKey key, size_t depth, Expr value) {
  scopes_[depth].known.emplace(std::move(key), std::move(value));
}

void ValueScopes::write_at(size_t depth, const std::function<void()>& write) {
  sheet_.open.push_back(scopes_[depth].block);
  const int64_t first = sheet_.next_var;
  const size_t outer = std::exchange(writing_, depth);
  write();
  for (int64_t v = first; v < sheet_.next_var; ++v) scope_of_.try_emplace(v, depth);
  writing_ = outer;
  sheet_.open.pop_back();
}

Expr ValueScopes::name(const std::string& prefix, Expr e, size_t depth) {
  const int64_t id = sheet_.next_var++;
  Expr var = make_var(id, fmt::format("{}_{}", prefix, id), e.type());
  scopes_[depth].block->push_back({Let{var, std::move(e)}});
  return var;
}

Expr ValueScopes::name_part(const Expr& part, int64_t extent) {
  const size_t depth = depth_of({part});
  const auto [it, fresh] = scopes_[depth].parts.try_emplace(part);
  if (!fresh) return it->second;
  it->second = name("i", part, depth);
  math_.declare(it->second, extent);
  scope_of_[it->second->id()] = depth;
  return it->second;
}

}  // namespace cleave
