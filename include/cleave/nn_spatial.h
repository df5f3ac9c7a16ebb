// Convolutions and pooling as modules, with torch.nn's names, defaults and initial values: weight
// and bias uniform in +-1/sqrt(fan_in), fan_in = weight.size(1) * kernel elements.
//
//   nn::Conv2d conv(3, 16, 3, rng, {.stride = 2, .padding = 1});
#pragma once
#include "cleave/nn.h"
#include "cleave/spatial.h"

namespace cleave::nn {

struct ConvNdOptions {
  Spatial stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::f32;
};

// weight [out,in/groups,k], bias [out]; x [N,in,L] or [in,L]
class CLEAVE_API Conv1d : public Module {
 public:
  using Options = ConvNdOptions;
  Conv1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, Generator& rng,
         const Options& options = {});
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 private:
  Options options_;
};

// weight [out,in/groups,kh,kw], bias [out]; x [N,in,H,W] or [in,H,W]
class CLEAVE_API Conv2d : public Module {
 public:
  using Options = ConvNdOptions;
  Conv2d(int64_t in_channels, int64_t out_channels, const Spatial& kernel_size, Generator& rng,
         const Options& options = {});
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 private:
  Options options_;
};

struct ConvTransposeNdOptions {
  Spatial stride = 1, padding = 0, output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Spatial dilation = 1;
  DType dtype = DType::f32;
};

// weight [in,out/groups,kh,kw], bias [out]
class CLEAVE_API ConvTranspose2d : public Module {
 public:
  using Options = ConvTransposeNdOptions;
  ConvTranspose2d(int64_t in_channels, int64_t out_channels, const Spatial& kernel_size,
                  Generator& rng, const Options& options = {});
  Tensor operator()(const Tensor& x, Location at = Location::current()) const;

 private:
  Options options_;
};

class CLEAVE_API MaxPool2d : public Module {
 public:
  explicit MaxPool2d(Spatial kernel_size, MaxPoolOptions options = {})
      : kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return max_pool2d(x, kernel_size_, options_, at);
  }

 private:
  Spatial kernel_size_;
  MaxPoolOptions options_;
};

class CLEAVE_API AvgPool2d : public Module {
 public:
  explicit AvgPool2d(Spatial kernel_size, AvgPoolOptions options = {})
      : kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return avg_pool2d(x, kernel_size_, options_, at);
  }

 private:
  Spatial kernel_size_;
  AvgPoolOptions options_;
};

class CLEAVE_API AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(Spatial output_size) : output_size_(std::move(output_size)) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return adaptive_avg_pool2d(x, output_size_, at);
  }

 private:
  Spatial output_size_;
};

}  // namespace cleave::nn
