// The logarithm of the gamma function, its slope, and the inverse of erf: in f64, rounded once.
#include <cmath>
#include <numbers>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

// log(|gamma(x)|): Stirling's series of x + 8, less the logarithm of x (x + 1) .. (x + 7); below
// 1/2 by reflection. In f64, as digits cancel near 1 and 2.
V log_gamma_above(Call& c, V x) {
  V product = x;
  for (int k = 1; k < 8; ++k)
    product = c.op("mul", {product, c.op("add", {x, static_cast<double>(k)})});
  const V z = c.op("add", {x, 8.0}), inverse = c.op("reciprocal", {z});
  const V square = c.op("mul", {inverse, inverse});
  static constexpr double terms[] = {1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                                     1.0 / 1260, -1.0 / 360,      1.0 / 12};
  V series = c.op("mul", {square, terms[0]});
  for (size_t k = 1; k + 1 < std::size(terms); ++k)
    series = c.op("mul", {c.op("add", {series, terms[k]}), square});
  series = c.op("mul", {c.op("add", {series, terms[std::size(terms) - 1]}), inverse});
  const V main = c.op("sub", {c.op("mul", {c.op("sub", {z, 0.5}), c.op("log", {z})}), z});
  const V sum = c.op("add", {c.op("add", {main, 0.5 * std::log(2 * M_PI)}), series});
  return c.op("sub", {sum, c.op("log", {product})});
}

Values log_gamma(Call& c) {
  const V given = floating_self(c), x = c.to(given, DType::f64);
  const V reflects = c.op("lt", {x, 0.5});
  const V y = log_gamma_above(c, c.op("where", {reflects, c.op("rsub", {x, 1.0}), x}));
  // of a whole number below 1 the sine is 0, and the result inf
  const V whole = c.op("logical_and", {reflects, c.op("eq", {x, c.op("floor", {x})})});
  const V fraction = c.op("sub", {x, c.op("floor", {x})});
  const V safe = c.op("where", {c.op("eq", {fraction, 0.0}), 0.5, fraction});
  const V sine = c.op("sin", {c.op("mul", {safe, M_PI})});
  const V other = c.op("rsub", {c.op("add", {c.op("log", {sine}), y}), std::log(M_PI)});
  V all = c.op("where", {reflects, other, y});
  all = c.op("where", {c.op("logical_or", {whole, c.op("isinf", {x})}), INFINITY, all});
  return {c.to(all, c.type(given).dtype)};
}

// The slope of log_gamma, at z = x + 8: log(z) - 1/2z - sum B[2k] / 2k z^2k - sum 1 / (x + k).
Values digamma(Call& c) {
  const V given = floating_self(c), x = c.to(given, DType::f64);
  const V reflects = c.op("lt", {x, 0.5});
  const V from = c.op("where", {reflects, c.op("rsub", {x, 1.0}), x});
  const V z = c.op("add", {from, 8.0}), inverse = c.op("reciprocal", {z});
  const V square = c.op("mul", {inverse, inverse});
  static constexpr double terms[] = {-1.0 / 12,  691.0 / 32760, -1.0 / 132, 1.0 / 240,
                                     -1.0 / 252, 1.0 / 120,     -1.0 / 12};
  V series = c.op("mul", {square, terms[0]});
  for (size_t k = 1; k < std::size(terms); ++k)
    series = c.op("mul", {c.op("add", {series, terms[k]}), square});
  V y = c.op("add", {c.op("sub", {c.op("log", {z}), c.op("mul", {inverse, 0.5})}), series});
  for (int k = 0; k < 8; ++k)
    y = c.op("sub", {y, c.op("reciprocal", {c.op("add", {from, static_cast<double>(k)})})});
  const V fraction = c.op("sub", {x, c.op("floor", {x})});
  const V at_pole = c.op("eq", {fraction, 0.0});
  const V safe = c.op("where", {at_pole, 0.5, fraction});
  const V turned = c.op("div", {M_PI, c.op("tan", {c.op("mul", {safe, M_PI})})});
  V all = c.op("where", {reflects, c.op("sub", {y, turned}), y});
  all = c.op("where", {c.op("logical_and", {at_pole, c.op("lt", {x, 0.0})}), NAN, all});
  // of either zero the infinity against its sign
  const V zero = c.op("neg", {c.op("reciprocal", {c.op("where", {at_pole, x, 1.0})})});
  all = c.op("where", {c.op("eq", {x, 0.0}), c.op("detach", {zero}), all});
  return {c.to(all, c.type(given).dtype)};
}

// The x of erf(x) = y: a first guess, then steps of Halley's rule, in f64; of one of them alone the
// gradient, by the slope of erf.
Values inverse_erf(Call& c) {
  const V given = floating_self(c), y = c.to(given, DType::f64), fixed = c.op("detach", {y});
  constexpr double a = 0.147;
  const V is_inside = c.op("lt", {c.op("abs", {fixed}), 1.0});
  const V inner = c.op("where", {is_inside, fixed, 0.0});
  const V log = c.op("log1p", {c.op("neg", {c.op("mul", {inner, inner})})});
  const V half = c.op("add", {c.op("mul", {log, 0.5}), 2 / (M_PI * a)});
  const V root = c.op("sqrt", {c.op("sub", {c.op("mul", {half, half}), c.op("div", {log, a})})});
  V x = c.op("mul", {c.op("sqrt", {c.op("sub", {root, half})}), c.op("sign", {inner})});
  const auto slope = [&](V at) {
    return c.op(
        "mul", {c.op("exp", {c.op("neg", {c.op("mul", {at, at})})}), 2 * std::numbers::inv_sqrtpi});
  };
  for (int step = 0; step < 3; ++step) {
    const V u = c.op("div", {c.op("sub", {c.op("erf", {x}), inner}), slope(x)});
    x = c.op("sub", {x, c.op("div", {u, c.op("add", {c.op("mul", {x, u}), 1.0})})});
  }
  x = c.op("detach", {x});
  const V moved = c.op("div", {c.op("sub", {y, fixed}), slope(x)});
  const V is_edge = c.op("eq", {c.op("abs", {fixed}), 1.0});
  const V pole = c.op("div", {y, c.op("where", {is_edge, 0.0, c.op("ones_like", {y})})});
  const V outside = c.op("where", {is_edge, pole, NAN});
  const V all = c.op("where", {is_inside, c.op("add", {x, moved}), outside});
  return {c.to(all, c.type(given).dtype)};
}

}  // namespace

std::span<const RuleRow> gamma_rules() {
  static constexpr RuleRow rows[] = {
      {"lgamma", log_gamma},           {"digamma", digamma},           {"special_digamma", digamma},
      {"special_psi", digamma},        {"special_gammaln", log_gamma}, {"erfinv", inverse_erf},
      {"special_erfinv", inverse_erf},
  };
  return rows;
}

}  // namespace cleave::exported
