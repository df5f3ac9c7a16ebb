// native_group_norm(input, weight, bias; N, C, HxW, group, eps) -> y, mean, rstd
//
//   mean = mean of x,  rstd = 1 / sqrt(mean of (x - mean)^2 + eps),  y = (x - mean) * rstd * w + b
//
//   input f[N,C,*]   weight, bias f[C] or none   y like input   mean, rstd [N,group]
//   (C1..C4) group_norm.h
// mean and rstd are f32 if weight or bias is f32 with a bf16 or f16 input, and on CUDA; otherwise
// they have the input's dtype. A group without elements has mean 0 and rstd NaN. Each of the three
// results has a gradient, even alone; PyTorch drops that of mean without one of rstd, and of rstd
// without one of mean.
// Source: aten/src/ATen/native/group_norm.cpp, PyTorch 2.13.
#include "op/group_norm.h"

#include <cmath>

namespace cleave {

Status check_group_norm(const OpView& op, int input) {
  const Type& x = op.in_type(input);
  CLEAVE_CHECK(check_floating(op, "C4", input));
  if (x.rank() < 2) return op.broken("C1", "input is {}, expected at least 2 dims", x.text());
  CLEAVE_CHECK(check_equal(op, "C1", "dim 0 of input and N", x.shape[0], op.dim_attr("N")));
  CLEAVE_CHECK(check_equal(op, "C1", "dim 1 of input and C", x.shape[1], op.dim_attr("C")));
  Dim pixels = 1;
  for (int64_t d = 2; d < x.rank(); ++d) pixels = pixels * x.shape[d];
  CLEAVE_CHECK(
      check_equal(op, "C1", "the other dims of input and HxW", pixels, op.dim_attr("HxW")));
  const int64_t group = op.int_attr("group");
  const Dim c = op.dim_attr("C");
  if (group <= 0 || !op.env().provably_equal(Dim::floordiv(c, group) * Dim(group), c))
    return op.broken("C2", "group is {} for {} channels, expected a divisor", group, c.text());
  return {};
}

GroupView::GroupView(const OpView& op)
    : samples(op.dim_attr("N")), group(op.int_attr("group")),
      channels(Dim::floordiv(op.dim_attr("C"), op.int_attr("group"))), pixels(op.dim_attr("HxW")) {}

bool GroupView::is_empty() const {
  const Dim each = channels * pixels;
  return each.is_const() && each.value() == 0;
}

NormMap group_norm_map(const OpView& op) {
  const int64_t c = op.int_attr("C"), pixels = op.int_attr("HxW"), group = op.int_attr("group");
  const int64_t each = c / group * pixels;
  return {op.int_attr("N") * group, c, [=](int64_t k) { return k / each; },
          [=](int64_t k) { return k / pixels % c; }};
}

namespace {

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_group_norm(op, 0));
  const Type& x = op.in_type(0);
  DType statistic = x.dtype;
  for (int k : {1, 2}) {
    if (!op.has(k)) continue;
    CLEAVE_CHECK(check_channel_operand(op, 0, k));
    if (op.in_type(k).dtype == DType::f32) statistic = DType::f32;
  }
  if (x.device.kind == DeviceKind::cuda) statistic = norm_work(x.dtype);
  const Type s = typed_like(x, statistic, {x.shape[0], Dim(op.int_attr("group"))});
  return Types{typed_like(x, x.dtype, x.shape), s, s};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const NormMap map = group_norm_map(op);
  const NormStatistics s = statistics_of(x, map, op.float_attr("eps"));
  Array y(x.dtype, x.shape);
  Array mean(op.out_type(1).dtype, {x.shape[0], op.int_attr("group")}), rstd = mean;
  for (int64_t k = 0; k < mean.numel(); ++k) {
    mean.f[k] = s.count[k] == 0 ? 0 : s.mean[k];
    rstd.f[k] = s.rstd[k];
  }
  reference_normalise(y, x, map, s.mean, s.rstd, in[1], in[2]);
  return Arrays{y, mean, rstd};
}

Values decompose(Builder& b, const OpView& op) {
  const Type &x_type = op.in_type(0), &s_type = op.out_type(1);
  const DType t = norm_work(x_type.dtype);
  const GroupView v(op);
  const auto parameter = [&](int k) {
    return op.has(k) ? b.view(b.convert(op.in(k), t), v.parameter()) : ValueId::none();
  };
  if (v.is_empty())
    return {b.full(x_type.shape, 0.0, x_type.dtype), b.full(s_type.shape, 0.0, s_type.dtype),
            b.full(s_type.shape, NAN, s_type.dtype)};
  const ValueId x = b.view(b.convert(op.in(0), t), v.whole());
  // Subtracts the mean, then adds the mean of the rest: a large mean then costs no precision.
  const ValueId rough = b.mean(x, {2, 3}, true);
  const ValueId mean = b.add(rough, b.mean(b.sub(x, rough), {2, 3}, true)), off = b.sub(x, mean);
  const ValueId variance = b.mean(b.mul(off, off), {2, 3}, true);
  const ValueId rstd = b.rsqrt(b.add(variance, op.float_attr("eps")));
  const ValueId y = normalised(b, x, mean, rstd, parameter(1), parameter(2));
  return {b.convert(b.view(y, x_type.shape), x_type.dtype),
          b.convert(b.view(mean, s_type.shape), s_type.dtype),
          b.convert(b.view(rstd, s_type.shape), s_type.dtype)};
}

// The gradient that reaches the input through mean and rstd, in the compute dtype of norms.
ValueId through_results(Builder& b, const GradView& op) {
  const Type& x = op.in_type(0);
  const DType t = norm_work(x.dtype);
  const GroupView v(op);
  const auto seen = [&](ValueId value, const Shape& s) {
    return value.valid() ? b.view(b.convert(value, t), s) : value;
  };
  NormTerms terms;
  terms.statistic = {2, 3};
  terms.x = seen(op.in(0), v.whole());
  terms.rstd = seen(op.out(2), v.statistic());
  terms.off = b.sub(terms.x, seen(op.out(1), v.statistic()));
  const ValueId through = through_statistics(b, terms, seen(op.dout(1), v.statistic()),
                                             seen(op.dout(2), v.statistic()));
  return b.view(through, x.shape);
}

Values grad(Builder& b, const GradView& op) {
  Values out = op.no_grads();
  const bool has_through =
      op.needs(0) && !GroupView(op).is_empty() && (op.dout(1).valid() || op.dout(2).valid());
  if (has_through) out[0] = through_results(b, op);
  if (op.dout(0).valid()) {
    // If the other part is added, this one is rounded after the addition, not before.
    const DType t = norm_work(op.in_type(0).dtype);
    const auto wide = [&](ValueId v) { return has_through && v.valid() ? b.convert(v, t) : v; };
    const std::vector<bool> mask = {op.needs(0), op.has(1) && op.needs(1),
                                    op.has(2) && op.needs(2)};
    const Values d =
        b.call("native_group_norm_backward",
               {wide(op.dout(0)), wide(op.in(0)), op.out(1), op.out(2), wide(op.in(1))},
               {{"N", op.attr("N")},
                {"C", op.attr("C")},
                {"HxW", op.attr("HxW")},
                {"group", op.attr("group")},
                {"output_mask", mask}});
    for (size_t k = 0; k < d.size(); ++k)
      if (mask[k]) out[k] = sum_of(b, out[k], d[k]);
  }
  for (int k = 0; k < 3 && b.status().ok(); ++k)
    if (out[k].valid()) out[k] = b.convert(out[k], op.in_type(k).dtype);
  return out;
}

Sample call(SampleTensor x, int64_t group, SampleOperand weight, SampleOperand bias,
            double eps = 1e-5) {
  const Shape& s = x.type.shape;
  int64_t pixels = 1;
  for (size_t d = 2; d < s.size(); ++d) pixels *= s[d].value();
  SampleAttrs attrs = {
      {"N", s[0].value()}, {"C", s[1].value()}, {"HxW", pixels}, {"group", group}, {"eps", eps}};
  return {{std::move(x), std::move(weight), std::move(bias)}, std::move(attrs)};
}

std::vector<Sample> samples() {
  const std::nullopt_t none = std::nullopt;
  return {call(f32({1, 4}), 2, f32({4}), f32({4}), 0.1),
          call(f32({2, 4, 3}), 2, f32({4}), f32({4})),
          call(f32({2, 4, 2, 2}), 2, f32({4}), f32({4})),
          call(f32({2, 2, 2, 1, 2}), 1, f32({2}), f32({2})),
          call(f32({2, 3, 4}), 3, f32({3}), f32({3})),
          call(f32({2, 3, 4}), 1, f32({3}), f32({3})),
          call(f32({2, 6, 4}), 3, f32({6}), none),
          call(f32({2, 6, 4}), 3, none, f32({6})),
          call(f32({2, 6, 4}), 3, none, none),
          call(f32({2, 4}), 2, none, none, 0.01),
          call(f32({3, 32, 5}), 8, f32({32}), f32({32})),
          call(f32({1, 2, 70}), 1, f32({2}), f32({2})),
          call(f32({1, 2, 70}), 2, f32({2}), f32({2})),
          call(f32({2, 6, 48}), 2, f32({6}), f32({6})),
          call(f32({1, 4, 160}), 1, f32({4}), f32({4})),
          call(f32({2, 4, 5}).range(20, 21), 2, none, none),
          call(f64({2, 4, 3}), 2, f64({4}), f64({4})),
          call(bf16({2, 4, 3}), 2, bf16({4}), bf16({4})),
          call(bf16({2, 4, 3}), 2, f32({4}), f32({4})),
          call(bf16({2, 4, 3}), 2, none, f32({4})),
          call(f16({2, 4, 3}), 2, f16({4}), none),
          call(f16({2, 4, 3}), 4, f32({4}), f32({4})),
          call(bf16({2, 4, 3}), 2, none, none),
          call(f32({0, 4, 3}), 2, f32({4}), f32({4})),
          call(f32({2, 4, 0}), 2, f32({4}), f32({4})),
          call(f32({2, 0, 3}), 2, f32({0}), f32({0})),
          call(f32({1, 1, 1}), 1, f32({1}), f32({1}))};
}

std::vector<Reject> rejects() {
  const std::string name = "native_group_norm: ";
  const std::nullopt_t none = std::nullopt;
  Sample wrong_n = call(f32({2, 4, 3}), 2, none, none), wrong_pixels = wrong_n;
  wrong_n.attrs[0].second = 3;
  wrong_pixels.attrs[2].second = 4;
  return {
      {"C1", wrong_n, name + "C1: dim 0 of input and N: 2 and 3, expected equal"},
      {"C1", wrong_pixels, name + "C1: the other dims of input and HxW: 3 and 4, expected equal"},
      {"C2", call(f32({2, 4, 3}), 3, none, none),
       name + "C2: group is 3 for 4 channels, expected a divisor"},
      {"C2", call(f32({2, 4, 3}), 0, none, none),
       name + "C2: group is 0 for 4 channels, expected a divisor"},
      {"C2", call(f32({2, 0, 3}), 0, none, none),
       name + "C2: group is 0 for 0 channels, expected a divisor"},
      {"C3", call(f32({2, 4, 3}), 2, f32({3}), none),
       name + "C3: weight and the channels of input: [3] and [4], expected equal shapes"},
      {"C4", call(i64({2, 4, 3}), 2, none, none),
       name + "C4: input is i64[2,4,3], expected a floating dtype"},
      {"C4", call(f32({2, 4, 3}), 2, none, f64({4})),
       name + "C4: bias is f64[4] for input: f32[2,4,3], expected its dtype"}};
}

}  // namespace

CLEAVE_OPS(group_norm) {
  return {OpDef{
      .name = "native_group_norm",
      .signature = "(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, "
                   "int group, float eps) -> (Tensor, Tensor, Tensor)",
      .summary = "Groups of channels brought to mean 0 and variance 1, scaled and shifted.",
      .source = "aten::native_group_norm, PyTorch 2.13",
      .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(8),
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
