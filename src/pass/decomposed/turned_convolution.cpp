#include "pass/decomposed/turned_convolution.h"

#include <algorithm>

#include "op/convolution.h"
#include "pass/decomposed/turned_call.h"

namespace cleave {
namespace {

bool is_forward(const OpView& op) { return op.name() == "convolution"; }

// Operands of a backward.
enum Operand { at_grad, at_input, at_weight };

// Which product a call is; the weight is the operand, or the result of the last kind.
enum class Product { forward, by_input, by_weight };
Product product_of(const OpView& op) {
  if (is_forward(op)) return Product::forward;
  return op.out_type(0).is_none ? Product::by_weight : Product::by_input;
}
const Type& weight_type(const OpView& op) { return op.in_type(is_forward(op) ? 1 : at_weight); }

class Turning {
 public:
  Turning(Builder& b, NodeId n, TurnedValues& values)
      : b_(b), op_(b.graph().view(n)), values_(values) {}

  Values as_products() {
    switch (product_of(op_)) {
      case Product::forward: {
        const ValueId x = rows(op_.in(0)), w = b_.permute(matrix(op_.in(1)), {1, 0});
        return {images(op_.has(2) ? b_.call1("addmm", {op_.in(2), x, w}) : b_.mm(x, w),
                       op_.out_type(0))};
      }
      case Product::by_input: {
        const ValueId w = matrix(op_.in(at_weight)), g = rows(op_.in(at_grad));
        return {images(b_.mm(g, w), op_.out_type(0)), ValueId::none(), ValueId::none()};
      }
      case Product::by_weight: break;
    }
    const ValueId x = rows(op_.in(at_input)), g = b_.permute(rows(op_.in(at_grad)), {1, 0});
    const ValueId dw = b_.mm(g, x);
    return {ValueId::none(), images(dw, op_.out_type(1)), ValueId::none()};
  }

  Values as_convolution() {
    NamedAttrs attrs;
    for (const char* name : convolution_attr_names) attrs.emplace_back(name, op_.attr(name));
    if (is_forward(op_)) {
      const ValueId bias = op_.has(2) ? op_.in(2) : ValueId::none();
      return {b_.call1("convolution_channels_last",
                       {values_.dense(op_.in(0)), values_.weight(op_.in(1)), bias},
                       std::move(attrs))};
    }
    const bool by_input = product_of(op_) == Product::by_input;
    attrs.emplace_back("output_mask", std::vector<bool>{by_input, !by_input});
    Values made = b_.call("convolution_channels_last_backward",
                          {values_.dense(op_.in(at_grad)), values_.dense(op_.in(at_input)),
                           values_.weight(op_.in(at_weight))},
                          std::move(attrs));
    made.resize(3);
    made[by_input ? 1 : 0] = made[2] = ValueId::none();
    return made;
  }

 private:
  // [n,c,*size] as [positions, c].
  ValueId rows(ValueId v) {
    const Shape& shape = b_.type(v).shape;
    return b_.view(values_.dense(v),
                   {Dim::floordiv(b_.type(v).numel(), shape[1].value()), shape[1]});
  }
  // A weight [a,b,1,1] as [a,b].
  ValueId matrix(ValueId v) {
    const Shape& shape = b_.type(v).shape;
    return b_.view(v, {shape[0], shape[1]});
  }
  // Rows as a tensor of this type with its channels last.
  ValueId images(ValueId rows, const Type& t) { return b_.view(rows, with_channels_last(t.shape)); }

  Builder& b_;
  const OpView op_;
  TurnedValues& values_;
};

bool is_product(const OpView& op) {
  const Type& w = weight_type(op);
  const ConvolutionAttrs at = convolution_attrs(op, static_cast<size_t>(w.rank()) - 2);
  bool is_one = !at.transposed && at.groups == 1;
  for (size_t d = 0; d < at.rank(); ++d)
    is_one = is_one && w.shape[d + 2] == Dim(1) && at.stride[d] == 1 && at.padding[d] == 0;
  return is_one;
}

}  // namespace

Values images_of_convolution(const Graph& g, NodeId n, const ConvolutionTurns& turns) {
  const OpView op = g.view(n);
  const Node& node = g.node(n);
  const bool is_backward = op.name() == "convolution_backward";
  if (!is_backward && !is_forward(op)) return {};
  if (is_backward && (op.out_type(0).is_none == op.out_type(1).is_none || !op.out_type(2).is_none))
    return {};
  for (const ValueId v : node.inputs)
    if (v.valid() && (!g.type(v).is_static() || g.type(v).numel().value() == 0)) return {};
  if (size_of(op.in_type(0).dtype) > turns.most_bytes) return {};
  switch (product_of(op)) {
    case Product::forward:
      if (!is_image(g, node.out(0))) return {};
      return {op.in(0), node.out(0)};
    case Product::by_input: return {op.in(at_grad), op.in(at_input), node.out(0)};
    case Product::by_weight: break;
  }
  return {op.in(at_grad), op.in(at_input)};
}

Status turn_convolution(Builder& b, NodeId n, TurnedValues& values, const ConvolutionTurns& turns) {
  const OpView op = b.graph().view(n);
  Turning turning(b, n, values);
  const Values made =
      turns.makes_products && is_product(op) ? turning.as_products() : turning.as_convolution();
  CLEAVE_CHECK(b.status());
  return put_results(b, n, made, values);
}

}  // namespace cleave
