// Conv1d, Conv2d, ConvTranspose2d: kaiming_uniform(a=sqrt(5)) with fan_in, as Linear.
#include <cmath>

#include "cleave/nn_spatial.h"
#include "trace/initial.h"

namespace cleave::nn {
namespace {

// weight [first, second / groups, kernel...] and bias [out].
struct ConvShape {
  const char* name;
  int64_t in, out, groups;
  Sizes kernel;
  bool transposed = false;
};

void add_weights(Module& m, const ConvShape& s, bool bias, DType dtype, Generator& rng) {
  require_sizes(s.name, {s.in, s.out, s.groups});
  for (const int64_t k : s.kernel) require_sizes(s.name, {k});
  if (s.in % s.groups != 0 || s.out % s.groups != 0)
    throw_failure(
        user_error("nn::{}: in_channels {} and out_channels {}: expected multiples of "
                   "groups {}",
                   s.name, s.in, s.out, s.groups));
  Sizes shape = s.transposed ? Sizes{s.in, s.out / s.groups} : Sizes{s.out, s.in / s.groups};
  auto fan_in = static_cast<double>(shape[1]);
  for (const int64_t k : s.kernel) {
    shape.push_back(k);
    fan_in *= static_cast<double>(k);
  }
  const double bound = 1 / std::sqrt(fan_in);
  m.add_parameter("weight", uniform(rng, shape, bound, dtype));
  if (bias) m.add_parameter("bias", uniform(rng, {s.out}, bound, dtype));
}

Tensor bias_of(const Module& m, bool has) { return has ? Tensor(m.parameter("bias")) : Tensor(); }

}  // namespace

Conv1d::Conv1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, Generator& rng,
               const Options& options)
    : options_(options) {
  add_weights(*this, {"Conv1d", in_channels, out_channels, options.groups, {kernel_size}},
              options.bias, options.dtype, rng);
}

Tensor Conv1d::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  const Options& o = options_;
  return conv1d(x, parameter("weight"), bias_of(*this, o.bias),
                {o.stride, o.padding, o.dilation, o.groups}, at);
}

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, const Spatial& kernel_size,
               Generator& rng, const Options& options)
    : options_(options) {
  const Sizes kernel = kernel_size.of(2, "nn::Conv2d: kernel_size");
  add_weights(*this, {"Conv2d", in_channels, out_channels, options.groups, kernel}, options.bias,
              options.dtype, rng);
}

Tensor Conv2d::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  const Options& o = options_;
  return conv2d(x, parameter("weight"), bias_of(*this, o.bias),
                {o.stride, o.padding, o.dilation, o.groups}, at);
}

ConvTranspose2d::ConvTranspose2d(int64_t in_channels, int64_t out_channels,
                                 const Spatial& kernel_size, Generator& rng, const Options& options)
    : options_(options) {
  const Sizes kernel = kernel_size.of(2, "nn::ConvTranspose2d: kernel_size");
  add_weights(*this, {"ConvTranspose2d", in_channels, out_channels, options.groups, kernel, true},
              options.bias, options.dtype, rng);
}

Tensor ConvTranspose2d::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  const Options& o = options_;
  return conv_transpose2d(x, parameter("weight"), bias_of(*this, o.bias),
                          {o.stride, o.padding, o.output_padding, o.groups, o.dilation}, at);
}

}  // namespace cleave::nn
