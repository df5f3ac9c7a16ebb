// LSTM and GRU, unrolled over time: the inputs' part of the gates is one product over all steps.
#include <cmath>

#include "cleave/nn_recurrent.h"
#include "trace/initial.h"
#include "trace/record.h"

namespace cleave::nn {

Recurrent::Recurrent(const char* name, int64_t gates, int64_t input_size, int64_t hidden_size,
                     Generator& rng, const Options& options)
    : name_(name), gates_(gates), input_size_(input_size), hidden_size_(hidden_size),
      options_(options) {
  require_sizes(name, {input_size, hidden_size, options.num_layers});
  if (!(options.dropout >= 0 && options.dropout <= 1))
    throw_failure(
        user_error("nn::{}: dropout is {}, expected 0 <= dropout <= 1", name, options.dropout));
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  const int64_t ways = options.bidirectional ? 2 : 1, rows = gates * hidden_size;
  const auto add = [&](const std::string& kind, const std::string& suffix, Sizes shape) {
    add_parameter(kind + suffix, uniform(rng, std::move(shape), bound, options.dtype));
  };
  for (int64_t layer = 0; layer < options.num_layers; ++layer)
    for (int64_t way = 0; way < ways; ++way) {
      const std::string suffix = fmt::format("_l{}{}", layer, way == 1 ? "_reverse" : "");
      add("weight_ih", suffix, {rows, layer == 0 ? input_size : ways * hidden_size});
      add("weight_hh", suffix, {rows, hidden_size});
      if (!options.bias) continue;
      add("bias_ih", suffix, {rows});
      add("bias_hh", suffix, {rows});
    }
}

Recurrent::Weights Recurrent::weights(int64_t layer, bool reverse) const {
  const std::string suffix = fmt::format("_l{}{}", layer, reverse ? "_reverse" : "");
  Weights w{parameter("weight_ih" + suffix), parameter("weight_hh" + suffix), {}, {}};
  if (options_.bias) {
    w.bias_ih = parameter("bias_ih" + suffix);
    w.bias_hh = parameter("bias_hh" + suffix);
  }
  return w;
}

namespace {

// One step: updates the states from the gates' parts of x and of h, [N, G H] each.
void lstm_step(const Tensor& of_x, const Tensor& of_h, int64_t width, Tensors& states,
               Location at) {
  const Tensors gates = split(add(of_x, of_h, 1, at), width, 1, at);
  const Tensor i = sigmoid(gates[0], at), f = sigmoid(gates[1], at);
  const Tensor g = tanh(gates[2], at), o = sigmoid(gates[3], at);
  states[1] = add(mul(f, states[1], at), mul(i, g, at), 1, at);
  states[0] = mul(o, tanh(states[1], at), at);
}

void gru_step(const Tensor& of_x, const Tensor& of_h, int64_t width, Tensors& states, Location at) {
  const Tensors x = split(of_x, width, 1, at), h = split(of_h, width, 1, at);
  const Tensor r = sigmoid(add(x[0], h[0], 1, at), at);
  const Tensor z = sigmoid(add(x[1], h[1], 1, at), at);
  const Tensor n = tanh(add(x[2], mul(r, h[2], at), 1, at), at);
  states[0] = add(n, mul(sub(states[0], n, 1, at), z, at), 1, at);
}

}  // namespace

Tensors Recurrent::one_way(const Tensor& x, const Weights& w, bool reverse, Tensors& states,
                           Location at) const {
  const int64_t length = x.size(0);
  const Tensor of_x = linear(x, w.ih, w.bias_ih, at);
  Tensors outputs(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const int64_t t = reverse ? length - 1 - i : i;
    const Tensor of_h = linear(states[0], w.hh, w.bias_hh, at);
    const Tensor step = select(of_x, 0, t, at);
    if (gates_ == 4)
      lstm_step(step, of_h, hidden_size_, states, at);
    else
      gru_step(step, of_h, hidden_size_, states, at);
    outputs[t] = states[0];
  }
  return outputs;
}

Recurrent::States Recurrent::run(const Tensor& input, const Tensors& initial, Location at) const {
  if (!input.defined() || (input.dim() != 3 && input.dim() != 2) || input.size(-1) != input_size_ ||
      input.numel() == 0)
    trace::refuse(at, "nn::{}: got {}, expected [{},{}] or [length,{}]", name_,
                  input.defined() ? input.type_text() : "none",
                  options_.batch_first ? "batch,length" : "length,batch", input_size_, input_size_);
  const bool batched = input.dim() == 3;
  Tensor x = batched ? input : unsqueeze(input, 1, at);
  if (batched && options_.batch_first) x = transpose(x, 0, 1, at);
  const int64_t batch = x.size(1), ways = options_.bidirectional ? 2 : 1;
  const int64_t rows = options_.num_layers * ways;
  const Sizes expected = batched ? Sizes{rows, batch, hidden_size_} : Sizes{rows, hidden_size_};
  for (const Tensor& t : initial)
    if (t.defined() && t.sizes() != expected)
      trace::refuse(at, "nn::{}: the initial state is {}, expected [{}]", name_, t.type_text(),
                    fmt::join(expected, ","));

  std::vector<Tensors> last(initial.size());
  for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
    if (layer > 0) x = dropout(x, options_.dropout, is_training(), at);
    Tensors sides;
    for (int64_t way = 0; way < ways; ++way) {
      Tensors states;
      for (const Tensor& t : initial)
        states.push_back(t.defined()
                             ? view(select(t, 0, layer * ways + way, at), {batch, hidden_size_}, at)
                             : zeros({batch, hidden_size_}, x.dtype(), at));
      sides.push_back(stack(one_way(x, weights(layer, way == 1), way == 1, states, at), 0, at));
      for (size_t k = 0; k < states.size(); ++k) last[k].push_back(states[k]);
    }
    x = ways == 1 ? sides[0] : cat(sides, 2, at);
  }
  if (batched && options_.batch_first) x = transpose(x, 0, 1, at);
  States out{batched ? x : squeeze(x, 1, at), {}};
  for (const Tensors& t : last) {
    const Tensor all = stack(t, 0, at);
    out.last.push_back(batched ? all : squeeze(all, 1, at));
  }
  return out;
}

LSTM::Result LSTM::operator()(const Tensor& x, const Initial& initial, Location at) const {
  const Call call(*this);
  const States s = run(x, {initial.h_0, initial.c_0}, at);
  return {s.output, s.last[0], s.last[1]};
}

GRU::Result GRU::operator()(const Tensor& x, const Tensor& h_0, Location at) const {
  const Call call(*this);
  const States s = run(x, {h_0}, at);
  return {s.output, s.last[0]};
}

}  // namespace cleave::nn
