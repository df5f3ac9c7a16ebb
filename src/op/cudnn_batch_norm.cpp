// Batch norm as programs of PyTorch on CUDA have it; here on every device.
//
// cudnn_batch_norm(input, weight, bias, running_mean, running_var;
//                  training, exponential_average_factor, epsilon)
//     -> y, save_mean, save_var, reserve
// cudnn_batch_norm_backward(input, grad_output, weight, running_mean, running_var, save_mean,
//                           save_var, reserve; epsilon) -> dx, dweight, dbias
//
//   training:  _native_batch_norm_legit; save_var is 1 / sqrt(var + epsilon)
//   else:      _native_batch_norm_legit_no_training; save_mean and save_var are [0]
//   backward:  native_batch_norm_backward of a training
//   reserve    u8[0], cuDNN's own
//
//   (C1..C7) batch_norm.h, batch_norm_backward.cpp
// Running statistics in training would be updated in place: that is Unsupported.
// Source: torch/_decomp/decompositions.py, PyTorch 2.13.
#include <cmath>

#include "op/batch_norm.h"
#include "op/reference_lines.h"

namespace cleave {
namespace {

enum Operand { at_input, at_weight, at_bias, at_mean, at_var };
enum BackwardOperand { at_x, at_dy, at_w, at_save_mean = 5, at_save_var, at_reserve };

bool trains(const OpView& op) { return op.bool_attr("training"); }

DType statistic_dtype(const OpView& op) {
  const Type& x = op.in_type(at_input);
  if (x.device.kind == DeviceKind::cuda) return norm_work(x.dtype);
  for (const int k : {at_weight, at_bias})
    if (op.has(k) && op.in_type(k).dtype == DType::f32) return DType::f32;
  return x.dtype;
}

Status check_mode(const OpView& op) {
  const Type& x = op.in_type(at_input);
  for (const int k : {at_mean, at_var}) {
    if (!trains(op) && !op.has(k))
      return op.broken("C6", "{} is none, expected statistics to evaluate with",
                       operand_name(op, k));
    if (trains(op) && op.has(k))
      return unsupported(
          "{}: running statistics would be updated in place, expected "
          "_native_batch_norm_legit_functional (src/op/cudnn_batch_norm.cpp)",
          op.name());
  }
  for (const int64_t d : batch_dims(x))
    if (trains(op) && op.env().range_of(x.shape[d]).hi == 0)
      return op.broken("C5", "dim {} of input: {} is empty, expected an element to train on", d,
                       x.text());
  return {};
}

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_batch_input(op, at_input));
  for (int k = at_weight; k <= at_var; ++k)
    if (op.has(k)) CLEAVE_CHECK(check_channel_operand(op, at_input, k));
  CLEAVE_CHECK(check_mode(op));
  const Type& x = op.in_type(at_input);
  const Type saved = trains(op) ? typed_like(x, statistic_dtype(op), {x.shape[1]})
                                : typed_like(x, op.in_type(at_weight).dtype, {Dim(0)});
  return Types{typed_like(x, x.dtype, x.shape), saved, saved, typed_like(x, DType::u8, {Dim(0)})};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[at_input];
  const NormMap map = batch_norm_map(x);
  const double eps = op.float_attr("epsilon");
  Arrays out;
  for (int k = 0; k < op.out_count(); ++k)
    out.emplace_back(op.out_type(k).dtype, static_shape(op.out_type(k)));
  const NormStatistics s = statistics_of(x, map, eps);
  std::vector<double> mean = s.mean, rstd = s.rstd;
  for (size_t c = 0; c < mean.size(); ++c) {
    if (trains(op)) {
      out[1].f[c] = mean[c];
      out[2].f[c] = rstd[c];
    } else {
      mean[c] = in[at_mean]->f[c];
      rstd[c] = 1 / std::sqrt(in[at_var]->f[c] + eps);
    }
  }
  reference_normalise(out[0], x, map, mean, rstd, in[at_weight], in[at_bias]);
  return out;
}

Values decompose(Builder& b, const OpView& op) {
  const double momentum = op.float_attr("exponential_average_factor");
  const NamedAttrs numbers = {{"momentum", momentum}, {"eps", op.float_attr("epsilon")}};
  const ValueId none = ValueId::none();
  Values out;
  if (trains(op)) {
    out = b.call("_native_batch_norm_legit",
                 {op.in(at_input), op.in(at_weight), op.in(at_bias), none, none},
                 {{"training", true}, numbers[0], numbers[1]});
  } else {
    out = b.call("_native_batch_norm_legit_no_training",
                 {op.in(at_input), op.in(at_weight), op.in(at_bias), op.in(at_mean), op.in(at_var)},
                 numbers);
    out = {out.empty() ? none : out[0], b.full({0}, 0.0, op.out_type(1).dtype),
           b.full({0}, 0.0, op.out_type(1).dtype)};
  }
  out.push_back(b.full({0}, 0, DType::u8));
  return out;
}

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  const ValueId none = ValueId::none();
  const Values g = trains(op) ? b.call("cudnn_batch_norm_backward",
                                       {op.in(at_input), op.dout(0), op.in(at_weight), none, none,
                                        op.out(1), op.out(2), op.out(3)},
                                       {{"epsilon", op.float_attr("epsilon")}})
                              : b.call("native_batch_norm_backward",
                                       {op.dout(0), op.in(at_input), op.in(at_weight),
                                        op.in(at_mean), op.in(at_var), none, none},
                                       {{"train", false},
                                        {"eps", op.float_attr("epsilon")},
                                        {"output_mask", std::vector<bool>{true, true, true}}});
  for (const int k : {at_input, at_weight, at_bias})
    if (!g.empty() && op.has(k) && op.needs(k)) d[k] = g[k];
  const auto wants = [&](int k) { return op.has(k) && op.needs(k); };
  if (!trains(op) && (wants(at_mean) || wants(at_var)))
    grad_running(b, op, op.float_attr("epsilon"), d);
  return d;
}

Result<Types> infer_backward(const OpView& op) {
  CLEAVE_CHECK(check_batch_input(op, at_x));
  for (const int k : {at_save_mean, at_save_var})
    if (!op.has(k))
      return op.broken("C6", "{} is none, expected what the forward saved", operand_name(op, k));
  for (const int k :
       {static_cast<int>(at_w), static_cast<int>(at_save_mean), static_cast<int>(at_save_var)})
    CLEAVE_CHECK(check_channel_operand(op, at_x, k));
  CLEAVE_CHECK(check_grad_out(op, "C7", at_dy, at_x));
  const Type& x = op.in_type(at_x);
  const Type parameter = typed_like(x, op.in_type(at_w).dtype, {x.shape[1]});
  return Types{typed_like(x, x.dtype, x.shape), parameter, parameter};
}

Result<Arrays> reference_backward(const OpView&, std::span<const Array* const> in) {
  const Array& x = *in[at_x];
  Array dx(x.dtype, x.shape), dw(in[at_w]->dtype, {x.shape[1]}), db = dw;
  reference_norm_backward(dx, &dw, &db, *in[at_dy], x, batch_norm_map(x), in[at_save_mean]->f,
                          in[at_save_var]->f, in[at_w]);
  return Arrays{dx, dw, db};
}

Values decompose_backward(Builder& b, const OpView& op) {
  const ValueId none = ValueId::none();
  return b.call(
      "native_batch_norm_backward",
      {op.in(at_dy), op.in(at_x), op.in(at_w), none, none, op.in(at_save_mean), op.in(at_save_var)},
      {{"train", true},
       {"eps", op.float_attr("epsilon")},
       {"output_mask", std::vector<bool>{true, true, true}}});
}

// ---- samples

SampleTensor channels_of(const SampleTensor& x, DType of) {
  return sample(of, {x.type.shape[1].value()});
}

Sample call(const SampleTensor& x, bool has_bias, bool training, DType of, double eps = 1e-5) {
  const std::nullopt_t none = std::nullopt;
  Sample s{{x, channels_of(x, of), none, none, none},
           {{"training", training}, {"exponential_average_factor", 0.1}, {"epsilon", eps}}};
  if (has_bias) s.operands[at_bias] = channels_of(x, of);
  if (training) return s;
  s.operands[at_mean] = channels_of(x, of);
  s.operands[at_var] = channels_of(x, of).range(0.5, 2);
  return s;
}

Samples samples() {
  Samples out;
  for (const bool training : {true, false}) {
    out.push_back(call(f32({2, 2}), true, training, DType::f32, 0.1));
    out.push_back(call(f32({2, 3, 2, 2}), true, training, DType::f32));
    out.push_back(call(f32({3, 2, 2}), false, training, DType::f32));
    out.push_back(call(f32({2, 1, 50}), true, training, DType::f32));
    out.push_back(call(f64({3, 2, 2}), true, training, DType::f64));
    out.push_back(call(bf16({3, 2, 4}), true, training, DType::f32));
    out.push_back(call(bf16({3, 2, 4}), true, training, DType::bf16));
    out.push_back(call(f16({3, 2, 4}), true, training, DType::f32));
    out.push_back(call(f32({2, 0, 3}), true, training, DType::f32));
  }
  out.push_back(call(f32({0, 3}), true, false, DType::f32));
  return out;
}

Rejects rejects() {
  const std::string name = "cudnn_batch_norm: ";
  const auto with = [](SampleTensor x, int k, SampleOperand operand) {
    Sample s = call(f32({2, 3}), true, true, DType::f32);
    s.operands[at_input] = std::move(x);
    s.operands[static_cast<size_t>(k)] = std::move(operand);
    return s;
  };
  Sample bare = call(f32({2, 3}), true, false, DType::f32);
  bare.operands[at_mean] = std::nullopt;
  return {{"C1", with(f32({3}), at_weight, f32({3})),
           name + "C1: input is f32[3], expected at least 2 dims"},
          {"C2", with(i64({2, 3}), at_weight, f32({3})),
           name + "C2: input is i64[2,3], expected a floating dtype"},
          {"C3", with(f32({2, 3}), at_weight, f32({2})),
           name + "C3: weight and the channels of input: [2] and [3], expected equal shapes"},
          {"C4", with(f32({2, 3}), at_bias, bf16({3})),
           name + "C4: bias is bf16[3] for input: f32[2,3], expected its dtype"},
          {"C5", with(f32({0, 3}), at_weight, f32({3})),
           name + "C5: dim 0 of input: f32[0,3] is empty, expected an element to train on"},
          {"C6", bare, name + "C6: running_mean is none, expected statistics to evaluate with"},
          {"C6", with(f32({2, 3}), at_mean, f32({3})),
           name + "running statistics would be updated in place, expected "
                  "_native_batch_norm_legit_functional (src/op/cudnn_batch_norm.cpp)"}};
}

Sample backward_call(const SampleTensor& x, DType of) {
  const std::nullopt_t none = std::nullopt;
  return {{x, x, channels_of(x, of), none, none, channels_of(x, of),
           channels_of(x, of).range(0.5, 2), sample(DType::u8, {0})},
          {{"epsilon", 1e-5}}};
}

Samples backward_samples() {
  return {backward_call(f32({2, 1}), DType::f32),       backward_call(f32({2, 2, 2}), DType::f32),
          backward_call(f32({2, 3, 2, 2}), DType::f32), backward_call(f32({3, 2, 40}), DType::f32),
          backward_call(f64({2, 3, 2}), DType::f64),    backward_call(bf16({2, 3, 4}), DType::bf16),
          backward_call(bf16({2, 3, 4}), DType::f32),   backward_call(f16({2, 3, 4}), DType::f16),
          backward_call(f32({2, 0}), DType::f32)};
}

Rejects backward_rejects() {
  const std::string name = "cudnn_batch_norm_backward: ";
  const auto with = [](int k, SampleOperand operand) {
    Sample s = backward_call(f32({2, 3}), DType::f32);
    s.operands[static_cast<size_t>(k)] = std::move(operand);
    return s;
  };
  return {{"C1", with(at_x, f32({3})), name + "C1: input is f32[3], expected at least 2 dims"},
          {"C3", with(at_save_mean, f32({2})),
           name + "C3: save_mean and the channels of input: [2] and [3], expected equal shapes"},
          {"C6", with(at_save_var, std::nullopt),
           name + "C6: save_var is none, expected what the forward saved"},
          {"C7", with(at_dy, f32({3, 3})),
           name + "C7: grad_out and input: [3,3] and [2,3], expected equal shapes"}};
}

}  // namespace

CLEAVE_OPS(cudnn_batch_norm) {
  return {OpDef{
              .name = "cudnn_batch_norm",
              .signature =
                  "(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? "
                  "running_var, bool training, float exponential_average_factor, float epsilon) -> "
                  "(Tensor, Tensor, Tensor, Tensor)",
              .summary = "Batch norm, with the results of cuDNN's.",
              .source = "aten::cudnn_batch_norm, PyTorch 2.13",
              .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
              .infer = infer,
              .reference = reference,
              .decompose = decompose,
              .grad = grad,
              .lower = loop::by_decomposition(),
              .cost = cost_per_operand(8),
              .samples = samples,
              .rejects = rejects,
              .nondifferentiable = 0b1110U,
          },
          OpDef{
              .name = "cudnn_batch_norm_backward",
              .signature =
                  "(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, Tensor? "
                  "running_var, Tensor? save_mean, Tensor? save_var, float epsilon, Tensor "
                  "reserveSpace) -> (Tensor, Tensor, Tensor)",
              .summary = "The cotangents of cudnn_batch_norm's operands.",
              .source = "aten::cudnn_batch_norm_backward, PyTorch 2.13",
              .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
              .infer = infer_backward,
              .reference = reference_backward,
              .decompose = decompose_backward,
              .grad = Absent{"native_batch_norm_backward, its decomposition, has one"},
              .lower = loop::by_decomposition(),
              .cost = cost_per_operand(14),
              .samples = backward_samples,
              .rejects = backward_rejects,
          }};
}

}  // namespace cleave
