// The layers that the models share, with initial values as transformers draws them.
#pragma once
#include "cleave/nn.h"

namespace cleave::pretrained {

// Draws initial values, in the order of the calls.
struct Initial {
  Generator& rng;
  double deviation = 0.02;  // initializer_range
  DType dtype = DType::f32;
  bool draws = true;  // or zeros in the place of what is drawn

  HostTensor normal(std::vector<int64_t> shape) const {
    return normal(std::move(shape), deviation);
  }
  HostTensor normal(std::vector<int64_t> shape, double deviation) const;
  // Values outside of [-2, 2] are drawn again, as torch.nn.init.trunc_normal_ has it.
  HostTensor truncated(std::vector<int64_t> shape) const;
  HostTensor zeros(std::vector<int64_t> shape) const { return {dtype, std::move(shape)}; }
};

// y = x @ weight^T + bias; weight [out,in] is normal, bias [out] 0.
struct Dense : nn::Module {
  Dense(int64_t in, int64_t out, const Initial& initial, bool bias = true);
  // Without drawing a weight: zeros, for one that is tied.
  static Dense undrawn(int64_t in, int64_t out, const Initial& initial, bool bias);
  Tensor operator()(const Tensor& x, Location at) const;

 private:
  Dense() = default;
  bool bias_ = true;
};

// transformers' Conv1D of GPT-2: y = x @ weight + bias; weight [in,out] is normal, bias [out] 0.
struct Conv1D : nn::Module {
  Conv1D(int64_t in, int64_t out, const Initial& initial, double deviation);
  Tensor operator()(const Tensor& x, Location at) const;
};

// Rows of weight [rows,width], which is normal; row `padding`, if it isn't -1, is 0 and gets no
// gradient here.
struct Table : nn::Module {
  Table(int64_t rows, int64_t width, const Initial& initial, int64_t padding = -1);
  Tensor operator()(const Tensor& indices, Location at) const;
  Tensor first(int64_t rows, Location at) const;  // [rows,width]

 private:
  int64_t padding_;
};

}  // namespace cleave::pretrained
