// Weights as a length and a direction: w = v g / |v|, the norm over all dims but one.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

// All dims but `dim`; with dim -1 of the composite operator, which is then the norm of all: none.
Dims others(Call& c, V v, int64_t dim) {
  Dims out;
  for (int64_t d = 0; d < c.rank(v); ++d)
    if (d != dim) out.push_back(d);
  return out;
}

V norms_of(Call& c, V v, int64_t dim) {
  return c.op("linalg_vector_norm", {v},
              {{"ord", 2.0}, {"dim", others(c, v, dim)}, {"keepdim", true}});
}

V scaled(Call& c, V v, V g, V norms) { return c.op("mul", {v, c.op("div", {g, norms})}); }

Values weight_norm(Call& c) {
  const V v = c.tensor("v");
  const int64_t dim = c.integer("dim", 0);
  return {scaled(c, v, c.tensor("g"), norms_of(c, v, dim))};
}

Values weight_norm_interface(Call& c) {
  const V v = c.tensor("v");
  const V norms = norms_of(c, v, c.wrapped(c.integer("dim", 0), c.rank(v)));
  return {scaled(c, v, c.tensor("g"), norms), norms};
}

Values backward(Call& c) {
  const V w = c.tensor("grad_w"), v = c.tensor("saved_v"), g = c.tensor("saved_g"),
          norms = c.tensor("saved_norms");
  const int64_t dim = c.wrapped(c.integer("dim", 0), c.rank(v));
  const V along =
      c.op("sum", {c.op("mul", {w, v})}, {{"dim", others(c, v, dim)}, {"keepdim", true}});
  const V share = c.op("div", {along, c.op("mul", {norms, norms})});
  const V rest = c.op("sub", {w, c.op("mul", {v, share})});
  return {c.op("mul", {c.op("div", {g, norms}), rest}), c.op("div", {along, norms})};
}

}  // namespace

std::span<const RuleRow> weight_norm_rules() {
  static constexpr RuleRow rows[] = {
      {"_weight_norm", in_f32<weight_norm>},
      {"_weight_norm_interface", in_f32<weight_norm_interface>},
      {"_weight_norm_interface_backward", in_f32<backward>},
  };
  return rows;
}

}  // namespace cleave::exported
