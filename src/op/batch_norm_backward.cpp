// native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean,
//                            save_invstd; train, eps, output_mask) -> dx, dweight, dbias
//
//   train:  norm_graph.h with save_mean and save_invstd
//   else:   h from the running statistics, which are constants: dx = dy * w / sqrt(var + eps)
//
//   (C1..C6) batch_norm.h   (C7) grad_out has the type of input   (C8) output_mask has 3 entries
// A result that output_mask excludes has no type. dweight and dbias have the dtype of weight;
// without weight, f32 if a statistic that is read is f32, else the dtype of input.
// Source: aten/src/ATen/native/Normalization.cpp, PyTorch 2.13.
#include <cmath>

#include "op/batch_norm.h"

namespace cleave {
namespace {

enum Operand {
  at_grad_out,
  at_input,
  at_weight,
  at_running_mean,
  at_running_var,
  at_save_mean,
  at_save_invstd
};

bool trains(const OpView& op) { return op.bool_attr("train"); }
// The operands that hold the mean, and the variance or the reciprocal standard deviation.
int mean_operand(const OpView& op) { return trains(op) ? at_save_mean : at_running_mean; }
int spread_operand(const OpView& op) { return trains(op) ? at_save_invstd : at_running_var; }

DType parameter_dtype(const OpView& op) {
  if (op.has(at_weight)) return op.in_type(at_weight).dtype;
  return op.in_type(mean_operand(op)).dtype;
}

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_batch_input(op, at_input));
  const Type& x = op.in_type(at_input);
  for (int k : {mean_operand(op), spread_operand(op)})
    if (!op.has(k))
      return op.broken("C6", "{} is none, expected it where train is {}", operand_name(op, k),
                       trains(op));
  for (int k : {static_cast<int>(at_weight), mean_operand(op), spread_operand(op)})
    if (op.has(k)) CLEAVE_CHECK(check_channel_operand(op, at_input, k));
  CLEAVE_CHECK(check_grad_out(op, "C7", at_grad_out, at_input));
  const std::vector<bool> mask = bools_attr(op, "output_mask");
  if (mask.size() != 3)
    return op.broken("C8", "output_mask has {} entries, expected 3", mask.size());
  const Type parameter = typed_like(x, parameter_dtype(op), {x.shape[1]});
  Types out = {typed_like(x, x.dtype, x.shape), parameter, parameter};
  for (size_t k = 0; k < 3; ++k)
    if (!mask[k]) out[k] = Type::none();
  return out;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[at_input];
  const bool train = op.bool_attr("train");
  NormMap map = batch_norm_map(x);
  map.fixed = !train;
  std::vector<double> mean = in[train ? at_save_mean : at_running_mean]->f;
  std::vector<double> rstd = in[train ? at_save_invstd : at_running_var]->f;
  for (double& r : rstd)
    if (!train) r = 1 / std::sqrt(r + op.float_attr("eps"));
  const DType t =
      in[at_weight] ? in[at_weight]->dtype : in[train ? at_save_mean : at_running_mean]->dtype;
  Array dx(x.dtype, x.shape), dw(t, {x.shape[1]}), db = dw;
  reference_norm_backward(dx, &dw, &db, *in[at_grad_out], x, map, mean, rstd, in[at_weight]);
  return Arrays{dx, dw, db};
}

NormTerms terms_of(Builder& b, const OpView& op) {
  const Type& x = op.in_type(at_input);
  const DType t = norm_work(x.dtype);
  const auto spread = [&](int k) { return b.view(b.convert(op.in(k), t), channel_shape(x)); };
  NormTerms v;
  v.statistic = v.parameter = batch_dims(x);
  v.dy = b.convert(op.in(at_grad_out), t);
  v.x = b.convert(op.in(at_input), t);
  v.mean = spread(mean_operand(op));
  v.rstd = spread(spread_operand(op));
  if (!trains(op)) v.rstd = b.rsqrt(b.add(v.rstd, op.float_attr("eps")));
  if (op.has(at_weight)) v.weight = spread(at_weight);
  v.fixed = !trains(op);
  v.complete(b);
  return v;
}

ValueId channels(Builder& b, const OpView& op, ValueId x, DType t) {
  return b.convert(b.view(x, {op.in_type(at_input).shape[1]}), t);
}

Values decompose(Builder& b, const OpView& op) {
  const std::vector<bool> mask = bools_attr(op, "output_mask");
  NormTerms v = terms_of(b, op);
  Values out(3);
  if (mask[0]) out[0] = b.convert(v.dx(b), op.out_type(0).dtype);
  if (mask[1]) out[1] = channels(b, op, v.dweight(b), op.out_type(1).dtype);
  if (mask[2]) out[2] = channels(b, op, v.dbias(b), op.out_type(2).dtype);
  return out;
}

bool follows_input(const Graph& g, const OpView& op) {
  const auto names = {std::string_view("_native_batch_norm_legit_functional"),
                      std::string_view("_native_batch_norm_legit")};
  return trains(op) && is_statistic_of(g, op, at_save_mean, 1, at_input, names) &&
         is_statistic_of(g, op, at_save_invstd, 2, at_input, names);
}

Values grad(Builder& b, const GradView& op) {
  const NormTerms v = terms_of(b, op);
  const DType t = norm_work(op.in_type(at_input).dtype);
  const auto cotangent = [&](int k) {
    if (!op.dout(k).valid()) return ValueId::none();
    const ValueId u = b.convert(op.dout(k), t);
    return k == 0 ? u : b.view(u, channel_shape(op.in_type(at_input)));
  };
  const NormCotangents d = norm_second_order(b, v, cotangent(0), cotangent(1), cotangent(2),
                                             follows_input(b.graph(), op));
  Values out = op.no_grads();
  const auto give = [&](int k, ValueId x) {
    if (!x.valid()) return;
    const DType own = op.in_type(k).dtype;
    out[k] = k <= at_input ? b.convert(x, own) : channels(b, op, x, own);
  };
  give(at_grad_out, d.dy);
  give(at_input, d.x);
  if (op.has(at_weight)) give(at_weight, d.weight);
  give(mean_operand(op), d.mean);
  if (!d.rstd.valid()) return out;
  const ValueId cube = b.mul(b.mul(v.rstd, v.rstd), v.rstd);
  give(spread_operand(op), v.fixed ? b.mul(b.mul(d.rstd, cube), -0.5) : d.rstd);
  return out;
}

Sample call(SampleTensor x, bool has_weight, bool train, std::vector<bool> mask, DType of) {
  const std::vector<int64_t> c = {x.type.shape[1].value()};
  const SampleTensor mean = sample(of, c), spread = sample(of, c).range(0.5, 2);
  const std::nullopt_t none = std::nullopt;
  Sample s{{x, x, none}, {{"train", train}, {"eps", 1e-5}, {"output_mask", std::move(mask)}}};
  if (has_weight) s.operands[2] = mean;
  if (train) { s.operands.insert(s.operands.end(), {none, none}); }
  s.operands.insert(s.operands.end(), {mean, spread});
  return s;
}

std::vector<Sample> samples() {
  constexpr DType f = DType::f32, bf = DType::bf16, h = DType::f16, d = DType::f64;
  const std::vector<bool> all = {true, true, true};
  std::vector<Sample> out;
  for (bool train : {true, false}) {
    const auto add = [&](SampleTensor x, bool w, std::vector<bool> mask, DType of) {
      out.push_back(call(std::move(x), w, train, std::move(mask), of));
    };
    add(f32({2, 1}), true, all, f);
    add(f32({2, 2}), true, all, f);
    add(f32({2, 2, 2}), true, all, f);
    add(f32({2, 3, 2, 2}), true, all, f);
    add(f32({2, 2, 2, 1, 2}), false, all, f);
    add(f32({2, 2}), true, {true, false, false}, f);
    add(f32({2, 2}), true, {false, true, false}, f);
    add(f32({2, 2}), true, {false, false, true}, f);
    add(f32({2, 2}), false, {true, false, true}, f);
    add(f32({2, 35}), true, all, f);
    add(f32({3, 2, 40}), true, all, f);
    add(f64({2, 3, 2}), true, all, d);
    add(bf16({2, 3, 4}), true, all, bf);
    add(bf16({2, 3, 4}), true, all, f);
    add(bf16({2, 3, 4}), false, all, f);
    add(f16({2, 3, 4}), true, all, h);
    add(f32({0, 3}), true, all, f);
    add(f32({2, 0}), true, all, f);
  }
  // Both kinds of statistics are given; the mode determines which are read.
  Sample both = call(f32({2, 2}), true, true, all, f);
  both.operands[3] = both.operands[5];
  both.operands[4] = both.operands[6];
  out.push_back(both);
  return out;
}

std::vector<Reject> rejects() {
  const std::string name = "native_batch_norm_backward: ";
  const std::vector<bool> dx = {true, false, false};
  const Sample base = call(f32({2, 3}), true, true, dx, DType::f32);
  const auto with = [&](int k, SampleOperand operand) {
    Sample s = base;
    s.operands[k] = std::move(operand);
    return s;
  };
  return {{"C1", with(at_input, f32({3})), name + "C1: input is f32[3], expected at least 2 dims"},
          {"C2", with(at_input, i64({2, 3})),
           name + "C2: input is i64[2,3], expected a floating dtype"},
          {"C3", with(at_save_mean, f32({2})),
           name + "C3: save_mean and the channels of input: [2] and [3], expected equal shapes"},
          {"C4", with(at_weight, f64({3})),
           name + "C4: weight is f64[3] for input: f32[2,3], expected its dtype"},
          {"C6", with(at_save_invstd, std::nullopt),
           name + "C6: save_invstd is none, expected it where train is true"},
          {"C7", with(at_grad_out, f64({2, 3})),
           name + "C7: grad_out is f64[2,3] for input: f32[2,3], expected its dtype"},
          {"C7", with(at_grad_out, f32({3, 3})),
           name + "C7: grad_out and input: [3,3] and [2,3], expected equal shapes"},
          {"C8", call(f32({2, 3}), true, true, {true}, DType::f32),
           name + "C8: output_mask has 1 entries, expected 3"}};
}

}  // namespace

CLEAVE_OPS(batch_norm_backward) {
  return {OpDef{
      .name = "native_batch_norm_backward",
      .signature =
          "(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, "
          "Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, "
          "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
      .summary = "The cotangents of batch norm's operands.",
      .source = "aten::native_batch_norm_backward, PyTorch 2.13",
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
