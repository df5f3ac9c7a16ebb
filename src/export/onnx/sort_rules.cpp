// Sorting. TopK keeps the order of equal elements, and leaves that of NaN open.
#include "export/onnx/rules.h"
#include "op/dims.h"

namespace cleave::to_onnx {
namespace {

// The order of all elements along `dim`, as positions.
V order(Call& c, const V& x, int64_t dim, const Dim& size, bool descending) {
  return c.model().nodes("TopK", {x, c.sizes().list({size})}, {x.dtype, DType::i64},
                         {integer("axis", dim), integer("largest", descending ? 1 : 0)})[1];
}

V along(Call& c, const V& x, const V& index, int64_t dim) {
  return c.node("GatherElements", {x, index}, {integer("axis", dim)});
}

// By value with NaN as 0, then, as equals keep their order, by whether it is NaN.
Status sort(Call& c) {
  const bool single = c.rank(0) == 0;
  const int64_t dim = from_front(c.op().int_attr("dim"), c.rank(0));
  const Dim size = single ? Dim(1) : c.shape(0)[static_cast<size_t>(dim)];
  const bool descending = c.op().bool_attr("descending");
  V x = c.carried(0);
  if (single) x = c.reshape(x, {Dim(1)});
  V index;
  if (is_floating(x.dtype)) {
    const V nan = c.is_nan(x);
    index = order(c, c.where(nan, c.number(0, x.dtype), x), dim, size, descending);
    const V flags = along(c, c.cast(nan, DType::i32), index, dim);
    index = along(c, index, order(c, flags, dim, size, descending), dim);
  } else {
    index = order(c, x, dim, size, descending);
  }
  const V values = along(c, x, index, dim);
  c.give(0, single ? c.reshape(values, {}) : values);
  c.give(1, single ? c.reshape(index, {}) : index);
  return {};
}

constexpr RuleEntry rules[] = {{"sort", sort}};

}  // namespace

std::span<const RuleEntry> sort_rules() { return rules; }

}  // namespace cleave::to_onnx
