// Running extremes, and the running logarithm of a sum of exponentials.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

V slice(Call& c, V x, int64_t dim, int64_t start, int64_t end) {
  return c.op("slice", {x}, {{"dim", dim}, {"start", start}, {"end", end}});
}

V is_nan(Call& c, V x) { return c.op("isnan", {x}); }

// y[i] = combined(y[i - s], y[i]) for s = 1, 2, 4, ...: as many steps as n has bits.
template <class Combine>
Values scanned(Call& c, Values ys, int64_t dim, int64_t n, Combine combine) {
  for (int64_t s = 1; c.ok() && s < n; s *= 2) {
    Values before, after;
    for (const V y : ys) {
      before.push_back(slice(c, y, dim, 0, n - s));
      after.push_back(slice(c, y, dim, s, n));
    }
    const Values joint = combine(before, after);
    for (size_t k = 0; c.ok() && k < ys.size(); ++k)
      ys[k] =
          c.op("cat", {CallOperand(Values{slice(c, ys[k], dim, 0, s), joint[k]})}, {{"dim", dim}});
  }
  return ys;
}

// Of equal elements the last one's place; a NaN stays.
Values running_extreme(Call& c, const char* at_least) {
  const Line line = line_of(c);
  const int64_t n = c.static_size(line.x, line.dim);
  const bool is_float = is_floating(c.type(line.x).dtype);
  Shape alone(static_cast<size_t>(c.rank(line.x)), Dim(1));
  alone[static_cast<size_t>(line.dim)] = n;
  V places = c.view(c.op("arange", {}, {{"end", n}}), alone);
  places = c.op("expand", {places}, {{"size", c.type(line.x).shape}});
  const Values found = scanned(
      c, {c.op("detach", {line.x}), places}, line.dim, n, [&](const Values& a, const Values& b) {
        V later = c.op(at_least, {b[0], a[0]});
        if (is_float) {
          later = c.op("logical_and", {later, c.op("logical_not", {is_nan(c, a[0])})});
          later = c.op("logical_or", {later, is_nan(c, b[0])});
        }
        return Values{c.op("where", {later, b[0], a[0]}), c.op("where", {later, b[1], a[1]})};
      });
  if (!c.ok()) return {};
  const V y = c.op("gather", {line.x, found[1]}, {{"dim", line.dim}});
  return without_line(c, {y, found[1]}, line);
}

Values log_cumulative_sum(Call& c) {
  const Line line = line_of(c);
  const int64_t n = c.static_size(line.x, line.dim);
  const Values y = scanned(
      c, {line.x}, line.dim, n,
      [&](const Values& a, const Values& b) -> Values { return {log_of_sum(c, a[0], b[0])}; });
  return without_line(c, y, line);
}

}  // namespace

std::span<const RuleRow> scan_rules() {
  static constexpr RuleRow rows[] = {
      {"cummax", [](Call& c) { return running_extreme(c, "ge"); }},
      {"cummin", [](Call& c) { return running_extreme(c, "le"); }},
      {"logcumsumexp", in_f32<log_cumulative_sum>},
  };
  return rows;
}

}  // namespace cleave::exported
