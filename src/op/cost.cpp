#include "op/cost.h"

namespace cleave {

int64_t numel_hint(const OpView& op, const Type& t) {
  return t.is_none ? 0 : op.env().hint_of(t.numel());
}

int64_t bytes_moved(const OpView& op) {
  int64_t bytes = 0;
  for (const Type* t : op.types()) {
    if (t != nullptr) bytes += numel_hint(op, *t) * size_of(t->dtype);
  }
  for (int k = 0; k < op.out_count(); ++k) {
    const Type& t = op.out_type(k);
    if (!t.is_none) bytes += numel_hint(op, t) * size_of(t.dtype);
  }
  return bytes;
}

CostFn cost_per_result(int64_t flops) {
  return [flops](const OpView& op) {
    return Cost{flops * numel_hint(op, op.out_type(0)), bytes_moved(op)};
  };
}

CostFn cost_per_operand(int64_t flops) {
  return [flops](const OpView& op) {
    return Cost{flops * numel_hint(op, op.in_type(0)), bytes_moved(op)};
  };
}

CostFn cost_of_view() {
  return [](const OpView&) { return Cost{}; };
}

}  // namespace cleave
