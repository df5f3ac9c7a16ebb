// LSTM, GRU and RNN, step by step.
//
//   lstm   i,f,g,o = W x + b + R h + r;  c' = s(f) c + s(i) tanh(g);  h' = P s(o) tanh(c')
//   gru    r,z,n = W x + b,  r',z',n' = R h + r;  n = tanh(n + s(r + r') n')
//          h' = n + s(z + z') (h - n)
//   rnn    h' = tanh(W x + b + R h + r), or relu
//
// P is there with `proj_size` alone. W x of all steps is one product. Gates stand in PyTorch's
// order.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
enum class Cell : uint8_t { lstm, gru, tanh, relu };
constexpr int64_t most_steps = 4096;  // of all layers and directions

struct State {
  V h, c;
};
struct Weights {
  V input, hidden, input_bias, hidden_bias, projection;
};

V select(Call& c, V x, int64_t index) {
  return c.op("select", {x}, {{"dim", 0}, {"index", index}});
}

Values gates(Call& c, V x, int64_t count) {
  Values v = c.ops("chunk", {x}, {{"chunks", count}, {"dim", -1}});
  if (static_cast<int64_t>(v.size()) != count) {
    c.fail("gates that aren't {} of a size", count);
    v.assign(static_cast<size_t>(count), V());
  }
  return v;
}

// x: what the weights made of the input.
State step(Call& c, Cell cell, V x, const State& s, const Weights& w) {
  const V h = linear(c, s.h, w.hidden, w.hidden_bias);
  if (cell == Cell::gru) {
    const Values a = gates(c, x, 3), b = gates(c, h, 3);
    const V r = c.op("sigmoid", {c.op("add", {a[0], b[0]})});
    const V z = c.op("sigmoid", {c.op("add", {a[1], b[1]})});
    const V n = c.op("tanh", {c.op("add", {a[2], c.op("mul", {r, b[2]})})});
    return {c.op("add", {c.op("mul", {c.op("sub", {s.h, n}), z}), n}), V()};
  }
  const V all = c.op("add", {x, h});
  if (cell != Cell::lstm) return {c.op(cell == Cell::tanh ? "tanh" : "relu", {all}), V()};
  const Values g = gates(c, all, 4);
  const V in = c.op("sigmoid", {g[0]}), forget = c.op("sigmoid", {g[1]});
  const V next = c.op("add", {c.op("mul", {forget, s.c}), c.op("mul", {in, c.op("tanh", {g[2]})})});
  const V out = c.op("mul", {c.op("sigmoid", {g[3]}), c.op("tanh", {next})});
  return {w.projection.valid() ? linear(c, out, w.projection, V()) : out, next};
}

struct Run {
  V outputs;  // [T,N,H]
  State last;
};

Run run(Call& c, Cell cell, V x, int64_t steps, State s, const Weights& w, bool reverse) {
  const V all = linear(c, x, w.input, w.input_bias);
  Values outputs(static_cast<size_t>(steps));
  for (int64_t k = 0; c.ok() && k < steps; ++k) {
    const int64_t at = reverse ? steps - 1 - k : k;
    s = step(c, cell, select(c, all, at), s, w);
    outputs[static_cast<size_t>(at)] = s.h;
  }
  return {c.op("stack", {CallOperand(outputs)}, {{"dim", 0}}), s};
}

Values recurrent(Call& c, Cell cell) {
  const int64_t layers = c.integer("num_layers", 1);
  const bool biases = c.flag("has_biases", true), both = c.flag("bidirectional", false),
             batch_first = c.flag("batch_first", false);
  const double dropout = c.flag("train", false) ? c.floating("dropout", 0) : 0;
  const Values params = c.tensors("params");
  const int64_t directions = both ? 2 : 1;
  if (c.has("batch_sizes") || layers < 1 || layers > most_steps)
    return {c.fail("{} layers of packed sequences", layers)};
  const int64_t weights = static_cast<int64_t>(params.size()), plain = biases ? 4 : 2;
  const bool projects = cell == Cell::lstm && weights == layers * directions * (plain + 1);
  const int64_t each = plain + (projects ? 1 : 0);
  if (weights != layers * directions * each)
    return {c.fail("{} weights of {} layers in {} directions", weights, layers, directions)};
  Values start = cell == Cell::lstm ? c.tensors("hx") : Values{c.tensor("hx")};
  start.resize(2);
  V x = c.tensor("input");
  const bool batched = c.rank(x) == 3;
  if (!batched) return {c.fail("a recurrent layer of an input of rank {}", c.rank(x))};
  if (batch_first) x = c.op("transpose", {x}, {{"dim0", 0}, {"dim1", 1}});
  const int64_t steps = c.static_size(x, 0);
  if (steps < 1 || steps * layers * directions > most_steps)
    return {c.fail("a recurrent layer of {} steps", steps * layers * directions)};
  Values last_h, last_c;
  for (int64_t layer = 0; c.ok() && layer < layers; ++layer) {
    Values outputs;
    for (int64_t d = 0; c.ok() && d < directions; ++d) {
      const int64_t k = layer * directions + d;
      const V* p = &params[static_cast<size_t>(k * each)];
      const Weights w{p[0], p[1], biases ? p[2] : V(), biases ? p[3] : V(),
                      projects ? p[plain] : V()};
      const State s{select(c, start[0], k), cell == Cell::lstm ? select(c, start[1], k) : V()};
      const Run r = run(c, cell, x, steps, s, w, d == 1);
      outputs.push_back(r.outputs);
      last_h.push_back(r.last.h);
      last_c.push_back(r.last.c);
    }
    x = both              ? c.op("cat", {CallOperand(outputs)}, {{"dim", -1}})
        : outputs.empty() ? V()
                          : outputs[0];
    if (dropout > 0 && layer + 1 < layers)
      x = c.op("native_dropout", {x, c.rng()},
               {{"p", dropout}, {"train", true}, {"stream", c.stream()}});
  }
  if (batch_first) x = c.op("transpose", {x}, {{"dim0", 0}, {"dim1", 1}});
  Values out = {x, c.op("stack", {CallOperand(last_h)}, {{"dim", 0}})};
  if (cell == Cell::lstm) out.push_back(c.op("stack", {CallOperand(last_c)}, {{"dim", 0}}));
  return out;
}

Values cell_step(Call& c, Cell cell) {
  Values s = cell == Cell::lstm ? c.tensors("hx") : Values{c.tensor("hx")};
  s.resize(2);
  const Weights w{c.tensor("w_ih"), c.tensor("w_hh"), c.maybe_tensor("b_ih"),
                  c.maybe_tensor("b_hh"), V()};
  const State next =
      step(c, cell, linear(c, c.tensor("input"), w.input, w.input_bias), {s[0], s[1]}, w);
  return cell == Cell::lstm ? Values{next.h, next.c} : Values{next.h};
}

}  // namespace

std::span<const RuleRow> recurrent_rules() {
  static constexpr RuleRow rows[] = {
      {"lstm", [](Call& c) { return recurrent(c, Cell::lstm); }},
      {"gru", [](Call& c) { return recurrent(c, Cell::gru); }},
      {"rnn_tanh", [](Call& c) { return recurrent(c, Cell::tanh); }},
      {"rnn_relu", [](Call& c) { return recurrent(c, Cell::relu); }},
      {"lstm_cell", [](Call& c) { return cell_step(c, Cell::lstm); }},
      {"gru_cell", [](Call& c) { return cell_step(c, Cell::gru); }},
      {"rnn_tanh_cell", [](Call& c) { return cell_step(c, Cell::tanh); }},
      {"rnn_relu_cell", [](Call& c) { return cell_step(c, Cell::relu); }},
  };
  return rows;
}

}  // namespace cleave::exported
