// RMSNorm, GroupNorm, BatchNorm. A batch norm reads and writes its statistics as buffers of the
// step.
#include <algorithm>

#include "cleave/nn_norm.h"
#include "trace/initial.h"
#include "trace/record.h"

namespace cleave::nn {

RMSNorm::RMSNorm(std::vector<int64_t> normalized_shape, const Options& options)
    : shape_(std::move(normalized_shape)), options_(options) {
  for (const int64_t s : shape_) require_sizes("RMSNorm", {s});
  if (options_.elementwise_affine) add_parameter("weight", filled(shape_, 1, options.dtype));
}

Tensor RMSNorm::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  const Tensor weight = options_.elementwise_affine ? Tensor(parameter("weight")) : Tensor();
  return rms_norm(x, shape_, weight, options_.eps, at);
}

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, const Options& options)
    : num_groups_(num_groups), num_channels_(num_channels), options_(options) {
  require_sizes("GroupNorm", {num_groups, num_channels});
  if (num_channels % num_groups != 0)
    throw_failure(user_error("nn::GroupNorm: num_channels {} is not divisible by num_groups {}",
                             num_channels, num_groups));
  if (!options.affine) return;
  add_parameter("weight", filled({num_channels}, 1, options.dtype));
  add_parameter("bias", filled({num_channels}, 0, options.dtype));
}

Tensor GroupNorm::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  if (!x.defined() || x.dim() < 2 || x.size(1) != num_channels_)
    trace::refuse(at, "nn::GroupNorm: got {}, expected [N,{},*]", x.type_text(), num_channels_);
  if (!options_.affine) return group_norm(x, num_groups_, {}, {}, options_.eps, at);
  return group_norm(x, num_groups_, parameter("weight"), parameter("bias"), options_.eps, at);
}

BatchNorm::BatchNorm(const char* name, std::vector<int64_t> ranks, int64_t num_features,
                     const Options& options)
    : name_(name), ranks_(std::move(ranks)), num_features_(num_features), options_(options) {
  require_sizes(name, {num_features});
  if (options.affine) {
    add_parameter("weight", filled({num_features}, 1, options.dtype));
    add_parameter("bias", filled({num_features}, 0, options.dtype));
  }
  if (!options.track_running_stats) return;
  mean_ = add_buffer("running_mean", filled({num_features}, 0, options.dtype));
  var_ = add_buffer("running_var", filled({num_features}, 1, options.dtype));
  count_ = add_buffer("num_batches_tracked", HostTensor(DType::i64, {}));
}

Tensor BatchNorm::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  if (!x.defined() || std::ranges::find(ranks_, x.dim()) == ranks_.end() ||
      x.size(1) != num_features_)
    trace::refuse(at, "nn::{}: got {}, expected [N,{}{}]", name_, x.type_text(), num_features_,
                  ranks_.back() == 4 ? ",H,W" : "] or [N,C,L");
  const trace::RecordingPtr r = trace::common_recording(name_, {x}, at);
  const bool by_batch = !mean_.defined() || (is_training() && r->mode() == trace::Mode::training);
  return normalized(x, by_batch, at);
}

Tensor BatchNorm::normalized(const Tensor& x, bool by_batch, Location at) const {
  Tensor weight, bias;
  if (options_.affine) {
    weight = parameter("weight");
    bias = parameter("bias");
  }
  if (by_batch && x.numel() == x.size(1))
    trace::refuse(at,
                  "nn::{}: {} has one value in each channel, whose variance is 0 and average the "
                  "value itself; a training step takes at least two",
                  name_, x.type_text());
  if (!by_batch)
    return trace::record1("_native_batch_norm_legit_no_training",
                          {x, weight, bias, Tensor(mean_), Tensor(var_)},
                          {{"momentum", 0.0}, {"eps", options_.eps}}, at);
  if (!mean_.defined())
    return trace::record1("_native_batch_norm_legit", {x, weight, bias, Tensor(), Tensor()},
                          {{"training", true}, {"momentum", 0.0}, {"eps", options_.eps}}, at);
  // Momentum 1 gives the batch's own statistics: the average's weight is known only at run time.
  const Tensor count = add(count_, 1, 1, at);
  const double momentum = options_.momentum.value_or(1);
  const Tensors out = trace::record(
      "_native_batch_norm_legit_functional", {x, weight, bias, Tensor(mean_), Tensor(var_)},
      {{"training", true}, {"momentum", momentum}, {"eps", options_.eps}}, at);
  Tensor next_mean = out[3], next_var = out[4];
  if (!options_.momentum) {
    const auto moved = [&](const Variable& old, const Tensor& batch) {
      const Tensor share = div(1.0, to(count, old.dtype(), at), "", at);
      return add(old, mul(sub(batch, old, 1, at), share, at), 1, at);
    };
    next_mean = moved(mean_, next_mean);
    next_var = moved(var_, next_var);
  }
  assign(mean_, next_mean, at);
  assign(var_, next_var, at);
  assign(count_, count, at);
  return out[0];
}

}  // namespace cleave::nn
