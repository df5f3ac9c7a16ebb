#include "pretrained/layers.h"

#include <cmath>

namespace cleave::pretrained {

HostTensor Initial::normal(std::vector<int64_t> shape, double std) const {
  if (!draws) return zeros(std::move(shape));
  HostTensor t = rng.normal(std::move(shape), 0, std);
  return dtype == DType::f32 ? t : t.to(dtype);
}

HostTensor Initial::truncated(std::vector<int64_t> shape) const {
  if (!draws) return zeros(std::move(shape));
  HostTensor t(DType::f32, std::move(shape));
  for (float& x : t.span<float>()) {
    double v = deviation * rng.normal();
    while (std::abs(v) > 2) v = deviation * rng.normal();
    x = static_cast<float>(v);
  }
  return dtype == DType::f32 ? t : t.to(dtype);
}

Dense::Dense(int64_t in, int64_t out, const Initial& initial, bool bias) : bias_(bias) {
  add_parameter("weight", initial.normal({out, in}));
  if (bias_) add_parameter("bias", initial.zeros({out}));
}

Dense Dense::undrawn(int64_t in, int64_t out, const Initial& initial, bool bias) {
  Dense d;
  d.bias_ = bias;
  d.add_parameter("weight", initial.zeros({out, in}));
  if (bias) d.add_parameter("bias", initial.zeros({out}));
  return d;
}

Tensor Dense::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  return linear(x, parameter("weight"), bias_ ? Tensor(parameter("bias")) : Tensor(), at);
}

Conv1D::Conv1D(int64_t in, int64_t out, const Initial& initial, double deviation) {
  add_parameter("weight", initial.normal({in, out}, deviation));
  add_parameter("bias", initial.zeros({out}));
}

Tensor Conv1D::operator()(const Tensor& x, Location at) const {
  const Call call(*this);
  const Variable weight = parameter("weight");
  Sizes size = x.sizes();
  const Tensor flat = view(x, {-1, weight.shape()[0]}, at);
  size.back() = weight.shape()[1];
  return view(addmm(parameter("bias"), flat, weight, 1, 1, at), size, at);
}

Table::Table(int64_t rows, int64_t width, const Initial& initial, int64_t padding)
    : padding_(padding) {
  HostTensor weight = initial.normal({rows, width});
  if (padding_ >= 0)
    for (int64_t k = 0; k < width; ++k) weight.set_number(padding_ * width + k, 0);
  add_parameter("weight", std::move(weight));
}

Tensor Table::operator()(const Tensor& indices, Location at) const {
  const Call call(*this);
  return embedding(indices, parameter("weight"), padding_, at);
}

Tensor Table::first(int64_t rows, Location at) const {
  const Call call(*this);
  return slice(parameter("weight"), 0, 0, rows, 1, at);
}

}  // namespace cleave::pretrained
