// Normalizations other than LayerNorm, with torch.nn's names, defaults and initial values (weights
// 1, biases 0).
//
//   nn::Sequential net(nn::Conv2d(3, 16, 3, rng), nn::BatchNorm2d(16), nn::ReLU());
#pragma once
#include "cleave/nn.h"

namespace cleave::nn {

// Over the last dims: x / sqrt(mean(x^2) + eps) * weight. The default eps is that of the dtype.
class CLEAVE_API RMSNorm : public Module {
 public:
  struct Options {
    std::optional<double> eps = std::nullopt;
    bool elementwise_affine = true;
    DType dtype = DType::f32;
  };
  explicit RMSNorm(std::vector<int64_t> normalized_shape)
      : RMSNorm(std::move(normalized_shape), Options{}) {}
  RMSNorm(std::vector<int64_t> normalized_shape, const Options& options);
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 private:
  std::vector<int64_t> shape_;
  Options options_;
};

// x [N,C,*]: normalizes over each of num_groups groups of channels.
class CLEAVE_API GroupNorm : public Module {
 public:
  struct Options {
    double eps = 1e-5;
    bool affine = true;
    DType dtype = DType::f32;
  };
  GroupNorm(int64_t num_groups, int64_t num_channels)
      : GroupNorm(num_groups, num_channels, Options{}) {}
  GroupNorm(int64_t num_groups, int64_t num_channels, const Options& options);
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 private:
  int64_t num_groups_, num_channels_;
  Options options_;
};

// Normalizes over all dims except the channels. In training (the module is in training mode, in a
// training step) it uses the batch's own mean and variance, and updates the buffers:
//   running_mean = (1 - momentum) running_mean + momentum mean
//   running_var  = the same with the unbiased variance;   num_batches_tracked i64[] += 1
// Otherwise it uses the buffers. Without momentum (std::nullopt) the buffers are the averages of
// all batches. If a module is called twice in one step, the statistics of the last call are kept.
class CLEAVE_API BatchNorm : public Module {
 public:
  struct Options {
    double eps = 1e-5;
    std::optional<double> momentum = 0.1;
    bool affine = true;
    bool track_running_stats = true;
    DType dtype = DType::f32;
  };
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 protected:
  BatchNorm(const char* name, std::vector<int64_t> ranks, int64_t num_features,
            const Options& options);

 private:
  Tensor normalized(const Tensor& x, bool by_batch, Location at) const;

  const char* name_;
  std::vector<int64_t> ranks_;  // of inputs
  int64_t num_features_;
  Options options_;
  Variable mean_, var_, count_;
};

// x [N,C] or [N,C,L]
class CLEAVE_API BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(int64_t num_features) : BatchNorm1d(num_features, Options{}) {}
  BatchNorm1d(int64_t num_features, const Options& options)
      : BatchNorm("BatchNorm1d", {2, 3}, num_features, options) {}
};

// x [N,C,H,W]
class CLEAVE_API BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(int64_t num_features) : BatchNorm2d(num_features, Options{}) {}
  BatchNorm2d(int64_t num_features, const Options& options)
      : BatchNorm("BatchNorm2d", {4}, num_features, options) {}
};

}  // namespace cleave::nn
