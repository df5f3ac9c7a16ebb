// Products of tensors over chosen dims, powers and norms of matrices.
#include <algorithm>
#include <cmath>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

constexpr int64_t most_squarings = 62;

V self_of(Call& c) { return c.tensor(c.find("A") ? "A" : "self"); }

// [.. a ..] and [.. b ..] to [.. a b ..], those of lower rank with dims of size 1 first.
Values kron(Call& c) {
  V a = self_of(c), b = c.tensor("other");
  const auto rank = static_cast<size_t>(std::max(c.rank(a), c.rank(b)));
  Shape result;
  const auto spread = [&](V x, bool first) {
    Shape s = c.type(x).shape, apart;
    s.insert(s.begin(), rank - s.size(), Dim(1));
    for (size_t k = 0; k < rank; ++k) {
      apart.push_back(first ? s[k] : Dim(1));
      apart.push_back(first ? Dim(1) : s[k]);
      if (first) result.push_back(s[k]);
      if (!first) result[k] = result[k] * s[k];
    }
    return c.view(x, apart);
  };
  a = spread(a, true);
  b = spread(b, false);
  return {c.view(c.op("mul", {a, b}), result)};
}

// Products over dims_self of a and dims_other of b: of one matrix with another.
Values tensordot(Call& c) {
  V a = self_of(c), b = c.tensor("other");
  Dims over_a = c.integers("dims_self"), over_b = c.integers("dims_other");
  if (over_a.size() != over_b.size()) return {c.fail("tensordot of other numbers of dims")};
  for (int64_t& d : over_a) d = c.wrapped(d, c.rank(a));
  for (int64_t& d : over_b) d = c.wrapped(d, c.rank(b));
  Shape result;
  Dim rows = 1, inner = 1, columns = 1;
  Dims order_a, order_b = over_b;
  for (int64_t d = 0; d < c.rank(a); ++d) {
    if (std::ranges::find(over_a, d) != over_a.end()) continue;
    order_a.push_back(d);
    result.push_back(c.size(a, d));
    rows = rows * c.size(a, d);
  }
  for (size_t k = 0; c.ok() && k < over_a.size(); ++k) {
    order_a.push_back(over_a[k]);
    inner = inner * c.size(a, over_a[k]);
    if (!(c.size(a, over_a[k]) == c.size(b, over_b[k])))
      return {c.fail("tensordot over dims of size 1 and others")};
  }
  for (int64_t d = 0; d < c.rank(b); ++d) {
    if (std::ranges::find(over_b, d) != over_b.end()) continue;
    order_b.push_back(d);
    result.push_back(c.size(b, d));
    columns = columns * c.size(b, d);
  }
  a = c.view(c.permute(a, order_a), {rows, inner});
  b = c.view(c.permute(b, order_b), {inner, columns});
  return {c.view(c.op("mm", {a, b}), result)};
}

// [.., n, n] to the power k by squaring; below 0 of the inverse.
Values matrix_power(Call& c) {
  V x = self_of(c);
  int64_t k = c.integer("n", 1);
  if (k < 0) {  // above the least integer, which stands for an unknown one
    x = inverse_of(c, x);
    k = -k;
  }
  if (k == 0) {
    const Dim n = c.size(x, -1);
    const V i = c.op("arange", {}, {{"end", n}});
    const V same = c.op("eq", {c.op("unsqueeze", {i}, {{"dim", 1}}), i});
    return {c.op("expand", {c.to(same, c.type(x).dtype)}, {{"size", c.type(x).shape}})};
  }
  V y, square = x;
  for (int64_t step = 0; c.ok() && k > 0 && step < most_squarings; ++step, k /= 2) {
    if (k % 2 == 1) y = y.valid() ? matmul(c, y, square) : square;
    if (k > 1) square = matmul(c, square, square);
  }
  return {y == x ? c.op("clone", {x}) : y};
}

// "fro", and the largest or smallest sum of a row or column.
Values matrix_norm(Call& c) {
  V x = self_of(c);
  if (const auto t = c.dtype("dtype")) x = c.to(x, *t);
  Dims dims = c.integers("dim", {-2, -1});
  const bool keepdim = c.flag("keepdim", false);
  if (dims.size() != 2) return {c.fail("a norm of matrices over {} dims", dims.size())};
  const AttrValue ord = c.value("ord", AttrValue(std::string("fro")));
  if (const auto* name = ord.get<std::string>()) {
    if (*name != "fro") return {c.fail("the norm {}", *name)};
    return {c.op("linalg_vector_norm", {x}, {{"ord", 2.0}, {"dim", dims}, {"keepdim", keepdim}})};
  }
  const double p = ord.is_number() ? ord.as_double() : 2;
  if (std::abs(p) != 1 && !std::isinf(p)) return {c.fail("the norm {} of matrices", p)};
  const int64_t rank = c.rank(x);
  int64_t within = c.wrapped(dims[0], rank), among = c.wrapped(dims[1], rank);
  if (std::isinf(p)) std::swap(within, among);
  const V sums = c.op("sum", {c.op("abs", {x})}, {{"dim", Dims{within}}, {"keepdim", true}});
  V y = c.op(p > 0 ? "amax" : "amin", {sums}, {{"dim", Dims{among}}, {"keepdim", true}});
  if (!keepdim) y = c.op("squeeze", {y}, {{"dim", Dims{within, among}}});
  return {y};
}

// a x b along one dim of three.
Values cross(Call& c) {
  V a = c.tensor(c.find("input") ? "input" : "self"), b = c.tensor("other");
  int64_t dim = c.integer("dim", -1);
  if (!c.has("dim") && c.node().target.find("linalg") == std::string::npos) {
    for (dim = 0; dim + 1 < c.rank(a) && !(c.size(a, dim) == Dim(3));) ++dim;
  }
  dim = c.wrapped(dim, c.rank(a)) - c.rank(a);
  const auto part = [&](V x, int64_t k) {
    return c.op("slice", {x}, {{"dim", dim}, {"start", k}, {"end", k + 1}});
  };
  const auto term = [&](int64_t i, int64_t j) {
    return c.op("sub",
                {c.op("mul", {part(a, i), part(b, j)}), c.op("mul", {part(a, j), part(b, i)})});
  };
  return {c.op("cat", {CallOperand(Values{term(1, 2), term(2, 0), term(0, 1)})}, {{"dim", dim}})};
}

Values vecdot(Call& c) {
  const V product = c.op("mul", {c.tensor("x"), c.tensor("y")});
  return {c.op("sum", {product}, {{"dim", Dims{c.integer("dim", -1)}}})};
}

Values chain(Call& c) {
  const Values xs = c.tensors(c.find("matrices") ? "matrices" : "tensors");
  if (xs.empty()) return {c.fail("a product of no matrices")};
  V y = xs[0];
  for (size_t k = 1; k < xs.size(); ++k) y = matmul(c, y, xs[k]);
  return {y};
}

}  // namespace

std::span<const RuleRow> tensor_product_rules() {
  static constexpr RuleRow rows[] = {
      {"kron", kron},
      {"tensordot", tensordot},
      {"matrix_power", matrix_power},
      {"linalg_matrix_power", matrix_power},
      {"linalg_matrix_norm", in_f32<matrix_norm>},
      {"cross", in_f32<cross>},
      {"linalg_cross", in_f32<cross>},
      {"linalg_vecdot", in_f32<vecdot>},
      {"linalg_multi_dot", chain},
      {"chain_matmul", chain},
  };
  return rows;
}

}  // namespace cleave::exported
