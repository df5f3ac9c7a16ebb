// Folds of dims, and running sums and products.
#include "export/onnx/rules.h"
#include "op/dims.h"

namespace cleave::to_onnx {
namespace {

constexpr int64_t longest_product = 2048;  // of cumprod, which takes its square

bool keeps(const Call& c) { return c.op().bool_attr("keepdim"); }

// Sums and products are of the result's dtype.
Status folded(Call& c, const char* onnx) {
  c.give(0, c.reduce(onnx, c.in(0, carried(c.result(0).dtype)), reduction_dims(c.op()), keeps(c)));
  return {};
}
Status sum(Call& c) { return folded(c, "ReduceSum"); }
Status prod(Call& c) { return folded(c, "ReduceProd"); }

// Of no elements it is 0 / 0.
Status mean(Call& c) {
  if (is_empty(c.shape(0))) return c.refused("its operand is empty");
  return folded(c, "ReduceMean");
}

// NaN where any element is.
Status extreme(Call& c, const char* onnx) {
  const Ints dims = reduction_dims(c.op());
  V x = c.carried(0);
  const bool flags = c.dtype(0) == DType::boolean;
  const V y = c.reduce(onnx, flags ? c.cast(x, DType::i32) : x, dims, keeps(c));
  if (!is_floating(x.dtype) || dims.empty()) {
    c.give(0, y);
    return {};
  }
  c.give(0, with_nan(c, c.reduce("ReduceMax", nan_flags(c, x), dims, keeps(c)), y));
  return {};
}
Status amax(Call& c) { return extreme(c, "ReduceMax"); }
Status amin(Call& c) { return extreme(c, "ReduceMin"); }

// The first NaN, where there is one.
Status arg(Call& c, const char* onnx) {
  V x = c.carried(0);
  const bool whole = !c.op().given("dim");
  if (whole || c.rank(0) == 0) x = c.flat(x);
  const int64_t dim = whole || c.rank(0) == 0 ? 0 : from_front(c.op().int_attr("dim"), c.rank(0));
  const auto position = [&](const char* op, const V& v) {
    return c.node(op, {v}, DType::i64, {integer("axis", dim), integer("keepdims", 1)});
  };
  V y = position(onnx, x);
  if (is_floating(x.dtype)) {
    const V flags = nan_flags(c, x);
    const V any =
        c.compare("Greater", c.reduce("ReduceMax", flags, {dim}, true), c.number(0, DType::f32));
    y = c.where(any, position("ArgMax", flags), y);
  }
  c.give(0, c.reshape(y, c.result(0).shape));
  return {};
}
Status argmax(Call& c) { return arg(c, "ArgMax"); }
Status argmin(Call& c) { return arg(c, "ArgMin"); }

// How many are not 0; NaN isn't. Without dim every dim is folded, by dim=[] none.
V count(Call& c, bool inverted) {
  V x = c.in(0, DType::boolean);
  if (inverted) x = c.node("Not", {x});
  x = c.cast(x, DType::i64);
  const bool none = c.op().given("dim") && c.op().ints_attr("dim").empty();
  return c.reduce("ReduceSum", x, none ? Ints{} : reduction_dims(c.op()), keeps(c));
}
Status any(Call& c) {
  c.give(0, c.compare("Greater", count(c, false), c.model().integer_number(0)));
  return {};
}
Status all(Call& c) {
  c.give(0, c.compare("Equal", count(c, true), c.model().integer_number(0)));
  return {};
}

// ---- running

DType running_dtype(Call& c) { return is_floating(c.result(0).dtype) ? DType::f64 : DType::i64; }

V running_operand(Call& c) {
  V x = c.in(0, c.result(0).dtype);  // rounded or wrapped before it is added up
  x = c.cast(x, running_dtype(c));
  return c.rank(0) == 0 ? c.reshape(x, {Dim(1)}) : x;
}

Status cumsum(Call& c) {
  const int64_t dim = from_front(c.op().int_attr("dim"), c.rank(0));
  const V y = c.node("CumSum", {running_operand(c), c.model().integer_number(dim)});
  c.give(0, c.rank(0) == 0 ? c.reshape(y, {}) : y);
  return {};
}

// Each product by itself: element i of row k is x[i], but 1 where i > k.
Status cumprod(Call& c) {
  if (c.rank(0) == 0) {
    c.give(0, c.in(0));
    return {};
  }
  const int64_t dim = from_front(c.op().int_attr("dim"), c.rank(0));
  const Dim n = c.shape(0)[static_cast<size_t>(dim)];
  if (!n.is_const() || n.value() > longest_product)
    return c.refused("a dim of {}, expected at most {}", n.text(), longest_product);
  const V x = running_operand(c);
  const V row = c.unsqueeze(c.range(n), {1}), column = c.unsqueeze(c.range(n), {0});
  V open = c.compare("LessOrEqual", column, row);
  Ints behind;
  for (int64_t d = dim + 1; d < c.rank(0); ++d) behind.push_back(d - dim + 1);
  if (!behind.empty()) open = c.unsqueeze(open, behind);
  const V factors = c.where(open, c.unsqueeze(x, {dim}), c.number(1, x.dtype));
  c.give(0, c.reduce("ReduceProd", factors, {dim + 1}, false));
  return {};
}

constexpr RuleEntry rules[] = {{"sum", sum},       {"prod", prod},      {"mean", mean},
                               {"amax", amax},     {"amin", amin},      {"argmax", argmax},
                               {"argmin", argmin}, {"any", any},        {"all", all},
                               {"cumsum", cumsum}, {"cumprod", cumprod}};

}  // namespace

std::span<const RuleEntry> reduce_rules() { return rules; }

}  // namespace cleave::to_onnx
