// Recurrent modules: torch.nn's names, gate order and initial values (all uniform in
// +-1/sqrt(hidden_size)).
//
//   nn::LSTM lstm(8, 16, rng, {.num_layers = 2, .batch_first = true});
//   auto [output, h_n, c_n] = lstm(x);            // x [N,L,8], output [N,L,16], h_n [2,N,16]
//
// D is 2 if the module is bidirectional, else 1. Parameters of layer k, with the suffix _reverse
// for the backward direction: weight_ih_lk [G H, I or D H], weight_hh_lk [G H, H], bias_ih_lk,
// bias_hh_lk [G H], G = 4 gates i f g o (LSTM) or 3 gates r z n (GRU).
//
// Time is unrolled: a layer is one product over all steps and about ten nodes per step, so the
// program grows with L, which is static.
#pragma once
#include "cleave/nn.h"

namespace cleave::nn {

struct RecurrentOptions {
  int64_t num_layers = 1;
  bool bias = true;
  bool batch_first = false;  // x and output are [N,L,*] instead of [L,N,*]
  double dropout = 0;        // on each layer's output but the last's, in training
  bool bidirectional = false;
  DType dtype = DType::f32;
};

// The common base of LSTM and GRU.
class CLEAVE_API Recurrent : public Module {
 public:
  using Options = RecurrentOptions;

 protected:
  struct States {
    Tensor output;
    Tensors last;  // for each kind of state: [layers D,N,H]
  };
  Recurrent(const char* name, int64_t gates, int64_t input_size, int64_t hidden_size,
            Generator& rng, const Options& options);
  // `initial`: each kind of state, [layers D,N,H] ([layers D,H] without a batch); empty: zeros.
  States run(const Tensor& x, const Tensors& initial, Location at) const;

 private:
  struct Weights {
    Tensor ih, hh, bias_ih, bias_hh;
  };
  Weights weights(int64_t layer, bool reverse) const;
  // One layer in one direction: x [L,N,*], states [N,H]. Returns all outputs; updates states.
  Tensors one_way(const Tensor& x, const Weights& w, bool reverse, Tensors& states,
                  Location at) const;

  const char* name_;
  int64_t gates_, input_size_, hidden_size_;
  Options options_;
};

//   i, f, o = sigmoid(W_ih x + b_ih + W_hh h + b_hh), g = tanh(the same sum)
//   c = f c + i g;   h = o tanh(c)
class CLEAVE_API LSTM : public Recurrent {
 public:
  struct Initial {
    Tensor h_0 = {}, c_0 = {};
  };
  struct Result {
    Tensor output, h_n, c_n;
  };
  LSTM(int64_t input_size, int64_t hidden_size, Generator& rng, const Options& options = {})
      : Recurrent("LSTM", 4, input_size, hidden_size, rng, options) {}
  Result operator()(const Tensor& x, Location at = Location::current()) const {
    return (*this)(x, Initial{}, at);
  }
  Result operator()(const Tensor& x, const Initial& initial,
                    Location at = Location::current()) const;
};

//   r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh)
//   n = tanh(W_in x + b_in + r (W_hn h + b_hn));   h = (1 - z) n + z h
class CLEAVE_API GRU : public Recurrent {
 public:
  struct Result {
    Tensor output, h_n;
  };
  GRU(int64_t input_size, int64_t hidden_size, Generator& rng, const Options& options = {})
      : Recurrent("GRU", 3, input_size, hidden_size, rng, options) {}
  Result operator()(const Tensor& x, Location at = Location::current()) const {
    return (*this)(x, Tensor(), at);
  }
  Result operator()(const Tensor& x, const Tensor& h_0, Location at = Location::current()) const;
};

}  // namespace cleave::nn
