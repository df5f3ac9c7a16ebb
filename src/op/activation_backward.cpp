// Gradients of activations as operators: one kernel instead of several for the decomposed formula.
// All are linear in grad_output.
//
//   threshold_backward(grad_output, self; threshold)   self <= threshold ? 0 : grad_output
//   tanh_backward(grad_output, output)                 grad_output * (1 - output^2)
//   sigmoid_backward(grad_output, output)              grad_output * output * (1 - output)
//   gelu_backward(grad_output, self; approximate)      grad_output * gelu'(self)  (C5) approximate
//   silu_backward(grad_output, self)                   grad_output * silu'(self)
//
//   grad_output, self, output  tensors that broadcast (C1) on one device (C2)
//                              (C4) floating; threshold_backward also takes integers
//   y                          the operands' promoted dtype
//
//   gelu'  "none"  Phi + x phi                             phi = exp(-x^2/2) / sqrt(2 pi)
//          "tanh"  s + x s (1 - s) w'                     s = sigmoid(w), w = 2u (activation.h)
//   gelu'' "none"  phi (2 - x^2)
//          "tanh"  s (1 - s) (2 w' + x (w'' + (1 - 2s) w'^2))
//   silu'          s (1 + x (1 - s))
//   silu''         s (1 - s) (2 + x (1 - 2s))
#include "op/activation_backward.h"

#include <cmath>

#include "op/activation.h"
#include "op/cost.h"
#include "op/pair_samples.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"

namespace cleave {

DType backward_dtype(const OpView& op) { return promoted(op, {0, 1}); }

Result<Types> infer_backward(const OpView& op, bool integers) {
  const DType meet = backward_dtype(op);
  if (!is_floating(meet) && !(integers && is_integer(meet)))
    return op.broken("C4", "the operands meet in {}, expected a floating dtype{}", name_of(meet),
                     integers ? " or an integer" : "");
  return pointwise_type(op, meet, {0, 1});
}

NamedAttrs same_attrs(const OpView& op) {
  NamedAttrs attrs;
  for (const auto& [arg, value] : op.attrs().given())
    attrs.emplace_back(op.def().schema.args[arg].name, value);
  return attrs;
}

std::vector<Sample> backward_samples(const SampleAttrs& attrs) {
  const std::vector<double> x = {-2.5, -0.75, -0.25, 0.125, 0.75, 2.5};
  std::vector<Sample> s;
  for (DType t : floating_dtypes) s.push_back({{sample(t, {2, 3}), sample(t, {2, 3}).with(x)}});
  const std::vector<Sample> more = {{{f32({3}), f32({2, 1}).range(0.1, 0.9)}},
                                    {{f32({}), f32({}).range(0.1, 0.9)}},
                                    {{f32({0, 3}), f32({0, 3})}},
                                    {{bf16({3}), f32({3}).range(0.1, 0.9)}},
                                    {{f32({3}), f64({}).range(0.1, 0.9)}},
                                    {{f32({3, 19}), f32({3, 19}).range(0.1, 0.9)}}};
  s = joined({s, more});
  const std::vector<double> edges = {NAN, INFINITY, -INFINITY, 0, -0.0, 1, -1, 0.5, 20, -20};
  for (DType t : floating_dtypes)
    s.push_back({{sample(t, {10}).range(0.5, 2), sample(t, {10}).with(edges)}});
  s.push_back({{f32({2, 1, 3}), f32({1, 4, 1}).range(0.1, 0.9)}});
  s.push_back({{f16({5}), f16({}).range(0.1, 0.9)}});
  for (Sample& one : s) one.attrs = attrs;
  return s;
}

std::vector<Reject> backward_rejects(const std::string& name, const SampleAttrs& attrs,
                                     const std::string& expected) {
  const char* const second = name == "tanh_backward" || name == "sigmoid_backward" ? "output"
                             : name == "elu_backward" ? "self_or_result"
                                                      : "self";
  std::vector<Reject> rejects = pair_rejects(name, "grad_output", second);
  rejects.push_back({"C4",
                     {{boolean({2}), boolean({2})}},
                     name + ": C4: the operands meet in bool, expected a floating " + expected});
  for (Reject& r : rejects) r.call.attrs = attrs;
  return rejects;
}

namespace {

using loop::Expr;
using loop::Op;
using B = Builder;
using V = ValueId;

struct BackwardRow {
  const char* name;
  const char* signature;
  const char* summary;
  // The factor of grad_output for an element of self (or output).
  double (*slope)(const OpView&, double);
  Expr (*lower)(const OpView&, const Expr&);
  V (*call)(B&, const OpView&, V);
  V (*curvature)(B&, const OpView&, V);  // its derivative
  int flops;
};

// ---- slopes in float64

double tanh_slope(const OpView&, double y) { return 1 - y * y; }
double sigmoid_slope(const OpView&, double y) { return y * (1 - y); }
double gelu_slope(const OpView& op, double x) {
  if (gelu_by_tanh(op)) {
    const double s = 1 / (1 + std::exp(-2 * sqrt_2_over_pi * (x + gelu_cubic * x * x * x)));
    const double du = sqrt_2_over_pi * (1 + 3 * gelu_cubic * x * x);
    return s + x * s * (1 - s) * 2 * du;
  }
  const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi * inv_sqrt2;
  return (1 + std::erf(x * inv_sqrt2)) / 2 + x * density;
}
double silu_slope(const OpView&, double x) {
  const double s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}

// ---- slopes as loops

Expr lower_tanh_slope(const OpView&, const Expr& y) { return loop::same(y, 1) - y * y; }
Expr lower_sigmoid_slope(const OpView&, const Expr& y) { return y * (loop::same(y, 1) - y); }
Expr lower_gelu_slope(const OpView& op, const Expr& x) {
  if (gelu_by_tanh(op)) {
    const Expr square = x * x;
    const Expr twice_u = times(x + times(square * x, gelu_cubic), 2 * sqrt_2_over_pi);
    const Expr s = loop::unary(Op::sigmoid, twice_u);
    const Expr twice_du = plus(times(square, 6 * gelu_cubic * sqrt_2_over_pi), 2 * sqrt_2_over_pi);
    return s + x * s * (loop::same(x, 1) - s) * twice_du;
  }
  const Expr density =
      times(loop::unary(Op::exp, times(x * x, -0.5)), std::numbers::inv_sqrtpi * inv_sqrt2);
  const Expr phi = times(plus(loop::unary(Op::erf, times(x, inv_sqrt2)), 1), 0.5);
  return phi + x * density;
}
Expr lower_silu_slope(const OpView&, const Expr& x) {
  const Expr s = loop::unary(Op::sigmoid, x);
  return s * plus(x * (loop::same(x, 1) - s), 1);
}

// ---- slopes and curvatures as calls

V tanh_call(B& b, const OpView&, V y) { return b.sub(1, b.mul(y, y)); }
V sigmoid_call(B& b, const OpView&, V y) { return b.mul(y, b.sub(1, y)); }
V tanh_curvature(B& b, const OpView&, V y) { return b.mul(y, -2); }
V sigmoid_curvature(B& b, const OpView&, V y) { return b.sub(1, b.mul(y, 2)); }

V density_call(B& b, V x) {
  const V e = b.exp(b.mul(b.mul(x, x), -0.5));
  return b.mul(e, std::numbers::inv_sqrtpi * inv_sqrt2);
}
// s = sigmoid(2u) and 2u' of gelu's "tanh".
struct SigmoidParts {
  V s, twice_du;
};
SigmoidParts gelu_parts(B& b, V x) {
  const V square = b.mul(x, x);
  const V u = b.add(x, b.mul(b.mul(square, x), gelu_cubic));
  const V du = b.add(b.mul(square, 6 * gelu_cubic * sqrt_2_over_pi), 2 * sqrt_2_over_pi);
  return {b.sigmoid(b.mul(u, 2 * sqrt_2_over_pi)), du};
}
V gelu_call(B& b, const OpView& op, V x) {
  if (gelu_by_tanh(op)) {
    const auto [s, twice_du] = gelu_parts(b, x);
    return b.add(s, b.mul(b.mul(x, b.mul(s, b.sub(1, s))), twice_du));
  }
  const V phi = b.mul(b.add(b.erf(b.mul(x, inv_sqrt2)), 1), 0.5);
  return b.add(phi, b.mul(x, density_call(b, x)));
}
V gelu_curvature(B& b, const OpView& op, V x) {
  if (!gelu_by_tanh(op)) return b.mul(density_call(b, x), b.sub(2, b.mul(x, x)));
  const auto [s, twice_du] = gelu_parts(b, x);
  const V twice_ddu = b.mul(x, 12 * gelu_cubic * sqrt_2_over_pi);
  const V bend = b.add(twice_ddu, b.mul(b.sub(1, b.mul(s, 2)), b.mul(twice_du, twice_du)));
  return b.mul(b.mul(s, b.sub(1, s)), b.add(b.mul(twice_du, 2), b.mul(x, bend)));
}
V silu_call(B& b, const OpView&, V x) {
  const V s = b.sigmoid(x);
  return b.mul(s, b.add(b.mul(x, b.sub(1, s)), 1));
}
V silu_curvature(B& b, const OpView&, V x) {
  const V s = b.sigmoid(x);
  const V bend = b.add(b.mul(x, b.sub(1, b.mul(s, 2))), 2);
  return b.mul(b.mul(s, b.sub(1, s)), bend);
}

// ---- entries

Values grad_backward(B& b, const GradView& op, const BackwardRow& row) {
  const V g = op.dout(0);
  return {
      grad_to(b, op, 0, [&] { return b.call1(op.name(), {g, op.in(1)}, same_attrs(op)); }),
      grad_to(b, op, 1, [&] { return b.mul(b.mul(g, op.in(0)), row.curvature(b, op, op.in(1))); })};
}

OpDef backward_entry(const BackwardRow& row, const std::vector<SampleAttrs>& variants) {
  const auto samples = [variants] {
    Samples out;
    for (const SampleAttrs& attrs : variants) out = joined({out, backward_samples(attrs)});
    return out;
  };
  return OpDef{
      .name = row.name,
      .signature = row.signature,
      .summary = row.summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) { return infer_backward(op, false); },
      .reference =
          [slope = row.slope](const OpView& op, std::span<const Array* const> in) {
            PointReference rule;
            rule.floating = [&](std::span<const double> x) { return x[0] * slope(op, x[1]); };
            return reference_pointwise(op, in, backward_dtype(op), rule);
          },
      .decompose = [call = row.call](B& b, const OpView& op) -> Values {
        const DType t = op.out_type(0).dtype;
        const V g = b.convert(op.in(0), wide(t)), x = b.convert(op.in(1), wide(t));
        return {b.convert(b.mul(g, call(b, op, x)), t)};
      },
      .grad = wide_grad([row](B& b, const GradView& op) { return grad_backward(b, op, row); }),
      .lower = loop::pointwise([lower = row.lower](const OpView& op, const loop::Exprs& x) {
        const DType meet = backward_dtype(op);
        return loop::operand_as(op, x, 0, meet) * lower(op, loop::operand_as(op, x, 1, meet));
      }),
      .cost = cost_per_result(row.flops),
      .samples = samples,
      .rejects = [name = row.name] { return backward_rejects(name, {}, "dtype"); },
  };
}

OpDef threshold_entry() {
  return OpDef{
      .name = "threshold_backward",
      .signature = "(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
      .summary = "grad_output where self is above the threshold, else 0",
      .source = "aten::threshold_backward, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) { return infer_backward(op, true); },
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            const double at = op.float_attr("threshold");
            PointReference rule;
            rule.floating = [=](std::span<const double> x) { return x[1] <= at ? 0 : x[0]; };
            rule.integer = [=](std::span<const int64_t> x) {
              return static_cast<double>(x[1]) <= at ? 0 : x[0];
            };
            return reference_pointwise(op, in, backward_dtype(op), rule);
          },
      .decompose = [](B& b, const OpView& op) -> Values {
        const V stopped = b.le(op.in(1), op.attr("threshold"));
        return {b.where(stopped, 0, b.convert(op.in(0), op.out_type(0).dtype))};
      },
      .grad = [](B& b, const GradView& op) -> Values {
        return {grad_to(b, op, 0,
                        [&] { return b.call1(op.name(), {op.dout(0), op.in(1)}, same_attrs(op)); }),
                V::none()};
      },
      .lower = loop::pointwise([](const OpView& op, const loop::Exprs& x) {
        const DType meet = backward_dtype(op);
        const Expr g = loop::operand_as(op, x, 0, meet), at_x = loop::operand_as(op, x, 1, meet);
        const Expr at = loop::number_constant(op.attr("threshold"), meet);
        return loop::select(loop::binary(Op::le, at_x, at), loop::same(g, 0), g);
      }),
      .cost = cost_per_result(1),
      .samples =
          [] {
            return joined({backward_samples({{"threshold", 0}}),
                           backward_samples({{"threshold", 0.5}}),
                           {{{i64({4}), i64({4})}, {{"threshold", 1}}}}});
          },
      .rejects =
          [] {
            return backward_rejects("threshold_backward", {{"threshold", 0}},
                                    "dtype or an integer");
          },
  };
}

}  // namespace

CLEAVE_OPS(activation_backward) {
  OpDef gelu = backward_entry(
      {"gelu_backward", "(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
       "the gradient of gelu", gelu_slope, lower_gelu_slope, gelu_call, gelu_curvature, 30},
      {{}, {{"approximate", "tanh"}}});
  gelu.infer = [](const OpView& op) -> Result<Types> {
    CLEAVE_CHECK(check_approximate(op, "C5"));
    return infer_backward(op, false);
  };
  gelu.rejects = [all = gelu.rejects] {
    Rejects out = all();
    out.push_back({"C5",
                   {{f32({2}), f32({2})}, {{"approximate", "erf"}}},
                   "gelu_backward: C5: approximate is \"erf\", expected \"none\" or "
                   "\"tanh\""});
    return out;
  };
  return {
      threshold_entry(),
      backward_entry({"tanh_backward", "(Tensor grad_output, Tensor output) -> Tensor",
                      "the gradient of tanh from its result", tanh_slope, lower_tanh_slope,
                      tanh_call, tanh_curvature, 3},
                     {{}}),
      backward_entry({"sigmoid_backward", "(Tensor grad_output, Tensor output) -> Tensor",
                      "the gradient of sigmoid from its result", sigmoid_slope, lower_sigmoid_slope,
                      sigmoid_call, sigmoid_curvature, 3},
                     {{}}),
      std::move(gelu),
      backward_entry(
          {"silu_backward", "(Tensor grad_output, Tensor self) -> Tensor", "the gradient of silu",
           silu_slope, lower_silu_slope, silu_call, silu_curvature, 15},
          {{}}),
  };
}

}  // namespace cleave
