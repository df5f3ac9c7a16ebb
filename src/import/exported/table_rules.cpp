// Places of triangles and pairs, tables of covariances.
#include <algorithm>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;

constexpr int64_t most_rows = 1 << 12;

struct Places {
  V rows, columns;
};

// Those of a matrix from `first(row)` up to `end(row)`, row by row.
template <class First, class End>
Places places_of(Call& c, int64_t rows, First first, End end) {
  const NamedAttrs empty{{"size", Shape{Dim(0)}}, {"fill_value", 0}, {"dtype", DType::i64}};
  Values row_parts{c.op("full", {}, empty)}, column_parts = row_parts;
  if (rows < 0 || rows > most_rows) c.fail("the places of {} rows", rows);
  for (int64_t r = 0; c.ok() && r < rows; ++r) {
    const int64_t from = first(r), to = end(r);
    if (to <= from) continue;
    row_parts.push_back(c.op(
        "full", {}, {{"size", Shape{Dim(to - from)}}, {"fill_value", r}, {"dtype", DType::i64}}));
    column_parts.push_back(c.op("arange", {}, {{"start", from}, {"end", to}}));
  }
  const NamedAttrs over{{"dim", 0}};
  return {c.op("cat", {CallOperand(row_parts)}, over),
          c.op("cat", {CallOperand(column_parts)}, over)};
}

Values triangle_places(Call& c, bool below) {
  const int64_t columns = c.integer("col", 0), offset = c.integer("offset", 0);
  if (columns < 0) return {c.fail("{} columns", columns)};
  const auto diagonal = [&](int64_t r) {
    return std::clamp<int64_t>(r + offset + (below ? 1 : 0), 0, columns);
  };
  const auto none = [](int64_t) -> int64_t { return 0; };
  const auto all = [&](int64_t) { return columns; };
  const int64_t rows = c.integer("row", 0);
  const Places p = below ? places_of(c, rows, none, diagonal) : places_of(c, rows, diagonal, all);
  const V y = c.op("stack", {CallOperand(Values{p.rows, p.columns})}, {{"dim", 0}});
  return {c.to(y, c.dtype("dtype").value_or(DType::i64))};
}

// Each element with those behind it, or with itself too: [pairs, 2].
Values combinations(Call& c) {
  const V x = c.tensor("self");
  const int64_t n = c.static_size(x, 0), taken = c.integer("r", 2);
  const int64_t next = c.flag("with_replacement", false) ? 0 : 1;
  if (taken != 2) return {c.fail("combinations of {}", taken)};
  const Places p = places_of(c, n, [&](int64_t r) { return r + next; }, [&](int64_t) { return n; });
  const auto read = [&](V places) { return c.op("index_select", {x, places}, {{"dim", 0}}); };
  return {c.op("stack", {CallOperand(Values{read(p.rows), read(p.columns)})}, {{"dim", 1}})};
}

// Rows are variables, columns observations.
V covariance(Call& c, double correction) {
  V x = c.tensor(c.find("self") ? "self" : "input");
  if (c.has_tensor("fweights") || c.has_tensor("aweights"))
    return c.fail("weights of observations");
  const bool single = c.rank(x) < 2;
  if (single) x = c.view(x, {Dim(1), c.type(x).numel()});
  if (!is_floating(c.type(x).dtype)) x = c.to(x, DType::f32);
  const auto n = static_cast<double>(c.static_size(x, 1));
  x = c.op("sub", {x, c.op("mean", {x}, {{"dim", Dims{1}}, {"keepdim", true}})});
  const V squares = c.op("mm", {x, c.permute(x, {1, 0})});
  const V y = c.op("div", {squares, std::max(n - correction, 0.0)});
  return single ? c.view(y, {}) : y;
}

Values correlation(Call& c) {
  const V y = covariance(c, 1);
  if (c.rank(y) == 0) return {c.op("div", {y, y})};
  const V spread = c.op("sqrt", {c.op("diagonal", {y})});
  const V rows = c.op("div", {y, c.op("unsqueeze", {spread}, {{"dim", 1}})});
  return {c.op("clamp", {c.op("div", {rows, spread}), -1.0, 1.0})};
}

}  // namespace

std::span<const RuleRow> table_rules() {
  static constexpr RuleRow rows[] = {
      {"tril_indices", [](Call& c) { return triangle_places(c, true); }},
      {"triu_indices", [](Call& c) { return triangle_places(c, false); }},
      {"combinations", combinations},
      {"cov",
       in_f32<[](Call& c) -> Values { return {covariance(c, c.floating("correction", 1))}; }>},
      {"corrcoef", in_f32<correlation>},
  };
  return rows;
}

}  // namespace cleave::exported
