// Diagonals of matrices, blocks on them, quarter turns.
#include <algorithm>
#include <cmath>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

V self_of(Call& c) { return c.tensor(c.find("A") ? "A" : "self"); }

V zeros(Call& c, const Shape& size, DType t) {
  return c.op("full", {}, {{"size", size}, {"fill_value", 0}, {"dtype", t}});
}

V diagonal(Call& c, V x, int64_t offset, int64_t dim1, int64_t dim2) {
  return c.op("diagonal", {x}, {{"offset", offset}, {"dim1", dim1}, {"dim2", dim2}});
}

// The last dim of x on a diagonal of two new dims.
V embedded(Call& c, V x, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = c.rank(x) + 1;
  dim1 = c.wrapped(dim1, rank);
  dim2 = c.wrapped(dim2, rank);
  if (!c.ok() || rank < 2 || dim1 == dim2)
    return c.fail("a diagonal along dims {} and {} of rank {}", dim1, dim2, rank);
  Shape size = c.type(x).shape;
  const Dim n = size.back() + Dim(std::abs(offset));
  size.pop_back();
  for (const int64_t dim : {std::min(dim1, dim2), std::max(dim1, dim2)})
    size.insert(size.begin() + dim, n);
  return c.op("diagonal_scatter", {zeros(c, size, c.type(x).dtype), x},
              {{"offset", offset}, {"dim1", dim1}, {"dim2", dim2}});
}

Values diag(Call& c) {
  const V x = self_of(c);
  const int64_t offset = c.integer("diagonal", 0);
  if (c.rank(x) == 1) return {embedded(c, x, offset, 0, 1)};
  return {c.op("clone", {diagonal(c, x, offset, 0, 1)})};
}

Values trace(Call& c) { return {c.op("sum", {diagonal(c, self_of(c), 0, 0, 1)})}; }

Values block_diagonal(Call& c) {
  Values blocks;
  Dim rows = 0, columns = 0;
  Dims heights, widths;
  for (V x : c.tensors("tensors")) {
    if (c.rank(x) < 2) x = c.view(x, {Dim(1), c.type(x).numel()});
    heights.push_back(c.static_size(x, 0));
    widths.push_back(c.static_size(x, 1));
    rows = rows + Dim(heights.back());
    columns = columns + Dim(widths.back());
    blocks.push_back(x);
  }
  Values bands;
  int64_t left = 0;
  for (size_t k = 0; c.ok() && k < blocks.size(); ++k) {
    const int64_t right = columns.value() - left - widths[k];
    bands.push_back(c.op("constant_pad_nd", {blocks[k]}, {{"pad", Dims{left, right}}}));
    left += widths[k];
  }
  if (bands.empty()) return {c.fail("no blocks")};
  return {c.op("cat", {CallOperand(bands)}, {{"dim", 0}})};
}

// Quarter turns from the first of two dims to the second.
Values rot90(Call& c) {
  const V x = self_of(c);
  const Dims dims = c.integers("dims", {0, 1});
  if (dims.size() != 2) return {c.fail("rot90 of {} dims", dims.size())};
  const auto flip = [&](V y, Dims over) { return c.op("flip", {y}, {{"dims", over}}); };
  const auto turn = [&](V y) {
    return c.op("transpose", {y}, {{"dim0", dims[0]}, {"dim1", dims[1]}});
  };
  switch (((c.integer("k", 1) % 4) + 4) % 4) {
    case 1: return {turn(flip(x, {dims[1]}))};
    case 2: return {flip(x, dims)};
    case 3: return {turn(flip(x, {dims[0]}))};
    default: return {c.op("clone", {x})};
  }
}

}  // namespace

std::span<const RuleRow> matrix_rules() {
  static constexpr RuleRow rows[] = {
      {"diag", diag},
      {"diag_embed",
       [](Call& c) -> Values {
         const int64_t offset = c.integer("offset", 0);
         return {embedded(c, self_of(c), offset, c.integer("dim1", -2), c.integer("dim2", -1))};
       }},
      {"diagflat",
       [](Call& c) -> Values {
         const V x = c.view(self_of(c), {c.type(self_of(c)).numel()});
         return {embedded(c, x, c.integer("offset", 0), 0, 1)};
       }},
      {"linalg_diagonal",
       [](Call& c) -> Values {
         const int64_t offset = c.integer("offset", 0);
         return {diagonal(c, self_of(c), offset, c.integer("dim1", -2), c.integer("dim2", -1))};
       }},
      {"trace", trace},
      {"block_diag", block_diagonal},
      {"rot90", rot90},
  };
  return rows;
}

}  // namespace cleave::exported
