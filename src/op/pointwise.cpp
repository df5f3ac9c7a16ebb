#include "op/pointwise.h"

#include "op/broadcast.h"
#include "op/dims.h"

namespace cleave {

Result<Types> pointwise_type(const OpView& op, DType dtype, std::initializer_list<int> operands) {
  bool any = false;
  for (int k : operands) any = any || op.has(k);
  if (!any) return op.broken("C3", "every operand is a number, expected at least one tensor");
  CLEAVE_TRY(Shape shape, broadcast_operands(op, "C1", operands));
  CLEAVE_TRY(const Device device, common_device(op, "C2", operands));
  Type t(dtype, std::move(shape));
  t.device = device;
  return Types{std::move(t)};
}

Types like_self(const OpView& op, DType dtype) {
  Type t(dtype, op.in_type(0).shape);
  t.device = op.in_type(0).device;
  return {std::move(t)};
}

Status expect_dtype(const OpView& op, std::string_view rule, int operand, bool (*allowed)(DType),
                    std::string_view expected) {
  if (!op.has(operand) || allowed(op.in_type(operand).dtype)) return {};
  return op.broken(rule, "{} is {}, expected {}", operand_name(op, operand),
                   op.in_type(operand).text(), expected);
}

CallOperand operand_of(const OpView& op, int operand) {
  if (op.is_number(operand)) return CallOperand(op.number(operand));
  return CallOperand(op.in(operand));
}

ValueId grad_to(Builder& b, const GradView& op, int operand, const std::function<ValueId()>& g) {
  if (!op.has(operand) || !op.needs(operand) || op.dout(0).is_none()) return ValueId::none();
  const Type& t = op.in_type(operand);
  return b.move(b.convert(b.sum_to(g(), t.shape), t.dtype), t.device);
}

GradFn unary_grad(UnaryGrad rule) {
  return [rule](Builder& b, const GradView& op) {
    Values d = op.no_grads();
    d[op.flat(0)] = grad_to(b, op, 0, [&] { return rule(b, op, op.dout(0)); });
    return d;
  };
}

GradFn zero_grad() {
  return [](Builder&, const GradView& op) { return op.no_grads(); };
}

}  // namespace cleave
