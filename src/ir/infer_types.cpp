#include "ir/infer_types.h"

#include <algorithm>

namespace cleave {
namespace {

bool has_subgraph(const OpView& op) {
  return std::ranges::any_of(
      op.attrs().given(), [](const auto& given) { return given.second.template get<GraphRef>(); });
}

bool may_meet_any(const Type& t) { return t.shape.empty() && t.device.kind == DeviceKind::cpu; }

}  // namespace

Result<Types> infer_types(const OpView& op) {
  Result<Types> types = (*op.def().infer)(op);
  if (!types.ok()) return types;
  const Type* first = nullptr;
  bool all_on_cpu = true;
  for (const Type* t : op.types()) all_on_cpu &= !t || t->device.kind == DeviceKind::cpu;
  if (all_on_cpu || has_subgraph(op)) return types;
  for (const Type* t : op.types()) {
    if (!t || may_meet_any(*t)) continue;
    if (first && first->device != t->device)
      return user_error(
          "{}: operands are on {} and {}, expected one device; a 0-d tensor on the CPU may meet "
          "any",
          op.name(), first->device.text(), t->device.text());
    first = first ? first : t;
  }
  for (Type& t : *types)
    if (!t.is_none) t.device = first->device;
  return types;
}

}  // namespace cleave
