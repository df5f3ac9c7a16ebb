// Moves a cat below the pointwise call that is its only user.
//
//   tanh(view(cat([a, b])))   ->  view(cat([tanh(a), tanh(b)]))      one
//   mul(cat([a, b]), 2.0)     ->  cat([mul(a, 2.0), mul(b, 2.0)])    number
//
// The call can then be fused into the kernels that compute a and b, and its results are often used
// separately by gradients. All items must have the dtype of the cat: a promoted item would be
// computed in lower precision. Only views of the cat may be in between.
#include <algorithm>

#include "pass/passes.h"

namespace cleave {
namespace {

const std::vector<std::string> of_one = {"abs",   "ceil",  "cos",     "erf",  "exp",  "expm1",
                                         "floor", "log",   "log1p",   "log2", "neg",  "reciprocal",
                                         "relu",  "rsqrt", "sigmoid", "sign", "silu", "sin",
                                         "sqrt",  "tan",   "tanh",    "trunc"};
const std::vector<std::string> of_number = {"add", "sub", "mul", "div", "pow"};

bool is_of_one_dtype(const Match& m) {
  const Values& items = m.all("item");
  return std::ranges::all_of(items, [&](ValueId v) {
    const Type& t = m.graph().type(v);
    return t.dtype == m.type("cat").dtype && t.rank() == m.type("cat").rank();
  });
}

// A cat of the items after applying `f` to each, viewed as the views in between did.
Values sunk(Builder& b, const Match& m, const std::function<ValueId(ValueId)>& f) {
  Values items;
  for (const ValueId v : m.all("item")) items.push_back(f(v));
  const ValueId cat = b.cat(items, m.integer("dim"));
  const Shape shape = m.type("call").shape;
  return {!b.status().ok() || b.type(cat).shape == shape ? cat : b.view(cat, shape)};
}

Values sunk_one(Builder& b, const Match& m) {
  const std::string op = m.call("call").name();
  return sunk(b, m, [&](ValueId v) { return b.call1(op, {v}); });
}

Values sunk_number(Builder& b, const Match& m) {
  const OpView call = m.call("call");
  return sunk(b, m, [&](ValueId v) { return b.call1(call.name(), {v, m.attr("number")}); });
}

// Whether the call keeps the cat's dtype; else the number would promote each item separately.
bool keeps_dtype(const Match& m) {
  return is_of_one_dtype(m) && m.type("call").dtype == m.type("cat").dtype;
}

}  // namespace

Pass sink_cat() {
  const Pattern cat = call("cat", {each(any("item"))}, {{"dim", bind("dim")}})
                          .named("cat")
                          .through({"view", "_unsafe_view", "reshape"});
  return {.name = "sink_cat",
          .summary = "a cat stands after the pointwise call that alone reads it",
          .rules = {{.name = "one",
                     .search = {call(of_one, {cat}).named("call")},
                     .when = is_of_one_dtype,
                     .build = sunk_one},
                    {.name = "number",
                     .search = {call(of_number, {cat, number("number")}).named("call")},
                     .when = keeps_dtype,
                     .build = sunk_number}}};
}

}  // namespace cleave
