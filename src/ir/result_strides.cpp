#include "ir/result_strides.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/strides.h"

namespace cleave {
namespace {

using Strides = std::optional<std::vector<Dim>>;

bool lies_with(Type type, const Strides& strides) {
  if (type.strides == strides) return true;
  const std::vector<int64_t> is = type.is_static() ? strides_of(type) : std::vector<int64_t>();
  const bool was_static = type.is_static();
  type.strides = strides;
  return was_static && type.is_static() && strides_of(type) == is;
}

}  // namespace

ResultStrides::ResultStrides(const Graph& g) {
  for (const Return& r : g.returns()) strides_.push_back(g.type(r.value).strides);
}

Status ResultStrides::restore(Graph& g, const OpRegistry& ops) const {
  std::vector<Return> returns = g.returns();
  if (returns.size() != strides_.size())
    return bug("@{}: {} entries of return, expected {}", g.name(), returns.size(), strides_.size());
  const auto lies = [&](size_t k) { return lies_with(g.type(returns[k].value), strides_[k]); };
  bool changed = false;
  for (size_t k = 0; k < returns.size(); ++k) {
    if (returns[k].kind == ReturnKind::update || lies(k)) continue;
    const ValueId v = returns[k].value;
    bool is_free = !g.placeholder_of(v);
    for (size_t other = 0; other < returns.size(); ++other)
      if (returns[other].value == v && returns[other].kind != ReturnKind::update)
        is_free = is_free && strides_[other] == strides_[k];
    if (!is_free) {
      Builder b(g, ops);
      returns[k].value = b.call1("clone", {v});
      CLEAVE_CHECK(b.status());
      changed = true;
    }
    g.set_strides(returns[k].value, strides_[k]);
  }
  if (changed) g.set_returns(std::move(returns));
  return {};
}

}  // namespace cleave
