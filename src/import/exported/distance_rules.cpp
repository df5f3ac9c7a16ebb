// Distances and similarities of vectors.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

V norm(Call& c, V x, double p, int64_t dim, bool keepdim = false) {
  return c.op("linalg_vector_norm", {x}, {{"ord", p}, {"dim", Dims{dim}}, {"keepdim", keepdim}});
}

Values cdist(Call& c) {
  return {c.op("_cdist_forward", {c.tensor("x1"), c.tensor("x2")}, {{"p", c.floating("p", 2)}})};
}

Values pdist(Call& c) {
  return {c.op("_pdist_forward", {c.tensor("self")}, {{"p", c.floating("p", 2)}})};
}

Values pairwise_distance(Call& c) {
  const V apart =
      c.op("add", {c.op("sub", {c.tensor("x1"), c.tensor("x2")}), c.floating("eps", 1e-6)});
  return {norm(c, apart, c.floating("p", 2), -1, c.flag("keepdim", false))};
}

// sum(a b) / (max(|a|, eps) max(|b|, eps)); a length below eps has no gradient.
Values cosine_similarity(Call& c) {
  V a = c.tensor("x1"), b = c.tensor("x2");
  const int64_t dim = c.integer("dim", 1);
  // dims are counted when both have the same
  const Shape shape = c.type(c.op("add", {a, b})).shape;
  for (V* x : {&a, &b})
    if (!(c.type(*x).shape == shape)) *x = c.op("expand", {*x}, {{"size", shape}});
  const double eps = c.floating("eps", 1e-8);
  const auto unit = [&](V x) {
    V length = norm(c, x, 2, dim, true);
    length = c.op("where", {c.op("lt", {length, eps}), eps, length});
    return c.op("div", {x, length});
  };
  return {c.op("sum", {c.op("mul", {unit(a), unit(b)})}, {{"dim", Dims{dim}}})};
}

Values dist(Call& c) {
  const V apart = c.op("sub", {c.tensor("self"), c.tensor("other")});
  return {c.op("linalg_vector_norm", {apart}, {{"ord", c.floating("p", 2)}})};
}

}  // namespace

std::span<const RuleRow> distance_rules() {
  static constexpr RuleRow rows[] = {
      {"cdist", cdist},
      {"pdist", pdist},
      {"pairwise_distance", in_f32<pairwise_distance>},
      {"cosine_similarity", in_f32<cosine_similarity>},
      {"dist", in_f32<dist>},
  };
  return rows;
}

}  // namespace cleave::exported
