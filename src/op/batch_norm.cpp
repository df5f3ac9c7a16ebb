// Batch norm: normalises channels to mean 0, variance 1 over all dims but 1, then scales and
// shifts.
//
// _native_batch_norm_legit_functional(input, weight, bias, running_mean, running_var;
//                        training, momentum, eps) -> y, save_mean, save_invstd, new mean, new var
// _native_batch_norm_legit(input, weight, bias, running_mean, running_var; training, momentum, eps)
//                        -> y, save_mean, save_invstd
// _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var;
//                        momentum, eps) -> y, save_mean, save_invstd
//
//   training:  mean and var over the batch,  invstd = 1 / sqrt(var + eps)
//              new mean = (1 - momentum) * running_mean + momentum * mean
//              new var  = (1 - momentum) * running_var + momentum * var * n / (n - 1)
//   else:      the running statistics; save_mean and save_invstd are [0]
//
//   input f[n,C,*s], all others f[C]   (C1..C6) batch_norm.h
// Saved statistics are f32 if an operand with one entry for each channel is f32, and on CUDA;
// otherwise they have input's dtype. The new ones have the dtype of the old. Only y has a gradient.
// _native_batch_norm_legit with running statistics in training would update them in place: that is
// Unsupported; _native_batch_norm_legit_functional does the same without a write.
// Source: aten/src/ATen/native/Normalization.cpp, PyTorch 2.13.
#include "op/batch_norm.h"

#include <cmath>

#include "op/reference_lines.h"

namespace cleave {

Status check_batch_input(const OpView& op, int input) {
  const Type& x = op.in_type(input);
  if (x.rank() < 2) return op.broken("C1", "input is {}, expected at least 2 dims", x.text());
  return check_floating(op, "C2", input);
}

std::vector<int64_t> batch_dims(const Type& input) {
  std::vector<int64_t> dims = {0};
  for (int64_t d = 2; d < input.rank(); ++d) dims.push_back(d);
  return dims;
}

Shape channel_shape(const Type& input) {
  Shape shape(input.shape.size(), Dim(1));
  shape[1] = input.shape[1];
  return shape;
}

NormMap batch_norm_map(const Array& x) {
  const int64_t channels = x.shape[1];
  int64_t each = 1;
  for (size_t d = 2; d < x.shape.size(); ++d) each *= x.shape[d];
  const auto channel = [=](int64_t k) { return k / each % channels; };
  return {channels, channels, channel, channel};
}

namespace {

enum Operand { at_input, at_weight, at_bias, at_mean, at_var };

bool trains(const OpView& op) {
  return op.def().schema.find("training") >= 0 && op.bool_attr("training");
}
bool updates(const OpView& op) { return op.out_count() == 5; }

Status check_mode(const OpView& op) {
  const Type& x = op.in_type(at_input);
  if (trains(op)) {
    for (int64_t d : batch_dims(x))
      if (op.env().range_of(x.shape[d]).hi == 0)
        return op.broken("C5", "dim {} of input: {} is empty, expected an element to train on", d,
                         x.text());
    if (op.name() == "_native_batch_norm_legit" && (op.has(at_mean) || op.has(at_var)))
      return unsupported(
          "{}: running statistics would be updated in place, expected "
          "_native_batch_norm_legit_functional (src/op/batch_norm.cpp)",
          op.name());
    return {};
  }
  for (int k : {at_mean, at_var})
    if (!op.has(k))
      return op.broken("C6", "{} is none, expected statistics to evaluate with",
                       operand_name(op, k));
  return {};
}

DType statistic_dtype(const OpView& op) {
  const Type& x = op.in_type(at_input);
  if (x.device.kind == DeviceKind::cuda) return norm_work(x.dtype);
  for (int k = at_weight; k <= at_var; ++k)
    if (op.has(k) && op.in_type(k).dtype == DType::f32) return DType::f32;
  return x.dtype;
}

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_batch_input(op, at_input));
  for (int k = at_weight; k <= at_var; ++k)
    if (op.has(k)) CLEAVE_CHECK(check_channel_operand(op, at_input, k));
  CLEAVE_CHECK(check_mode(op));
  const Type& x = op.in_type(at_input);
  const Type saved = typed_like(x, statistic_dtype(op), {trains(op) ? x.shape[1] : Dim(0)});
  Types out = {typed_like(x, x.dtype, x.shape), saved, saved};
  if (op.def().schema.results == 5)
    for (int k : {at_mean, at_var})
      out.push_back(typed_like(x, op.in_type(k).dtype, op.in_type(k).shape));
  return out;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[at_input];
  const bool training = trains(op);
  const NormMap map = batch_norm_map(x);
  const double eps = op.float_attr("eps"), momentum = op.float_attr("momentum");
  const NormStatistics s = statistics_of(x, map, eps);
  Arrays out;
  for (int k = 0; k < op.out_count(); ++k)
    out.emplace_back(op.out_type(k).dtype, static_shape(op.out_type(k)));
  std::vector<double> mean = s.mean, rstd = s.rstd;
  for (size_t c = 0; c < mean.size(); ++c) {
    if (training) {
      out[1].f[c] = mean[c];
      out[2].f[c] = rstd[c];
    } else {
      mean[c] = in[at_mean]->f[c];
      rstd[c] = 1 / std::sqrt(in[at_var]->f[c] + eps);
    }
    if (out.size() < 5) continue;
    const double old_mean = in[at_mean]->f[c], old_var = in[at_var]->f[c];
    const double var = s.square[c] / (s.count[c] - 1);
    out[3].f[c] = training ? (1 - momentum) * old_mean + momentum * mean[c] : old_mean;
    out[4].f[c] = training ? (1 - momentum) * old_var + momentum * var : old_var;
  }
  reference_normalise(out[0], x, map, mean, rstd, in[at_weight], in[at_bias]);
  return out;
}

// Operand k as [1,C,1,...] in the compute dtype; none if it is not given.
ValueId spread(Builder& b, const OpView& op, int k, DType t) {
  if (!op.has(k)) return ValueId::none();
  return b.view(b.convert(op.in(k), t), channel_shape(op.in_type(at_input)));
}

ValueId channels(Builder& b, const OpView& op, ValueId x, DType t) {
  return b.convert(b.view(x, {op.in_type(at_input).shape[1]}), t);
}

// (1 - momentum) * old + momentum * now
ValueId moved(Builder& b, const OpView& op, int k, ValueId now) {
  const DType t = op.out_type(k).dtype;
  const double momentum = op.float_attr("momentum");
  const ValueId old = b.convert(op.in(k), norm_work(t));
  const ValueId flat = channels(b, op, now, norm_work(t));
  return b.convert(b.add(b.mul(old, 1 - momentum), b.mul(flat, momentum)), t);
}

Values decompose_training(Builder& b, const OpView& op) {
  const DType t = norm_work(op.in_type(at_input).dtype), saved = op.out_type(1).dtype;
  const std::vector<int64_t> dims = batch_dims(op.in_type(at_input));
  const CallOperand count = count_operand(b, op.in(at_input), dims);
  const ValueId x = b.convert(op.in(at_input), t);
  // An offset common to all elements, removed first, costs no precision.
  const ValueId rough = b.mean(x, dims, true);
  const ValueId mean = b.add(rough, b.mean(b.sub(x, rough), dims, true)), off = b.sub(x, mean);
  const ValueId squares = b.sum(b.mul(off, off), dims, true);
  const ValueId rstd = b.rsqrt(b.add(b.div(squares, count), op.float_attr("eps")));
  const ValueId y =
      normalised(b, x, mean, rstd, spread(b, op, at_weight, t), spread(b, op, at_bias, t));
  Values out = {b.convert(y, op.out_type(0).dtype), channels(b, op, mean, saved),
                channels(b, op, rstd, saved)};
  if (!updates(op)) return out;
  const CallOperand freedom = count.number.is_none() ? CallOperand(b.sub(count, 1))
                                                     : CallOperand(count.number.as_double() - 1);
  out.push_back(moved(b, op, at_mean, mean));
  out.push_back(moved(b, op, at_var, b.div(squares, freedom)));
  return out;
}

Values decompose(Builder& b, const OpView& op) {
  if (trains(op)) return decompose_training(b, op);
  const DType t = norm_work(op.in_type(at_input).dtype);
  const ValueId rstd = b.rsqrt(b.add(spread(b, op, at_var, t), op.float_attr("eps")));
  const ValueId y = normalised(b, b.convert(op.in(at_input), t), spread(b, op, at_mean, t), rstd,
                               spread(b, op, at_weight, t), spread(b, op, at_bias, t));
  const auto nothing = [&] { return b.full({0}, 0.0, op.out_type(1).dtype); };
  Values out = {b.convert(y, op.out_type(0).dtype), nothing(), nothing()};
  if (updates(op))
    for (int k : {at_mean, at_var}) out.push_back(b.call1("clone", {op.in(k)}));
  return out;
}

}  // namespace

void grad_running(Builder& b, const GradView& op, double eps, Values& d) {
  const Type& x = op.in_type(at_input);
  const DType t = norm_work(x.dtype);
  const std::vector<int64_t> dims = batch_dims(x);
  ValueId g = b.convert(op.dout(0), t);
  if (op.has(at_weight)) g = b.mul(g, spread(b, op, at_weight, t));
  const ValueId rstd = b.rsqrt(b.add(spread(b, op, at_var, t), eps));
  const ValueId scaled = b.mul(g, rstd);
  if (op.needs(at_mean))
    d[at_mean] = channels(b, op, b.neg(b.sum(scaled, dims, true)), op.in_type(at_mean).dtype);
  if (!op.needs(at_var)) return;
  const ValueId off = b.sub(b.convert(op.in(at_input), t), spread(b, op, at_mean, t));
  const ValueId along = b.mul(b.sum(b.mul(scaled, off), dims, true), b.mul(rstd, rstd));
  d[at_var] = channels(b, op, b.mul(along, -0.5), op.in_type(at_var).dtype);
}

namespace {

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  const auto wants = [&](int k) { return op.has(k) && op.needs(k); };
  const std::vector<bool> mask = {op.needs(at_input), wants(at_weight), wants(at_bias)};
  const bool training = trains(op);
  const ValueId none = ValueId::none();
  if (mask[0] || mask[1] || mask[2]) {
    const Values g =
        b.call("native_batch_norm_backward",
               {op.dout(0), op.in(at_input), op.in(at_weight), op.in(at_mean), op.in(at_var),
                training ? op.out(1) : none, training ? op.out(2) : none},
               {{"train", training}, {"eps", op.float_attr("eps")}, {"output_mask", mask}});
    for (size_t k = 0; k < g.size(); ++k)
      if (mask[k]) d[k] = g[k];
  }
  if (!training && (wants(at_mean) || wants(at_var))) grad_running(b, op, op.float_attr("eps"), d);
  return d;
}

enum class Form { functional, legit, no_training };

Sample call(Form form, SampleTensor x, bool has_weight, bool has_bias, bool training, DType of,
            double momentum = 0.1, double eps = 1e-5) {
  const std::vector<int64_t> c = {x.type.shape[1].value()};
  const auto given = [&](bool present) {
    return present ? SampleOperand(sample(of, c)) : SampleOperand(std::nullopt);
  };
  Sample s{{std::move(x), given(has_weight), given(has_bias)},
           {{"momentum", momentum}, {"eps", eps}}};
  if (form != Form::no_training) s.attrs.emplace_back("training", training);
  if (form == Form::legit && training) return s;
  s.operands.emplace_back(sample(of, c));
  s.operands.emplace_back(sample(of, c).range(0.5, 2));
  return s;
}

std::vector<Sample> samples(Form form) {
  constexpr DType f = DType::f32, bf = DType::bf16, h = DType::f16, d = DType::f64;
  std::vector<Sample> out;
  for (bool training : {true, false}) {
    if (training && form == Form::no_training) continue;
    const auto add = [&](SampleTensor x, bool w, bool bias, DType of, double eps = 1e-5) {
      out.push_back(call(form, std::move(x), w, bias, training, of, 0.3, eps));
    };
    add(f32({2, 2}), true, true, f, 0.1);
    add(f32({3, 2, 2}), true, true, f);
    add(f32({2, 3, 2, 2}), true, true, f);
    add(f32({2, 2, 2, 1, 2}), true, true, f);
    add(f32({2, 3, 4}), true, false, f);
    add(f32({2, 3, 4}), false, true, f);
    add(f32({3, 2}), false, false, f, 0.01);
    add(f32({4, 40}), true, true, f);
    add(f32({2, 1, 50}), true, true, f);
    add(f32({3, 5, 7}).range(20, 21), false, false, f);
    add(f64({3, 2, 2}), true, true, d);
    add(bf16({3, 2, 4}), true, true, bf);
    add(bf16({3, 2, 4}), true, true, f);
    add(bf16({3, 2, 4}), false, false, f);
    add(f16({3, 2, 4}), true, true, h);
    add(f16({3, 2, 4}), false, true, f);
    add(f32({2, 0, 3}), true, true, f);
  }
  if (form != Form::legit) out.push_back(call(form, f32({1, 3}), true, true, false, f));
  if (form == Form::no_training)
    for (const auto& shape : {std::vector<int64_t>{0, 3}, {2, 3, 0}, {1, 1, 1, 1}, {5, 4}, {1, 33}})
      out.push_back(call(form, f32(shape), true, true, false, f));
  return out;
}

std::vector<Reject> rejects(Form form, const std::string& name) {
  const bool training = form != Form::no_training;
  const auto with = [&](SampleTensor x, SampleOperand weight) {
    Sample s = call(form, f32({2, 3}), false, false, training, DType::f32);
    s.operands[0] = std::move(x);
    s.operands[1] = std::move(weight);
    return s;
  };
  const std::nullopt_t none = std::nullopt;
  std::vector<Reject> out = {
      {"C1", with(f32({3}), none), name + ": C1: input is f32[3], expected at least 2 dims"},
      {"C2", with(i64({2, 3}), none), name + ": C2: input is i64[2,3], expected a floating dtype"},
      {"C3", with(f32({2, 3}), f32({2})),
       name + ": C3: weight and the channels of input: [2] and [3], expected equal shapes"},
      {"C4", with(f32({2, 3}), bf16({3})),
       name + ": C4: weight is bf16[3] for input: f32[2,3], expected its dtype"},
      {"C4", with(bf16({2, 3}), f16({3})),
       name + ": C4: weight is f16[3] for input: bf16[2,3], expected its dtype or f32"}};
  if (training)
    out.push_back({"C5", with(f32({0, 3}), none),
                   name + ": C5: dim 0 of input: f32[0,3] is empty, expected an element to train "
                          "on"});
  if (form != Form::legit) return out;
  Sample bare = with(f32({2, 3}), none),
         given = call(form, f32({2, 3}), true, true, false, DType::f32);
  for (auto& [attr, value] : bare.attrs)
    if (attr == "training") value = false;
  for (auto& [attr, value] : given.attrs)
    if (attr == "training") value = true;
  out.push_back(
      {"C6", bare, name + ": C6: running_mean is none, expected statistics to evaluate with"});
  out.push_back({"C6", given,
                 name + ": running statistics would be updated in place, expected "
                        "_native_batch_norm_legit_functional (src/op/batch_norm.cpp)"});
  return out;
}

OpDef entry(Form form, const std::string& name, const char* signature) {
  return OpDef{
      .name = name,
      .signature = signature,
      .summary = "Channels brought to mean 0 and variance 1 over a batch, scaled and shifted.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(8),
      .samples = [=] { return samples(form); },
      .rejects = [=] { return rejects(form, name); },
      .nondifferentiable = form == Form::functional ? 0b11110U : 0b110U,
  };
}

}  // namespace

CLEAVE_OPS(batch_norm) {
  return {entry(Form::functional, "_native_batch_norm_legit_functional",
                "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
                "Tensor running_var, bool training, float momentum, float eps) -> "
                "(Tensor, Tensor, Tensor, Tensor, Tensor)"),
          entry(Form::legit, "_native_batch_norm_legit",
                "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean=None, "
                "Tensor? running_var=None, bool training, float momentum, float eps) -> "
                "(Tensor, Tensor, Tensor)"),
          entry(Form::no_training, "_native_batch_norm_legit_no_training",
                "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
                "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)")};
}

}  // namespace cleave
