// native_group_norm_backward(grad_out, input, mean, rstd, weight; N, C, HxW, group, output_mask)
//   -> dx, dweight, dbias                                           the formulas: norm_graph.h
//
//   (C1..C4) group_norm.h   (C5) grad_out has the type of input
//   (C6) output_mask has 3 entries
// A result that output_mask excludes has no type. dweight and dbias have the dtype of weight;
// without weight, that of input.
// Source: aten/src/ATen/native/group_norm.cpp, PyTorch 2.13.
#include "op/group_norm.h"

namespace cleave {
namespace {

enum Operand { at_grad_out, at_input, at_mean, at_rstd, at_weight };

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_group_norm(op, at_input));
  const Type& x = op.in_type(at_input);
  if (op.has(at_weight)) CLEAVE_CHECK(check_channel_operand(op, at_input, at_weight));
  for (int k : {at_mean, at_rstd}) {
    CLEAVE_CHECK(check_floating(op, "C4", k));
    CLEAVE_CHECK(check_same_shape(op, "C3",
                                  fmt::format("{} and the groups of input", operand_name(op, k)),
                                  op.in_type(k).shape, {x.shape[0], Dim(op.int_attr("group"))}));
  }
  CLEAVE_CHECK(check_grad_out(op, "C5", at_grad_out, at_input));
  const std::vector<bool> mask = bools_attr(op, "output_mask");
  if (mask.size() != 3)
    return op.broken("C6", "output_mask has {} entries, expected 3", mask.size());
  const Type parameter =
      typed_like(x, op.has(at_weight) ? op.in_type(at_weight).dtype : x.dtype, {x.shape[1]});
  Types out = {typed_like(x, x.dtype, x.shape), parameter, parameter};
  for (size_t k = 0; k < 3; ++k)
    if (!mask[k]) out[k] = Type::none();
  return out;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[at_input];
  Array dx(x.dtype, x.shape);
  Array dw(in[at_weight] ? in[at_weight]->dtype : x.dtype, {x.shape[1]}), db = dw;
  reference_norm_backward(dx, &dw, &db, *in[at_grad_out], x, group_norm_map(op), in[at_mean]->f,
                          in[at_rstd]->f, in[at_weight]);
  return Arrays{dx, dw, db};
}

NormTerms terms_of(Builder& b, const OpView& op) {
  const DType t = norm_work(op.in_type(at_input).dtype);
  const GroupView shape(op);
  const auto seen = [&](int k, const Shape& s) { return b.view(b.convert(op.in(k), t), s); };
  NormTerms v;
  v.statistic = {2, 3};
  v.parameter = {0, 3};
  v.dy = seen(at_grad_out, shape.whole());
  v.x = seen(at_input, shape.whole());
  v.mean = seen(at_mean, shape.statistic());
  v.rstd = seen(at_rstd, shape.statistic());
  if (op.has(at_weight)) v.weight = seen(at_weight, shape.parameter());
  v.complete(b);
  return v;
}

Values decompose(Builder& b, const OpView& op) {
  const std::vector<bool> mask = bools_attr(op, "output_mask");
  NormTerms v = terms_of(b, op);
  const auto result = [&](int k, ValueId x) {
    return b.convert(b.view(x, op.out_type(k).shape), op.out_type(k).dtype);
  };
  Values out(3);
  if (mask[0]) out[0] = result(0, v.dx(b));
  if (mask[1]) out[1] = result(1, v.dweight(b));
  if (mask[2]) out[2] = result(2, v.dbias(b));
  return out;
}

Values grad(Builder& b, const GradView& op) {
  const NormTerms v = terms_of(b, op);
  const DType t = norm_work(op.in_type(at_input).dtype);
  const GroupView shape(op);
  const auto cotangent = [&](int k) {
    if (!op.dout(k).valid()) return ValueId::none();
    return b.view(b.convert(op.dout(k), t), k == 0 ? shape.whole() : shape.parameter());
  };
  // mean and rstd pass on the gradients that reach them here: native_group_norm differentiates
  // both.
  const NormCotangents d = norm_second_order(b, v, cotangent(0), cotangent(1), cotangent(2), false);
  Values out = op.no_grads();
  const auto give = [&](int k, ValueId x) {
    if (x.valid() && op.has(k))
      out[k] = b.convert(b.view(x, op.in_type(k).shape), op.in_type(k).dtype);
  };
  give(at_grad_out, d.dy);
  give(at_input, d.x);
  give(at_mean, d.mean);
  give(at_rstd, d.rstd);
  give(at_weight, d.weight);
  return out;
}

Sample call(SampleTensor x, int64_t group, bool has_weight, std::vector<bool> mask, DType of) {
  const int64_t n = x.type.shape[0].value(), c = x.type.shape[1].value();
  int64_t pixels = 1;
  for (size_t d = 2; d < x.type.shape.size(); ++d) pixels *= x.type.shape[d].value();
  Sample s{
      {x, x, sample(of, {n, group}), sample(of, {n, group}).range(0.5, 2)},
      {{"N", n}, {"C", c}, {"HxW", pixels}, {"group", group}, {"output_mask", std::move(mask)}}};
  if (has_weight) s.operands.emplace_back(sample(of, {c}));
  return s;
}

std::vector<Sample> samples() {
  constexpr DType f = DType::f32, bf = DType::bf16, h = DType::f16, d = DType::f64;
  const std::vector<bool> all = {true, true, true};
  return {call(f32({1, 2}), 1, true, all, f),
          call(f32({1, 2, 2}), 2, true, all, f),
          call(f32({2, 4, 3}), 2, true, all, f),
          call(f32({2, 4, 2, 2}), 2, true, all, f),
          call(f32({2, 2, 2, 1, 2}), 1, true, all, f),
          call(f32({2, 3, 4}), 3, true, all, f),
          call(f32({2, 3, 4}), 1, true, all, f),
          call(f32({2, 6, 4}), 3, false, all, f),
          call(f32({2, 6, 4}), 3, false, {true, false, false}, f),
          call(f32({1, 2, 2}), 1, true, {true, false, false}, f),
          call(f32({1, 2, 2}), 1, true, {false, true, false}, f),
          call(f32({1, 2, 2}), 1, true, {false, false, true}, f),
          call(f32({2, 4, 3}), 2, true, {true, true, false}, f),
          call(f32({2, 4, 3}), 2, true, {false, true, true}, f),
          call(f32({3, 32, 5}), 8, true, all, f),
          call(f32({1, 2, 70}), 1, true, all, f),
          call(f64({2, 4, 3}), 2, true, all, d),
          call(bf16({2, 4, 3}), 2, true, all, bf),
          call(bf16({2, 4, 3}), 2, true, all, f),
          call(bf16({2, 4, 3}), 2, false, all, f),
          call(f16({2, 4, 3}), 2, true, all, h),
          call(f32({0, 4, 3}), 2, true, all, f),
          call(f32({2, 4, 0}), 2, true, all, f),
          call(f32({2, 0, 3}), 2, true, all, f),
          call(f32({1, 1, 1}), 1, true, all, f)};
}

std::vector<Reject> rejects() {
  const std::string name = "native_group_norm_backward: ";
  const std::vector<bool> dx = {true, false, false};
  const Sample base = call(f32({2, 4, 3}), 2, true, dx, DType::f32);
  const auto with = [&](int k, SampleTensor operand) {
    Sample s = base;
    s.operands[k] = std::move(operand);
    return s;
  };
  return {
      {"C2", call(f32({2, 4, 3}), 3, true, dx, DType::f32),
       name + "C2: group is 3 for 4 channels, expected a divisor"},
      {"C3", with(at_mean, f32({2, 4})),
       name + "C3: mean and the groups of input: [2,4] and [2,2], expected equal shapes"},
      {"C4", with(at_rstd, i64({2, 2})), name + "C4: rstd is i64[2,2], expected a floating dtype"},
      {"C5", with(at_grad_out, f64({2, 4, 3})),
       name + "C5: grad_out is f64[2,4,3] for input: f32[2,4,3], expected its dtype"},
      {"C5", with(at_grad_out, f32({2, 4, 2})),
       name + "C5: grad_out and input: [2,4,2] and [2,4,3], expected equal shapes"},
      {"C6", call(f32({2, 4, 3}), 2, true, {true}, DType::f32),
       name + "C6: output_mask has 1 entries, expected 3"}};
}

}  // namespace

CLEAVE_OPS(group_norm_backward) {
  return {OpDef{
      .name = "native_group_norm_backward",
      .signature =
          "(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, "
          "SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
      .summary = "The cotangents of native_group_norm's operands.",
      .source = "aten::native_group_norm_backward, PyTorch 2.13",
      .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(14),
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
