// Folds a number, or a vector along the columns, into the frozen weights of the preceding product.
//
//   y is one of   convolution(x, w, b)   mm(x, w)   addmm(b, x, w)
//   add(y, s), add(s, y)  ->  y of w, b + s          sub(y, s)  ->  y of w, b - s
//   mul(y, s), mul(s, y)  ->  y of w * s, b * s      div(y, s)  ->  y of w / s, b / s
//
// Also across a view that keeps the columns. s is a number, one element, or one element for each
// column (channel of a convolution) with all other dims 1, so that it can be folded into the
// weights. It must change neither dtype nor shape, and must not be a divisor of 0.
//
// The product has no other user, and w, b and s are computed from frozen state alone (frozen.h): an
// evaluated network, or a frozen part of a trained one. Folding a factor costs a pass over the
// weights, which must have no other user. For consts this can be done once. For other state it is
// done in each step: cheap relative to a convolution, but a product of few rows reads its weights
// about as often, so there the result must be provably no smaller than the weights.
//
// Results are rounded differently, and if s contains zeros or non-finite numbers, an infinity may
// become NaN. Source: binary_folding.py, PyTorch 2.13, which runs only on frozen graphs.
#include <algorithm>
#include <cmath>

#include "pass/frozen.h"
#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

const std::vector<std::string> conv_attrs = {"stride",     "padding",        "dilation",
                                             "transposed", "output_padding", "groups"};

bool is_convolution(const Match& m) { return m.call("product").name() == "convolution"; }

// Returns none if there is no bias.
ValueId bias_of(const Match& m) {
  const OpView product = m.call("product");
  const int at = is_convolution(m) ? 2 : 0;
  return product.name() != "mm" && product.has(at) ? product.in(at) : ValueId::none();
}

bool has_view(const Match& m) { return m.knows("seen") && m.has("seen"); }

size_t column_dim_of_weight(const Match& m) {
  return is_convolution(m) && !m.call("product").bool_attr("transposed") ? 0 : 1;
}

// The number of columns of a product's result, or of channels of a convolution.
const Dim& columns_of(const Match& m) { return m.type("product").shape[1]; }

bool is_one(const Dim& d) { return d == Dim(1); }

bool is_single(const Match& m) { return std::ranges::all_of(m.type("s").shape, is_one); }

// Counted from the last dim, the columns must be at the same position in s as in the product, and
// must also be the columns of a view in between.
bool lies_along_columns(const Match& m) {
  const Shape& s = m.type("s").shape;
  const SymEnv& env = m.graph().env();
  const Dim& columns = columns_of(m);
  const size_t after = m.type("product").shape.size() - 2;
  if (s.size() <= after || !env.provably_equal(s[s.size() - 1 - after], columns)) return false;
  if (has_view(m) && !env.provably_equal(m.type("seen").shape.back(), columns)) return false;
  return std::ranges::count_if(s, is_one) + 1 == std::ssize(s);
}

// A bias must be a row; scaling the weights of a product pays only if the result is large.
bool has_frozen_weights(const Match& m, bool scales) {
  const Graph& g = m.graph();
  const MadeOf w = made_of_frozen(g, m["w"]);
  if (w == MadeOf::none) return false;
  if (const ValueId b = bias_of(m); b.valid()) {
    const Shape& shape = g.type(b).shape;
    if (shape.size() > 1 && !is_one(shape[0])) return false;
    if (made_of_frozen(g, b) == MadeOf::none) return false;
  }
  if (m.has("s") && made_of_frozen(g, m["s"]) == MadeOf::none) return false;
  if (!scales) return true;
  if (g.use_count(m["w"]) != 1) return false;
  if (w == MadeOf::constants || is_convolution(m)) return true;
  const SymEnv& env = g.env();
  return env.range_of(m.type("product").numel()).lo >= env.range_of(m.type("w").numel()).hi;
}

bool folds(const Match& m, bool scales) {
  const ValueId before = has_view(m) ? m["seen"] : m["product"];
  return has_same_type(m.graph(), m.outputs()[0], before) && is_floating(m.type("w").dtype) &&
         (!m.has("s") || is_single(m) || lies_along_columns(m)) && has_frozen_weights(m, scales);
}

// s as a row of the weights' dtype: with one element, or one for each column.
ValueId row_of(Builder& b, const Match& m) {
  const ValueId s = b.convert(m["s"], b.type(m["w"]).dtype);
  return b.type(s).rank() == 1 ? s : b.view(s, {is_single(m) ? Dim(1) : columns_of(m)});
}

Values rebuilt(Builder& b, const Match& m, ValueId w, ValueId bias) {
  ValueId y;
  if (is_convolution(m)) {
    NamedAttrs attrs;
    for (const std::string& name : conv_attrs)
      attrs.emplace_back(name, m.call("product").attr(name));
    y = b.call1("convolution", {m["x"], w, bias}, std::move(attrs));
  } else {
    y = bias.valid() ? b.call1("addmm", {bias, m["x"], w}) : b.mm(m["x"], w);
  }
  return {has_view(m) ? b.view(y, b.type(m["seen"]).shape) : y};
}

Values scaled(Builder& b, const Match& m, const char* op) {
  const auto by = [&](ValueId v, const CallOperand& factor) { return b.call1(op, {v, factor}); };
  const ValueId bias = bias_of(m);
  if (m.has("v")) {
    const CallOperand v(m.attr("v"));
    const ValueId w = by(m["w"], v);
    return rebuilt(b, m, w, bias.valid() ? by(bias, v) : bias);
  }
  const ValueId row = row_of(b, m);
  Shape shape(b.type(m["w"]).shape.size(), Dim(1));
  shape[column_dim_of_weight(m)] = b.type(row).shape[0];
  const ValueId w = by(m["w"], b.view(row, shape));
  return rebuilt(b, m, w, bias.valid() ? by(bias, row) : bias);
}

// A missing bias counts as 0.
Values shifted(Builder& b, const Match& m, const char* op) {
  const bool is_minus = std::string_view(op) == "sub";
  ValueId bias = bias_of(m);
  if (m.has("v") && bias.valid()) {
    bias = b.call1(op, {bias, CallOperand(m.attr("v"))});
  } else if (m.has("v")) {
    const double v = m.scalar("v");
    bias = b.full({columns_of(m)}, is_minus ? -v : v, b.type(m["w"]).dtype);
  } else if (bias.valid()) {
    bias = b.call1(op, {bias, row_of(b, m)});
  } else {
    const ValueId row = row_of(b, m);
    bias = is_minus ? b.neg(row) : row;
    if (is_convolution(m) && is_single(m)) bias = b.expand(bias, {columns_of(m)});
  }
  return rebuilt(b, m, m["w"], bias);
}

Rule rule_of(const std::string& product_name, const Pattern& product, const char* op) {
  const bool scales = std::string_view(op) == "mul" || std::string_view(op) == "div";
  const bool is_div = std::string_view(op) == "div";
  const Pattern s = either({number("v"), any("s")});
  Pattern operand = product;
  if (product_name != "convolution") {
    const auto seen = [&](std::vector<std::string> views, const char* size) {
      return call(std::move(views), {product}, {{size, anything()}}).named("seen");
    };
    operand = either({product, seen({"view", "_unsafe_view"}, "size"), seen({"reshape"}, "shape")});
  }
  Pattern search = call(op, {operand, s});
  if (std::string_view(op) == "add" || std::string_view(op) == "mul") search = search.commutes();
  return {
      .name = product_name + "_" + op,
      .search = {search},
      .when =
          [=](const Match& m) {
            if (m.has("v") && !(std::isfinite(m.scalar("v")) && (!is_div || m.scalar("v") != 0)))
              return false;
            return folds(m, scales);
          },
      .build = [=](Builder& b,
                   const Match& m) { return scales ? scaled(b, m, op) : shifted(b, m, op); },
      .rounds = true};
}

}  // namespace

Pass fold_binary() {
  AttrTests attrs;
  for (const std::string& name : conv_attrs) attrs.emplace_back(name, anything());
  const Pattern x = any("x"), w = any("w"), b = any("b");
  const std::vector<std::pair<std::string, Pattern>> products = {
      {"convolution", call("convolution", {x, w, optional(b)}, attrs).named("product")},
      {"mm", call("mm", {x, w}).named("product")},
      {"addmm", call("addmm", {b, x, w}).named("product")}};
  Pass pass = {
      .name = "fold_binary",
      .summary = "a number or a row goes into the frozen weights of the product before it"};
  for (const auto& [name, product] : products)
    for (const char* op : {"add", "sub", "mul", "div"})
      pass.rules.push_back(rule_of(name, product, op));
  return pass;
}

}  // namespace cleave
