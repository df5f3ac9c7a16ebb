#include "rewrite/any_attrs.h"

#include <algorithm>

namespace cleave {

Result<AnyAttrs> AnyAttrs::of(const Graph& search, const std::vector<std::string>& names) {
  AnyAttrs out;
  for (const std::string& name : names) {
    const size_t dot = std::min(name.rfind('.'), name.size());
    const ValueId v = search.find(name.substr(0, dot));
    const NodeId n = v.valid() ? search.value(v).def : NodeId{};
    const Schema* schema = n.valid() ? &search.node(n).op->schema : nullptr;
    const int arg = schema && dot < name.size() ? schema->find(name.substr(dot + 1)) : -1;
    if (arg < 0 || schema->args[arg].is_operand())
      return bug("any: no call of @search has the attribute {}", name);
    out.attrs_.emplace(n.v, arg);
    out.calls_.insert(n.v);
  }
  const auto varies = [&](ValueId v) {
    return v.valid() && search.value(v).def.valid() && out.types_vary(search.value(v).def);
  };
  for (NodeId n = search.first_node(); n.valid(); n = search.next_node(n))
    if (std::ranges::any_of(search.node(n).inputs, varies)) out.calls_.insert(n.v);
  return out;
}

bool AnyAttrs::fit(NodeId n, const Attrs& wanted, const Attrs& got) const {
  if (!types_vary(n)) return wanted == got;
  const auto compared = [&](const Attrs& attrs) {
    Attrs out;
    for (const auto& [arg, value] : attrs.given())
      if (!has(n, arg)) out.set(arg, value);
    return out;
  };
  return compared(wanted) == compared(got);
}

}  // namespace cleave
