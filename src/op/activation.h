// The formulas of activations and their slopes that more than one file needs.
//
//   gelu  "none"   x * Phi(x),  Phi(x) = (1 + erf(x / sqrt 2)) / 2
//         "tanh"   x / 2 * (1 + tanh(u)),  u = sqrt(2/pi) * (x + 0.044715 x^3)
//                  = x * sigmoid(2u), where nothing cancels for x far below 0
//   silu           x * s,  s = sigmoid(x)
#pragma once
#include <numbers>

#include "op/entry.h"
#include "op/pointwise.h"
#include "op/wide_grad.h"

namespace cleave {

constexpr double inv_sqrt2 = std::numbers::sqrt2 / 2;
constexpr double sqrt_2_over_pi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double gelu_cubic = 0.044715;

inline bool gelu_by_tanh(const OpView& op) { return op.str_attr("approximate") == "tanh"; }
// "{rule}: approximate is "x", expected "none" or "tanh""
Status check_approximate(const OpView& op, std::string_view rule);

// Sums and products with constants converted to the dtype of x.
loop::Expr times(const loop::Expr& x, double factor);
loop::Expr plus(const loop::Expr& x, double term);

}  // namespace cleave
