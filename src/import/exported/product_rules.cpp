// Matrix products.
#include <algorithm>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

Dim product(const Shape& s, size_t begin, size_t end) {
  Dim p = 1;
  for (size_t k = begin; k < end; ++k) p = p * s[k];
  return p;
}

ValueId flat_rows(Call& c, ValueId x) {
  const Shape s = c.type(x).shape;
  if (s.empty()) return c.fail("a product of a tensor of rank 0");
  return c.view(x, {product(s, 0, s.size() - 1), s.back()});
}

ValueId with_rows_of(Call& c, ValueId y, ValueId x, const Dim& columns) {
  Shape s = c.type(x).shape;
  if (!s.empty()) s.back() = columns;
  return c.view(y, s);
}

// [batch..., rows, inner] x [batch..., inner, columns], batch dims broadcast.
ValueId batched(Call& c, ValueId a, ValueId b) {
  const Shape sa = c.type(a).shape, sb = c.type(b).shape;
  if (sa.size() < 2 || sb.size() < 2)
    return c.fail("matmul of ranks {} and {}", sa.size(), sb.size());
  const size_t rank = std::max(sa.size(), sb.size()) - 2;
  Shape batch(rank, Dim(1));
  for (const Shape* s : {&sa, &sb})
    for (size_t k = 0; k + 2 < s->size(); ++k) {
      Dim& d = batch[rank - (s->size() - 2) + k];
      if (d == Dim(1)) d = (*s)[k];
    }
  const auto as_batch = [&](ValueId x, const Shape& s) {
    Shape full = batch;
    full.insert(full.end(), s.end() - 2, s.end());
    if (!(full == s)) x = c.op("expand", {x}, {{"size", full}});
    return c.view(x, {product(batch, 0, rank), s[s.size() - 2], s.back()});
  };
  // One matrix for the whole batch: its rows are those of one product.
  if (product(sb, 0, sb.size() - 2) == Dim(1) && sa.size() >= sb.size()) {
    const ValueId y = c.op("mm", {flat_rows(c, a), c.view(b, {sb[sb.size() - 2], sb.back()})});
    return with_rows_of(c, y, a, sb.back());
  }
  const ValueId y = c.op("bmm", {as_batch(a, sa), as_batch(b, sb)});
  Shape size = batch;
  size.insert(size.end(), {sa[sa.size() - 2], sb.back()});
  return c.view(y, size);
}

ValueId unsqueeze(Call& c, ValueId x, int64_t dim) {
  return c.op("unsqueeze", {x}, {{"dim", dim}});
}
ValueId squeeze(Call& c, ValueId x, int64_t dim) {
  return c.op("squeeze", {x}, {{"dim", std::vector<int64_t>{dim}}});
}

ValueId outer(Call& c) {
  const ValueId a = c.tensor("self"), b = c.tensor(c.find("vec2") ? "vec2" : "other");
  return c.op("mul", {unsqueeze(c, a, 1), b});
}

// beta self + alpha (x y); with beta 0 self is not read, NaN or not.
ValueId added(Call& c, ValueId xy) {
  ValueId self = c.tensor("self");
  if (c.has("beta") && c.floating("beta", 1) == 0)
    return c.op("mul", {xy, CallOperand(c.value("alpha", 1))});
  if (c.has("beta")) self = c.op("mul", {self, CallOperand(c.value("beta"))});
  return c.op("add", {self, xy}, {{"alpha", c.value("alpha", 1)}});
}

// Three factors, each with new dims of size 1 where it has none, multiplied and summed.
Values trilinear(Call& c) {
  ValueId y;
  for (int k = 1; k <= 3; ++k) {
    ValueId x = c.tensor(fmt::format("i{}", k));
    for (const int64_t dim : c.integers(fmt::format("expand{}", k))) x = unsqueeze(c, x, dim);
    y = k == 1 ? x : c.op("mul", {y, x});
  }
  const std::vector<int64_t> dims = c.integers("sumdim");
  return {dims.empty() ? y : c.op("sum", {y}, {{"dim", dims}})};
}

// y_o = x1 W_o x2
Values bilinear(Call& c) {
  const ValueId x1 = flat_rows(c, c.tensor("input1")), x2 = flat_rows(c, c.tensor("input2"));
  const ValueId w = c.tensor("weight"), bias = c.maybe_tensor("bias");
  const ValueId t = matmul(c, unsqueeze(c, x1, 0), w);
  ValueId y = c.op("sum", {c.op("mul", {t, x2})}, {{"dim", std::vector<int64_t>{2}}});
  y = c.permute(y, {1, 0});
  if (bias.valid()) y = c.op("add", {y, bias});
  return {with_rows_of(c, y, c.tensor("input1"), c.size(w, 0))};
}

}  // namespace

ValueId matmul(Call& c, ValueId a, ValueId b) {
  const int64_t ra = c.rank(a), rb = c.rank(b);
  if (!c.ok() || ra == 0 || rb == 0) return c.fail("matmul of ranks {} and {}", ra, rb);
  if (rb == 1) return squeeze(c, matmul(c, a, unsqueeze(c, b, 1)), -1);
  if (ra == 1) return squeeze(c, matmul(c, unsqueeze(c, a, 0), b), -2);
  if (ra == 2 && rb == 2) return c.op("mm", {a, b});
  if (rb == 2) return with_rows_of(c, c.op("mm", {flat_rows(c, a), b}), a, c.size(b, 1));
  return batched(c, a, b);
}

ValueId linear(Call& c, ValueId input, ValueId weight, ValueId bias) {
  if (c.rank(weight) == 1) {
    const ValueId y = matmul(c, input, weight);
    return bias.valid() ? c.op("add", {y, bias}) : y;
  }
  const ValueId columns = c.permute(weight, {1, 0});
  const bool flat = c.rank(input) == 2;
  const ValueId rows = flat ? input : flat_rows(c, input);
  const ValueId y =
      bias.valid() ? c.op("addmm", {bias, rows, columns}) : c.op("mm", {rows, columns});
  return flat ? y : with_rows_of(c, y, input, c.size(weight, 0));
}

std::span<const RuleRow> product_rules() {
  static constexpr RuleRow rows[] = {
      {"linear",
       [](Call& c) -> Values {
         return {linear(c, c.tensor("input"), c.tensor("weight"), c.maybe_tensor("bias"))};
       }},
      {"matmul",
       [](Call& c) -> Values { return {matmul(c, c.tensor("self"), c.tensor("other"))}; }},
      {"mv", [](Call& c) -> Values { return {matmul(c, c.tensor("self"), c.tensor("vec"))}; }},
      {"dot", [](Call& c) -> Values { return {matmul(c, c.tensor("self"), c.tensor("tensor"))}; }},
      {"vdot", [](Call& c) -> Values { return {matmul(c, c.tensor("self"), c.tensor("other"))}; }},
      {"inner",
       [](Call& c) -> Values {
         const ValueId a = c.tensor("self"), b = c.tensor("other");
         if (c.rank(a) == 0 || c.rank(b) == 0) return {c.op("mul", {a, b})};
         const Shape sa = c.type(a).shape, sb = c.type(b).shape;
         Shape size(sa.begin(), sa.end() - 1);
         size.insert(size.end(), sb.begin(), sb.end() - 1);
         return {c.view(matmul(c, flat_rows(c, a), c.permute(flat_rows(c, b), {1, 0})), size)};
       }},
      {"outer", [](Call& c) -> Values { return {outer(c)}; }},
      {"ger", [](Call& c) -> Values { return {outer(c)}; }},
      {"addmv",
       [](Call& c) -> Values { return {added(c, matmul(c, c.tensor("mat"), c.tensor("vec")))}; }},
      {"addr",
       [](Call& c) -> Values {
         const ValueId a = unsqueeze(c, c.tensor("vec1"), 1);
         return {added(c, c.op("mul", {a, c.tensor("vec2")}))};
       }},
      {"addbmm",
       [](Call& c) -> Values {
         const ValueId y = c.op("bmm", {c.tensor("batch1"), c.tensor("batch2")});
         return {added(c, c.op("sum", {y}, {{"dim", std::vector<int64_t>{0}}}))};
       }},
      {"bilinear", in_f32<bilinear>},
      {"_trilinear", in_f32<trilinear>},
  };
  return rows;
}

}  // namespace cleave::exported
