// Distances and similarities of vectors.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

// Pairs of rows are held apart until they are summed: [n] makes n (n - 1) / 2.
constexpr int64_t most_rows = 1 << 12;

V norm(Call& c, V x, double p, int64_t dim, bool keepdim = false) {
  return c.op("linalg_vector_norm", {x}, {{"ord", p}, {"dim", Dims{dim}}, {"keepdim", keepdim}});
}

V unsqueeze(Call& c, V x, int64_t dim) { return c.op("unsqueeze", {x}, {{"dim", dim}}); }

// x1 [..., n, d], x2 [..., m, d] to [..., n, m].
Values cdist(Call& c) {
  const V a = unsqueeze(c, c.tensor("x1"), -2), b = unsqueeze(c, c.tensor("x2"), -3);
  return {norm(c, c.op("sub", {a, b}), c.floating("p", 2), -1)};
}

// The rows of [n, d] two by two, the first before the second: [n (n - 1) / 2].
Values pdist(Call& c) {
  const V x = c.tensor("self");
  const int64_t n = c.static_size(x, 0);
  if (c.rank(x) != 2 || n > most_rows) return {c.fail("pdist of {} rows", n)};
  Values apart;
  for (int64_t k = 0; c.ok() && k + 1 < n; ++k) {
    const V row = c.op("slice", {x}, {{"dim", 0}, {"start", k}, {"end", k + 1}});
    const V rest = c.op("slice", {x}, {{"dim", 0}, {"start", k + 1}, {"end", n}});
    apart.push_back(c.op("sub", {row, rest}));
  }
  if (apart.empty())
    return {c.op("full", {},
                 {{"size", Shape{Dim(0)}}, {"fill_value", 0.0}, {"dtype", c.type(x).dtype}})};
  return {norm(c, c.op("cat", {CallOperand(apart)}, {{"dim", 0}}), c.floating("p", 2), 1)};
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
      {"cdist", in_f32<cdist>},
      {"_cdist_forward", in_f32<cdist>},
      {"pdist", in_f32<pdist>},
      {"_pdist_forward", in_f32<pdist>},
      {"pairwise_distance", in_f32<pairwise_distance>},
      {"cosine_similarity", in_f32<cosine_similarity>},
      {"dist", in_f32<dist>},
  };
  return rows;
}

}  // namespace cleave::exported
