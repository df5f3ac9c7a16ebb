// Gradients of activations that are given in pieces: grad_output where the slope is 1, 0 where it
// is 0, whatever grad_output is.
//
//   leaky_relu_backward(grad_output, self; negative_slope, self_is_result)
//                               x > 0: g, else g * negative_slope
//   hardtanh_backward(grad_output, self; min_val, max_val)
//                               x <= min_val or x >= max_val: 0, else g
//   hardsigmoid_backward(grad_output, self)
//                               -3 < x < 3: g / 6, else 0
//   hardswish_backward(grad_output, self)
//                               x <= -3: 0, x < 3: g (x / 3 + 1/2), else g
//   elu_backward(grad_output, self_or_result; alpha, scale, input_scale, is_result)
//                               x <= 0: g * input_scale * (c * exp(x * input_scale)),
//                               else g * scale; c = scale * alpha
//                               of a result y: g * input_scale * (y + c) in the place of the first
//
//   (C1), (C2), (C4)  activation_backward.h
//   (C5) of a result, negative_slope and alpha are not below 0: its sign is self's then
#include <cmath>

#include "op/activation.h"
#include "op/activation_backward.h"
#include "op/cost.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Op;
using B = Builder;
using V = ValueId;

struct PieceRow {
  const char* name;
  const char* signature;
  const char* summary;
  double (*value)(const OpView&, double g, double x);
  Expr (*lower)(const OpView&, const Expr& g, const Expr& x);
  V (*call)(B&, const OpView&, V g, V x);
  V (*by_self)(B&, const OpView&, V x, V product);  // the gradient of x; product: dy * g; null: 0
  Status (*check)(const OpView&);                   // C5; null: nothing
  int flops;
};

Expr below(const Expr& x, double at) { return loop::binary(Op::lt, x, loop::same(x, at)); }
Expr at_most(const Expr& x, double at) { return loop::binary(Op::le, x, loop::same(x, at)); }

Status check_result(const OpView& op, const char* flag, const char* slope) {
  if (!op.bool_attr(flag) || !(op.float_attr(slope) < 0)) return {};
  return op.broken("C5", "{} is {} of a result, expected at least 0", slope, op.float_attr(slope));
}

// ---- leaky_relu

double leaky_value(const OpView& op, double g, double x) {
  return x > 0 ? g : g * op.float_attr("negative_slope");
}
Expr leaky_lower(const OpView& op, const Expr& g, const Expr& x) {
  return loop::select(loop::binary(Op::gt, x, loop::same(x, 0)), g,
                      times(g, op.float_attr("negative_slope")));
}
V leaky_call(B& b, const OpView& op, V g, V x) {
  return b.where(b.gt(x, 0), g, b.mul(g, op.attr("negative_slope")));
}
Status leaky_check(const OpView& op) {
  return check_result(op, "self_is_result", "negative_slope");
}

// ---- hardtanh

// Bounds are compared in f32, by f64 tensors in f64.
double bound_of(const OpView& op, const char* attr) {
  return round_to(wide(backward_dtype(op)), op.float_attr(attr));
}

double hardtanh_value(const OpView& op, double g, double x) {
  return x <= bound_of(op, "min_val") || x >= bound_of(op, "max_val") ? 0 : g;
}
Expr hardtanh_lower(const OpView& op, const Expr& g, const Expr& x) {
  const Expr low = at_most(x, op.float_attr("min_val"));
  const Expr high = loop::binary(Op::ge, x, loop::same(x, op.float_attr("max_val")));
  return loop::select(low, loop::same(g, 0), loop::select(high, loop::same(g, 0), g));
}
V hardtanh_call(B& b, const OpView& op, V g, V x) {
  return b.where(b.logical_or(b.le(x, op.attr("min_val")), b.ge(x, op.attr("max_val"))), 0, g);
}

// ---- hardsigmoid

double hardsigmoid_value(const OpView&, double g, double x) { return x > -3 && x < 3 ? g / 6 : 0; }
Expr hardsigmoid_lower(const OpView&, const Expr& g, const Expr& x) {
  const Expr inside = loop::select(loop::binary(Op::gt, x, loop::same(x, -3)), g / loop::same(g, 6),
                                   loop::same(g, 0));
  return loop::select(below(x, 3), inside, loop::same(g, 0));
}
V hardsigmoid_call(B& b, const OpView&, V g, V x) {
  return b.where(b.call1("logical_and", {b.gt(x, -3), b.lt(x, 3)}), b.div(g, 6), 0);
}

// ---- hardswish

double hardswish_value(const OpView&, double g, double x) {
  return x <= -3 ? 0 : x < 3 ? g * (x / 3 + 0.5) : g;
}
Expr hardswish_lower(const OpView&, const Expr& g, const Expr& x) {
  const Expr between = g * plus(x / loop::same(x, 3), 0.5);
  return loop::select(at_most(x, -3), loop::same(g, 0), loop::select(below(x, 3), between, g));
}
V hardswish_call(B& b, const OpView&, V g, V x) {
  const V between = b.mul(g, b.add(b.div(x, 3), 0.5));
  return b.where(b.le(x, -3), 0, b.where(b.lt(x, 3), between, g));
}
V hardswish_by_self(B& b, const OpView&, V x, V product) {
  const V inside = b.call1("logical_and", {b.gt(x, -3), b.lt(x, 3)});
  return b.where(inside, b.div(product, 3), 0);
}

// ---- elu

struct EluNumbers {
  double below, scale, input_scale;  // below: scale * alpha
  bool is_result;
  explicit EluNumbers(const OpView& op)
      : below(op.float_attr("scale") * op.float_attr("alpha")), scale(op.float_attr("scale")),
        input_scale(op.float_attr("input_scale")), is_result(op.bool_attr("is_result")) {}
};

double elu_value(const OpView& op, double g, double x) {
  const EluNumbers n(op);
  if (!(x <= 0)) return g * n.scale;
  return g * n.input_scale * (n.is_result ? x + n.below : n.below * std::exp(x * n.input_scale));
}
Expr elu_lower(const OpView& op, const Expr& g, const Expr& x) {
  const EluNumbers n(op);
  const Expr factor = n.is_result ? plus(x, n.below)
                                  : times(loop::unary(Op::exp, times(x, n.input_scale)), n.below);
  return loop::select(at_most(x, 0), times(g, n.input_scale) * factor, times(g, n.scale));
}
V elu_call(B& b, const OpView& op, V g, V x) {
  const EluNumbers n(op);
  const V factor = n.is_result ? b.add(x, n.below) : b.mul(b.exp(b.mul(x, n.input_scale)), n.below);
  return b.where(b.le(x, 0), b.mul(b.mul(g, n.input_scale), factor), b.mul(g, n.scale));
}
V elu_by_self(B& b, const OpView& op, V x, V product) {
  const EluNumbers n(op);
  if (n.is_result) return b.where(b.lt(x, 0), b.mul(product, n.input_scale), 0);
  // At most 0, so that exp stays finite on the side that isn't selected.
  const V low = b.call1("clamp", {x, V::none(), 0});
  const V bend = b.mul(b.exp(b.mul(low, n.input_scale)), n.below * n.input_scale * n.input_scale);
  return b.where(b.lt(x, 0), b.mul(product, bend), 0);
}
Status elu_check(const OpView& op) { return check_result(op, "is_result", "alpha"); }

// ---- entries

Values grad_pieces(B& b, const GradView& op, const PieceRow& row) {
  const V g = op.dout(0);
  const V by_grad =
      grad_to(b, op, 0, [&] { return b.call1(op.name(), {g, op.in(1)}, same_attrs(op)); });
  if (row.by_self == nullptr) return {by_grad, V::none()};
  return {by_grad,
          grad_to(b, op, 1, [&] { return row.by_self(b, op, op.in(1), b.mul(g, op.in(0))); })};
}

OpDef piece_entry(const PieceRow& row, const std::vector<SampleAttrs>& variants,
                  const Rejects& more = {}) {
  return OpDef{
      .name = row.name,
      .signature = row.signature,
      .summary = row.summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", row.name),
      .traits = pointwise_traits,
      .infer = [check = row.check](const OpView& op) -> Result<Types> {
        if (check != nullptr) CLEAVE_CHECK(check(op));
        return infer_backward(op, false);
      },
      .reference =
          [value = row.value](const OpView& op, std::span<const Array* const> in) {
            PointReference rule;
            rule.floating = [&](std::span<const double> x) { return value(op, x[0], x[1]); };
            return reference_pointwise(op, in, backward_dtype(op), rule);
          },
      .decompose = [call = row.call](B& b, const OpView& op) -> Values {
        const DType t = op.out_type(0).dtype;
        const V g = b.convert(op.in(0), wide(t)), x = b.convert(op.in(1), wide(t));
        return {b.convert(call(b, op, g, x), t)};
      },
      .grad = wide_grad([row](B& b, const GradView& op) { return grad_pieces(b, op, row); }),
      .lower = loop::pointwise([lower = row.lower](const OpView& op, const loop::Exprs& x) {
        const DType meet = backward_dtype(op);
        return lower(op, loop::operand_as(op, x, 0, meet), loop::operand_as(op, x, 1, meet));
      }),
      .cost = cost_per_result(row.flops),
      .samples =
          [variants] {
            Samples out;
            for (const SampleAttrs& attrs : variants) out = joined({out, backward_samples(attrs)});
            return out;
          },
      .rejects =
          [name = row.name, variants, more] {
            Rejects out = backward_rejects(name, variants[0], "dtype");
            out.insert(out.end(), more.begin(), more.end());
            return out;
          },
  };
}

}  // namespace

CLEAVE_OPS(piecewise_backward) {
  const auto elu = [](double alpha, bool is_result) {
    return SampleAttrs{
        {"alpha", alpha}, {"scale", 0.5}, {"input_scale", 1.5}, {"is_result", is_result}};
  };
  const auto leaky = [](double slope, bool is_result) {
    return SampleAttrs{{"negative_slope", slope}, {"self_is_result", is_result}};
  };
  const auto hardtanh = [](double low, double high) {
    return SampleAttrs{{"min_val", low}, {"max_val", high}};
  };
  return {
      piece_entry({"leaky_relu_backward",
                   "(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) "
                   "-> Tensor",
                   "the gradient of leaky_relu", leaky_value, leaky_lower, leaky_call, nullptr,
                   leaky_check, 2},
                  {leaky(0.01, false), leaky(-2, false), leaky(0.5, true)},
                  {{"C5",
                    {{f32({2}), f32({2})}, leaky(-0.5, true)},
                    "leaky_relu_backward: C5: negative_slope is -0.5 of a result, expected at "
                    "least 0"}}),
      piece_entry({"hardtanh_backward",
                   "(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
                   "the gradient of hardtanh", hardtanh_value, hardtanh_lower, hardtanh_call,
                   nullptr, nullptr, 3},
                  {hardtanh(-1, 1), hardtanh(-0.5, 2), hardtanh(-0.1, 1.7)}),
      piece_entry({"hardsigmoid_backward", "(Tensor grad_output, Tensor self) -> Tensor",
                   "the gradient of hardsigmoid", hardsigmoid_value, hardsigmoid_lower,
                   hardsigmoid_call, nullptr, nullptr, 3},
                  {{}}),
      piece_entry({"hardswish_backward", "(Tensor grad_output, Tensor self) -> Tensor",
                   "the gradient of hardswish", hardswish_value, hardswish_lower, hardswish_call,
                   hardswish_by_self, nullptr, 5},
                  {{}}),
      piece_entry({"elu_backward",
                   "(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, "
                   "bool is_result, Tensor self_or_result) -> Tensor",
                   "the gradient of elu from its operand or its result", elu_value, elu_lower,
                   elu_call, elu_by_self, elu_check, 15},
                  {elu(1, false), elu(2, true), elu(-1, false)},
                  {{"C5",
                    {{f32({2}), f32({2})}, elu(-2, true)},
                    "elu_backward: C5: alpha is -2 of a result, expected at least 0"}}),
  };
}

}  // namespace cleave
