// Gradients of a graph against central differences of the reference, in float64.
//
//   s(x) = sum over results r and elements k of w_r[k] * y_r[k](x),   w given
//   ds/dx_i = (8 (s(x+h) - s(x-h)) - (s(x+2h) - s(x-2h))) / 12h
//
// The error of the difference is h^4 |s^(5)| / 30 + 1e-16 |s| / h, about 1e-11 for h = 2^-13. A
// graph can't be compared where an operand or result is infinite, NaN or beyond 1e4.
#pragma once
#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"

namespace cleave {

constexpr double difference_step = 0x1p-13;

// A graph whose results are differentiated: its varied inputs, and the weights of its results.
struct WeightedGraph {
  Graph g;
  Arrays inputs;                 // by placeholder
  std::vector<size_t> varied;    // placeholders
  std::vector<ValueId> results;  // floating values that are summed with weights
  Arrays weights;                // by result
};

// Central differences by each element of each varied input.
Result<Arrays> differences(const WeightedGraph& p, double h);

// Appends the gradient of the weighted sum; weights become placeholders, named after `name`. None
// where nothing reaches an input.
Result<Values> append_gradient(WeightedGraph& p, const OpRegistry& ops, const std::string& name);
// What append_gradient gave at the inputs, as f64; zeros where nothing reaches an input.
Result<Arrays> gradients_at(const WeightedGraph& p, const Values& grads);

// The results that are differentiated, at the inputs.
Result<Arrays> values_of(const WeightedGraph& p);
bool all_moderate(const Arrays& arrays);

}  // namespace cleave
