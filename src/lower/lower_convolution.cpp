// A product of a convolution to a step.
#include "lower/lower_node.h"

namespace cleave {

using namespace cleave::loop;

void Lowering::convolution(NodeId n, const OpView& op, const ConvolutionForm& form) {
  const ValueId result = graph_.node(n).out(static_cast<uint32_t>(form.result));
  if (!is_wanted(result)) return;
  const auto read = [&](int operand) {
    const ValueId v = op.in(operand);
    Location at = at_.at(v.v);
    // Dense wherever it begins: images of a batch may be a part of a larger one.
    Layout from_start = at.layout;
    from_start.offset = 0;
    if (!from_start.is_contiguous()) at = dense_copy(at, graph_.type(v).dtype, graph_.name(v));
    return ConvolutionCall::Place{at.storage, at.layout.offset};
  };
  ConvolutionCall call;
  call.form = form;
  call.dtype = op.out_type(form.result).dtype;
  call.image = read(form.image);
  call.other = read(form.other);
  if (form.bias >= 0) call.bias = read(form.bias);
  for (int operand = 0; operand < op.operand_count(); ++operand)
    if (op.has(operand) && operand != form.image && operand != form.other && operand != form.bias)
      call.like = at_.at(op.in(operand).v).storage;
  const Location& out = at_[result.v] = new_result(result);
  call.out = {out.storage, out.layout.offset};
  out_.steps.push_back({graph_.name(result), std::move(call), false});
}

}  // namespace cleave
