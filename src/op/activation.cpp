// Activations.
//
//   gelu(self; approximate="none"|"tanh")               activation.h    (C2) approximate
//   silu(self)                                          x * sigmoid(x)
//   elu(self; alpha=1, scale=1, input_scale=1)          x > 0: scale * x
//                                                       else scale * alpha * expm1(input_scale * x)
//   leaky_relu(self; negative_slope=0.01)               x > 0: x, else negative_slope * x
//   hardtanh(self; min_val=-1, max_val=1)               min(max(x, min_val), max_val)
//
//   self  (C1) floating; hardtanh also takes integers, and then truncates its bounds
//   y     shape and dtype of self; NaN stays NaN. Slopes at a kink are PyTorch's: 0 for hardtanh,
//         the negative side's for elu and leaky_relu.
#include "op/activation.h"

#include <cmath>

#include "op/cost.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {

using loop::Expr;
using loop::Op;

Expr times(const Expr& x, double factor) { return x * loop::same(x, factor); }
Expr plus(const Expr& x, double term) { return x + loop::same(x, term); }

Status check_approximate(const OpView& op, std::string_view rule) {
  const std::string& a = op.str_attr("approximate");
  if (a == "none" || a == "tanh") return {};
  return op.broken(rule, "approximate is {}, expected \"none\" or \"tanh\"", quoted(a));
}

namespace {

bool is_float(DType t) { return is_floating(t); }
bool is_number(DType t) { return t != DType::boolean; }

Result<Types> infer_floating(const OpView& op) {
  CLEAVE_CHECK(expect_dtype(op, "C1", 0, is_float, "a floating dtype"));
  return like_self(op, op.in_type(0).dtype);
}

// Both signs, away from 0 and from the bounds of hardtanh.
std::vector<Sample> activation_samples(const SampleAttrs& attrs) {
  const std::vector<double> x = {-3.5, -1.25, -0.375, 0.25, 0.75, 2.5};
  std::vector<Sample> s;
  for (DType t : floating_dtypes) s.push_back({{sample(t, {2, 3}).with(x)}, attrs});
  s.push_back({{f32({}).range(0.2, 0.8)}, attrs});
  s.push_back({{f32({0, 2})}, attrs});
  s.push_back({{f32({3, 19}).range(0.1, 0.9)}, attrs});
  // Kinks, where finite differences mean nothing, and extreme values.
  const std::vector<double> edges = {NAN, INFINITY, -INFINITY, 0, -0.0, 1, -1, 0.5, 20, -20};
  for (DType t : floating_dtypes) s.push_back({{sample(t, {10}).with(edges)}, attrs});
  s.push_back({{bf16({}).range(0.2, 0.8)}, attrs});
  s.push_back({{bf16({2, 3, 4}).range(0.1, 0.9)}, attrs});
  return s;
}

std::vector<Reject> integer_reject(const std::string& name) {
  return {{"C1", {{i64({2})}}, name + ": C1: self is i64[2], expected a floating dtype"}};
}

// ---- gelu

double gelu_of(double x, bool by_tanh) {
  if (by_tanh) return x / (1 + std::exp(-2 * sqrt_2_over_pi * (x + gelu_cubic * x * x * x)));
  return x / 2 * (1 + std::erf(x * inv_sqrt2));
}

Expr lower_gelu(const OpView& op, const loop::Exprs& in) {
  const Expr& x = in[0];
  if (!gelu_by_tanh(op)) return times(x, 0.5) * plus(loop::unary(Op::erf, times(x, inv_sqrt2)), 1);
  const Expr twice_u = times(x + times(x * x * x, gelu_cubic), 2 * sqrt_2_over_pi);
  return x * loop::unary(Op::sigmoid, twice_u);
}

Values decompose_gelu(Builder& b, const OpView& op) {
  const DType t = op.in_type(0).dtype;
  const ValueId x = b.convert(op.in(0), wide(t));
  ValueId y;
  if (gelu_by_tanh(op)) {
    const ValueId cubic = b.mul(b.mul(b.mul(x, x), x), gelu_cubic);
    y = b.mul(x, b.sigmoid(b.mul(b.add(x, cubic), 2 * sqrt_2_over_pi)));
  } else {
    y = b.mul(b.mul(x, 0.5), b.add(b.erf(b.mul(x, inv_sqrt2)), 1));
  }
  return {b.convert(y, t)};
}

OpDef gelu_entry() {
  const auto rejects = [] {
    Rejects out = integer_reject("gelu");
    out.push_back({"C2",
                   {{f32({2})}, {{"approximate", "erf"}}},
                   "gelu: C2: approximate is \"erf\", expected \"none\" or \"tanh\""});
    return out;
  };
  return OpDef{
      .name = "gelu",
      .signature = "(Tensor self, *, str approximate='none') -> Tensor",
      .summary = "x times the normal distribution's cumulative probability of x",
      .source = "aten::gelu, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check_approximate(op, "C2"));
        return infer_floating(op);
      },
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            const bool by_tanh = gelu_by_tanh(op);
            return reference_unary(op, in, [=](double x) { return gelu_of(x, by_tanh); }, nullptr);
          },
      .decompose = decompose_gelu,
      .grad = unary_grad([](Builder& b, const GradView& op, ValueId g) {
        return b.call1("gelu_backward", {g, op.in(0)}, {{"approximate", op.attr("approximate")}});
      }),
      .lower = loop::pointwise(lower_gelu),
      .cost = cost_per_result(20),
      .samples =
          [] {
            return joined({activation_samples({}), activation_samples({{"approximate", "tanh"}})});
          },
      .rejects = rejects,
  };
}

OpDef silu_entry() {
  return OpDef{
      .name = "silu",
      .signature = "(Tensor self) -> Tensor",
      .summary = "x * sigmoid(x)",
      .source = "aten::silu, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer_floating,
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            return reference_unary(
                op, in, [](double x) { return x / (1 + std::exp(-x)); }, nullptr);
          },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const DType t = op.in_type(0).dtype;
        const ValueId x = b.convert(op.in(0), wide(t));
        return {b.convert(b.mul(x, b.sigmoid(x)), t)};
      },
      .grad = unary_grad([](Builder& b, const GradView& op, ValueId g) {
        return b.call1("silu_backward", {g, op.in(0)});
      }),
      .lower = loop::pointwise([](const OpView&, const loop::Exprs& x) {
        return x[0] * loop::unary(Op::sigmoid, x[0]);
      }),
      .cost = cost_per_result(13),
      .samples = [] { return activation_samples({}); },
      .rejects = [] { return integer_reject("silu"); },
  };
}

// ---- piecewise linear and exponential

ValueId grad_elu(Builder& b, const GradView& op, ValueId g) {
  const double alpha = op.float_attr("alpha"), scale = op.float_attr("scale"),
               input_scale = op.float_attr("input_scale");
  // Clamped to at most 0, so that exp stays finite on the side that isn't selected.
  const ValueId x = b.call1("clamp", {op.in(0), ValueId::none(), 0});
  const ValueId slope = b.mul(b.exp(b.mul(x, input_scale)), alpha * scale * input_scale);
  return b.mul(g, b.where(b.gt(op.in(0), 0), scale, slope));
}

OpDef elu_entry() {
  return OpDef{
      .name = "elu",
      .signature = "(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
      .summary = "scale * x above 0, an exponential towards -scale * alpha below",
      .source = "aten::elu, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer_floating,
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            const double alpha = op.float_attr("alpha"), scale = op.float_attr("scale"),
                         input_scale = op.float_attr("input_scale");
            return reference_unary(
                op, in,
                [=](double x) {
                  return x > 0 ? scale * x : scale * alpha * std::expm1(input_scale * x);
                },
                nullptr);
          },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const DType t = op.in_type(0).dtype;
        const ValueId x = b.convert(op.in(0), wide(t));
        const double scale = op.float_attr("scale");
        const ValueId below = b.mul(b.call1("expm1", {b.mul(x, op.float_attr("input_scale"))}),
                                    op.float_attr("alpha") * scale);
        return {b.convert(b.where(b.gt(x, 0), b.mul(x, scale), below), t)};
      },
      .grad = wide_grad(unary_grad(grad_elu)),
      .lower = loop::pointwise([](const OpView& op, const loop::Exprs& in) {
        const Expr& x = in[0];
        const double scale = op.float_attr("scale");
        const Expr below = times(loop::unary(Op::expm1, times(x, op.float_attr("input_scale"))),
                                 op.float_attr("alpha") * scale);
        return loop::select(loop::binary(Op::gt, x, loop::same(x, 0)), times(x, scale), below);
      }),
      .cost = cost_per_result(15),
      .samples =
          [] {
            return joined(
                {activation_samples({}),
                 activation_samples({{"alpha", 2}, {"scale", 0.5}, {"input_scale", 1.5}})});
          },
      .rejects = [] { return integer_reject("elu"); },
  };
}

OpDef leaky_relu_entry() {
  return OpDef{
      .name = "leaky_relu",
      .signature = "(Tensor self, Scalar negative_slope=0.01) -> Tensor",
      .summary = "x above 0, negative_slope * x below",
      .source = "aten::leaky_relu, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = infer_floating,
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            const double slope = op.float_attr("negative_slope");
            return reference_unary(
                op, in, [=](double x) { return x > 0 ? x : slope * x; }, nullptr);
          },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const ValueId x = op.in(0);
        return {b.where(b.gt(x, 0), x, b.mul(x, op.attr("negative_slope")))};
      },
      .grad = unary_grad([](Builder& b, const GradView& op, ValueId g) {
        return b.where(b.gt(op.in(0), 0), g, b.mul(g, op.attr("negative_slope")));
      }),
      .lower = loop::pointwise([](const OpView& op, const loop::Exprs& in) {
        const Expr& x = in[0];
        return loop::select(loop::binary(Op::gt, x, loop::same(x, 0)), x,
                            times(x, op.float_attr("negative_slope")));
      }),
      .cost = cost_per_result(2),
      .samples =
          [] {
            return joined({activation_samples({}), activation_samples({{"negative_slope", 0.5}}),
                           activation_samples({{"negative_slope", -2}})});
          },
      .rejects = [] { return integer_reject("leaky_relu"); },
  };
}

OpDef hardtanh_entry() {
  return OpDef{
      .name = "hardtanh",
      .signature = "(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
      .summary = "x cut to [min_val, max_val]",
      .source = "aten::hardtanh, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(expect_dtype(op, "C1", 0, is_number, "a floating or integer dtype"));
        return like_self(op, op.in_type(0).dtype);
      },
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            const double lo = op.float_attr("min_val"), hi = op.float_attr("max_val");
            const int64_t low = truncate_to(DType::i64, lo), high = truncate_to(DType::i64, hi);
            return reference_unary(
                op, in, [=](double x) { return x > hi   ? hi
                                               : x < lo ? (lo > hi ? hi : lo)
                                                        : x; },
                [=](int64_t x) { return x > high  ? high
                                        : x < low ? std::min(low, high)
                                                  : x; });
          },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const auto bound = [&](const char* name) {
          return is_floating(op.in_type(0).dtype)
                     ? op.attr(name)
                     : AttrValue(truncate_to(DType::i64, op.float_attr(name)));
        };
        return {b.call1("clamp", {op.in(0), bound("min_val"), bound("max_val")})};
      },
      .grad = unary_grad([](Builder& b, const GradView& op, ValueId g) {
        const ValueId x = op.in(0);
        const ValueId below = b.le(x, op.attr("min_val")), above = b.ge(x, op.attr("max_val"));
        return b.where(b.logical_or(below, above), 0, g);
      }),
      .lower = loop::pointwise([](const OpView& op, const loop::Exprs& x) {
        const DType t = op.in_type(0).dtype;
        const Expr low = loop::number_constant(op.attr("min_val"), t);
        const Expr high = loop::number_constant(op.attr("max_val"), t);
        return loop::binary(Op::min, loop::binary(Op::max, x[0], low), high);
      }),
      .cost = cost_per_result(2),
      .samples =
          [] {
            const std::vector<Sample> integers = {
                {{i64({5})}, {{"min_val", -1.5}, {"max_val", 2.5}}},
                {{i32({5})}, {{"min_val", -4}, {"max_val", 3}}},
                {{i64({5})}, {}},
                {{sample(DType::i8, {4}).with({-128, 127, 0, 1})},
                 {{"min_val", -5}, {"max_val", 100}}}};
            return joined({activation_samples({}),
                           activation_samples({{"min_val", -0.5}, {"max_val", 1.5}}), integers});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{boolean({2})}},
                 "hardtanh: C1: self is bool[2], expected a floating or integer dtype"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(activation) {
  return {gelu_entry(), silu_entry(), elu_entry(), leaky_relu_entry(), hardtanh_entry()};
}

}  // namespace cleave
