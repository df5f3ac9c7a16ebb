// Activations as modules, in addition to those of cleave/nn.h; names and defaults are torch.nn's.
//
//   nn::Sequential net(nn::Linear(2, 8, rng), nn::LeakyReLU(0.1), nn::Linear(8, 1, rng));
#pragma once
#include "cleave/nn.h"

namespace cleave::nn {

#define CLEAVE_ACTIVATION(Name, function)                                         \
  struct CLEAVE_API Name : Module {                                               \
    Tensor operator()(const Tensor& x, Location at = Location::current()) const { \
      return function(x, at);                                                     \
    }                                                                             \
  };
CLEAVE_ACTIVATION(ReLU6, cleave::relu6)
CLEAVE_ACTIVATION(SELU, cleave::selu)
CLEAVE_ACTIVATION(Hardsigmoid, cleave::hardsigmoid)
CLEAVE_ACTIVATION(Hardswish, cleave::hardswish)
CLEAVE_ACTIVATION(Mish, cleave::mish)
CLEAVE_ACTIVATION(LogSigmoid, cleave::logsigmoid)
CLEAVE_ACTIVATION(Softsign, cleave::softsign)
CLEAVE_ACTIVATION(Tanhshrink, cleave::tanhshrink)
#undef CLEAVE_ACTIVATION

// Activations with one parameter.
#define CLEAVE_ACTIVATION(Name, function, Type, argument, initial)                \
  class CLEAVE_API Name : public Module {                                         \
   public:                                                                        \
    explicit Name(Type argument = initial) : argument##_(argument) {}             \
    Tensor operator()(const Tensor& x, Location at = Location::current()) const { \
      return function(x, argument##_, at);                                        \
    }                                                                             \
                                                                                  \
   private:                                                                       \
    Type argument##_;                                                             \
  };
CLEAVE_ACTIVATION(ELU, cleave::elu, double, alpha, 1)
CLEAVE_ACTIVATION(CELU, cleave::celu, double, alpha, 1)
CLEAVE_ACTIVATION(LeakyReLU, cleave::leaky_relu, double, negative_slope, 0.01)
CLEAVE_ACTIVATION(Softshrink, cleave::softshrink, double, lambd, 0.5)
CLEAVE_ACTIVATION(Hardshrink, cleave::hardshrink, double, lambd, 0.5)
CLEAVE_ACTIVATION(GLU, cleave::glu, int64_t, dim, -1)
#undef CLEAVE_ACTIVATION

class CLEAVE_API LogSoftmax : public Module {
 public:
  explicit LogSoftmax(int64_t dim) : dim_(dim) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return log_softmax(x, dim_, at);
  }

 private:
  int64_t dim_;
};

class CLEAVE_API Hardtanh : public Module {
 public:
  explicit Hardtanh(double min_val = -1, double max_val = 1) : min_(min_val), max_(max_val) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return hardtanh(x, min_, max_, at);
  }

 private:
  double min_, max_;
};

class CLEAVE_API Threshold : public Module {
 public:
  Threshold(double threshold, double value) : threshold_(threshold), value_(value) {}
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return threshold(x, threshold_, value_, at);
  }

 private:
  double threshold_, value_;
};

// weight [num_parameters], initially `init`.
class CLEAVE_API PReLU : public Module {
 public:
  explicit PReLU(int64_t num_parameters = 1, double init = 0.25, DType dtype = DType::f32);
  Tensor operator()(const Tensor& x, Location at = Location::current()) const {
    return prelu(x, parameter("weight"), at);
  }
};

}  // namespace cleave::nn
