// Builder's calls of the operators that rules use most.
#include "ir/builder.h"

namespace cleave {

ValueId Builder::neg(V x) { return call1("neg", {x}); }
ValueId Builder::exp(V x) { return call1("exp", {x}); }
ValueId Builder::log(V x) { return call1("log", {x}); }
ValueId Builder::sqrt(V x) { return call1("sqrt", {x}); }
ValueId Builder::rsqrt(V x) { return call1("rsqrt", {x}); }
ValueId Builder::reciprocal(V x) { return call1("reciprocal", {x}); }
ValueId Builder::sin(V x) { return call1("sin", {x}); }
ValueId Builder::cos(V x) { return call1("cos", {x}); }
ValueId Builder::sinh(V x) { return call1("sinh", {x}); }
ValueId Builder::cosh(V x) { return call1("cosh", {x}); }
ValueId Builder::tanh(V x) { return call1("tanh", {x}); }
ValueId Builder::erf(V x) { return call1("erf", {x}); }
ValueId Builder::sigmoid(V x) { return call1("sigmoid", {x}); }
ValueId Builder::sign(V x) { return call1("sign", {x}); }
ValueId Builder::abs(V x) { return call1("abs", {x}); }
ValueId Builder::logical_not(V x) { return call1("logical_not", {x}); }
ValueId Builder::add(O x, O y) { return call1("add", {std::move(x), std::move(y)}); }
ValueId Builder::sub(O x, O y) { return call1("sub", {std::move(x), std::move(y)}); }
ValueId Builder::mul(O x, O y) { return call1("mul", {std::move(x), std::move(y)}); }
ValueId Builder::div(O x, O y) { return call1("div", {std::move(x), std::move(y)}); }
ValueId Builder::pow(O x, O y) { return call1("pow", {std::move(x), std::move(y)}); }
ValueId Builder::maximum(V x, V y) { return call1("maximum", {x, y}); }
ValueId Builder::minimum(V x, V y) { return call1("minimum", {x, y}); }
ValueId Builder::eq(V x, O y) { return call1("eq", {x, std::move(y)}); }
ValueId Builder::ne(V x, O y) { return call1("ne", {x, std::move(y)}); }
ValueId Builder::lt(V x, O y) { return call1("lt", {x, std::move(y)}); }
ValueId Builder::le(V x, O y) { return call1("le", {x, std::move(y)}); }
ValueId Builder::gt(V x, O y) { return call1("gt", {x, std::move(y)}); }
ValueId Builder::ge(V x, O y) { return call1("ge", {x, std::move(y)}); }
ValueId Builder::logical_and(V x, V y) { return call1("logical_and", {x, y}); }
ValueId Builder::logical_or(V x, V y) { return call1("logical_or", {x, y}); }
ValueId Builder::where(V c, O x, O y) { return call1("where", {c, std::move(x), std::move(y)}); }
ValueId Builder::mm(V x, V y) { return call1("mm", {x, y}); }
ValueId Builder::bmm(V x, V y) { return call1("bmm", {x, y}); }
ValueId Builder::permute(V x, const std::vector<int64_t>& dims) {
  return call1("permute", {x}, {{"dims", dims}});
}
ValueId Builder::view(V x, const Shape& size) { return call1("view", {x}, {{"size", size}}); }
ValueId Builder::expand(V x, const Shape& size) { return call1("expand", {x}, {{"size", size}}); }
ValueId Builder::unsqueeze(V x, int64_t dim) { return call1("unsqueeze", {x}, {{"dim", dim}}); }
ValueId Builder::squeeze(V x, const std::vector<int64_t>& dims) {
  return call1("squeeze", {x}, {{"dim", dims}});
}
ValueId Builder::cat(const Values& xs, int64_t dim) {
  return call1("cat", {O(xs)}, {{"dim", dim}});
}
ValueId Builder::full_like(V x, AttrValue value) {
  return full(type(x).shape, std::move(value), type(x).dtype);
}

ValueId Builder::sum(V x, const std::vector<int64_t>& dims, bool keepdim) {
  return call1("sum", {x}, {{"dim", dims}, {"keepdim", keepdim}});
}
ValueId Builder::mean(V x, const std::vector<int64_t>& dims, bool keepdim) {
  return call1("mean", {x}, {{"dim", dims}, {"keepdim", keepdim}});
}
ValueId Builder::amax(V x, const std::vector<int64_t>& dims, bool keepdim) {
  return call1("amax", {x}, {{"dim", dims}, {"keepdim", keepdim}});
}
ValueId Builder::slice(V x, int64_t dim, Dim start, Dim end, int64_t step) {
  return call1("slice", {x}, {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}
ValueId Builder::convert(V x, DType t) {
  if (!status_.ok() || type(x).dtype == t) return x;
  return call1("_to_copy", {x}, {{"dtype", t}});
}
ValueId Builder::move(V x, const Device& d) {
  if (!status_.ok() || type(x).device == d) return x;
  return call1("_to_copy", {x}, {{"device", d.text()}});
}
ValueId Builder::full(const Shape& size, AttrValue value, DType t) {
  return call1("full", {}, {{"size", size}, {"fill_value", std::move(value)}, {"dtype", t}});
}

}  // namespace cleave
