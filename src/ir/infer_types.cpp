#include "ir/infer_types.h"

#include <algorithm>

#include "ir/host_operands.h"

namespace cleave {
namespace {

bool has_subgraph(const OpView& op) {
  return std::ranges::any_of(
      op.attrs().given(), [](const auto& given) { return given.second.template get<GraphRef>(); });
}

// Whether an attribute says where the results lie.
bool names_device(const OpView& op) {
  return op.def().schema.find("device") >= 0 && op.given("device");
}

bool may_meet_any(const OpView& op, size_t k) {
  const Type& t = *op.types()[k];
  return t.device.is_cpu() && (t.shape.empty() || may_be_on_host(op, k));
}

}  // namespace

Result<Types> infer_types(const OpView& op) {
  Result<Types> types = (*op.def().infer)(op);
  if (!types.ok()) return types;
  std::optional<size_t> first;
  bool all_on_cpu = true;
  for (const Type* t : op.types()) all_on_cpu &= !t || t->device.is_cpu();
  if (all_on_cpu || has_subgraph(op)) return types;
  for (size_t k = 0; k < op.types().size(); ++k) {
    if (!op.types()[k] || may_meet_any(op, k)) continue;
    if (first && op.types()[*first]->device != op.types()[k]->device)
      return user_error(
          "{}: {} is {} and {} is {}, expected one device; a 0-d tensor on the CPU may meet any",
          op.name(), input_name(op, *first), op.types()[*first]->text(), input_name(op, k),
          op.types()[k]->text());
    if (!first) first = k;
  }
  if (names_device(op) || !first) return types;
  for (Type& t : *types)
    if (!t.is_none) t.device = op.types()[*first]->device;
  return types;
}

}  // namespace cleave
