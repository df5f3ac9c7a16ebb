#include "exec/finite_difference.h"

#include <cmath>

#include "grad/grad.h"
#include "interp/interpret.h"

namespace cleave {
namespace {

constexpr double largest = 1e4;

Result<double> weighted_sum(const WeightedGraph& p, const Graph& g, const Arrays& inputs) {
  std::vector<const Array*> in;
  for (const Array& a : inputs) in.push_back(&a);
  CLEAVE_TRY(Arrays out, interpret(g, in));
  double sum = 0;
  for (size_t r = 0; r < p.weights.size(); ++r)
    for (int64_t k = 0; k < out[r].numel(); ++k) sum += p.weights[r].f[k] * out[r].f[k];
  return sum;
}

}  // namespace

Result<Arrays> differences(const WeightedGraph& p, double h) {
  Graph g = p.g;
  g.set_returns({});
  for (ValueId v : p.results) g.add_return({v, ReturnKind::result, {}});
  Arrays inputs = p.inputs, out;
  for (size_t i : p.varied) {
    Array d(DType::f64, inputs[i].shape);
    for (int64_t k = 0; k < d.numel(); ++k) {
      const double x = inputs[i].f[k];
      double s[4];
      const double at[4] = {x + h, x - h, x + 2 * h, x - 2 * h};
      for (int j = 0; j < 4; ++j) {
        inputs[i].f[k] = at[j];
        CLEAVE_TRY(s[j], weighted_sum(p, g, inputs));
      }
      inputs[i].f[k] = x;
      d.f[k] = (8 * (s[0] - s[1]) - (s[2] - s[3])) / (12 * h);
    }
    out.push_back(std::move(d));
  }
  return out;
}

Result<Values> append_gradient(WeightedGraph& p, const OpRegistry& ops, const std::string& name) {
  GradRequest request;
  for (size_t r = 0; r < p.results.size(); ++r) {
    CLEAVE_TRY(ValueId w, p.g.add_placeholder(Role::tangent, fmt::format("{}.{}", name, r),
                                              p.g.type(p.results[r])));
    p.inputs.push_back(p.weights[r]);
    request.outputs.push_back(p.results[r]);
    request.cotangents.push_back(w);
  }
  for (size_t i : p.varied) request.wrt.push_back(p.g.placeholders()[i].value);
  return add_gradients(p.g, ops, request);
}

bool all_moderate(const Arrays& arrays) {
  for (const Array& a : arrays)
    for (double x : a.f)
      if (!(std::fabs(x) <= largest)) return false;
  return true;
}

Result<Arrays> values_of(const WeightedGraph& p) {
  Graph g = p.g;
  g.set_returns({});
  for (ValueId v : p.results) g.add_return({v, ReturnKind::result, {}});
  std::vector<const Array*> in;
  for (const Array& a : p.inputs) in.push_back(&a);
  return interpret(g, in);
}

Result<Arrays> gradients_at(const WeightedGraph& p, const Values& grads) {
  Graph g = p.g;
  g.set_returns({});
  for (ValueId v : grads)
    if (v.valid()) g.add_return({v, ReturnKind::result, {}});
  std::vector<const Array*> in;
  for (const Array& a : p.inputs) in.push_back(&a);
  CLEAVE_TRY(Arrays got, interpret(g, in));
  Arrays out;
  size_t next = 0;
  for (size_t k = 0; k < grads.size(); ++k) {
    out.emplace_back(DType::f64, p.inputs[p.varied[k]].shape);
    if (!grads[k].valid()) continue;
    out.back().shape = got[next].shape;
    out.back().f = std::move(got[next++].f);
  }
  return out;
}

}  // namespace cleave
