#include "pass/causal_mask.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ir/op_view.h"
#include "pass/uniform_value.h"

namespace cleave {
bool is_causal_mask(const Graph& g, ValueId mask, bool opens) {
  const NodeId n = mask.valid() ? g.value(mask).def : NodeId{};
  if (!n.valid()) return false;
  const OpView op = g.view(n);
  const UniformValues values(g, mask);
  const auto is_number = [&](int operand, double number) {
    const AttrValue* known =
        op.is_number(operand) ? &op.number(operand) : values.find(op.in(operand));
    return known != nullptr && known->as_double() == number;
  };
  ValueId condition = mask;
  if (op.name() == "where") {
    opens = is_number(1, 0) && is_number(2, -HUGE_VAL);
    if (!opens && !(is_number(1, -HUGE_VAL) && is_number(2, 0))) return false;
    condition = op.in(0);
  }
  const std::optional<Layout> form = values.form(condition);
  const Shape &size = g.type(mask).shape, &open = g.type(condition).shape;
  if (!form || g.type(condition).dtype != DType::boolean || open.size() < 2) return false;
  if (!std::equal(open.end() - 2, open.end(), size.end() - 2)) return false;
  const auto of_batch = std::span(form->strides).first(open.size() - 2);
  if (!std::ranges::all_of(of_batch, [](int64_t s) { return s == 0; })) return false;
  const int64_t column = form->strides.back(), row = form->strides[open.size() - 2];
  // Where it closes, it is open at not (form >= 0).
  const int64_t sign = opens ? 1 : -1, constant = sign * form->offset - (opens ? 0 : 1);
  return sign * row > 0 && column == -row && constant >= 0 && constant < sign * row;
}

}  // namespace cleave
