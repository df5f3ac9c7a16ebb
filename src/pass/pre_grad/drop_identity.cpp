// Removes calls that return their operand.
//
//   alias, lift_fresh_copy, clone(x)                     ->  x         the operator's name
//   _to_copy(x; x's dtype and device)                    ->  x
//   view, _unsafe_view, reshape, expand(x; x's shape)    ->  x
//   squeeze of no dim, slice of everything, repeat once  ->  x
//   constant_pad_nd(x; 0,0,...)                          ->  x
//   native_dropout(x, rng; p=0 or train=false)           ->  x, true   dropout
//   detach(detach(x))                                    ->  detach(x)
//   detach(x) of integers                                ->  x         detach_integers
//
// No call of a graph writes in place, so a copy is equivalent to the original; a copy that requests
// a memory format is kept. A detach is kept where a gradient might flow: only differentiation knows
// whether one does. Sizes must be provably equal.
#include <algorithm>

#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

bool keeps_shape(const Match& m) {
  const Graph& g = m.graph();
  return std::ranges::equal(
      m.type("x").shape, g.type(m.outputs()[0]).shape,
      [&](const Dim& a, const Dim& b) { return g.env().provably_equal(a, b); });
}

bool keeps_dtype_and_device(const Match& m) {
  return has_same_type(m.graph(), m["x"], m.outputs()[0]);
}

bool pads_nothing(const Match& m) {
  const std::vector<Dim> pad = m.call("call").dims_attr("pad");
  return std::ranges::all_of(pad, [](const Dim& d) { return d == Dim(0); });
}

Rule drop(const char* op, const std::vector<std::string>& attrs,
          std::function<bool(const Match&)> when = {}) {
  AttrTests tests;
  for (const std::string& attr : attrs) tests.emplace_back(attr, anything());
  return {.name = op,
          .search = {call(op, {any("x")}, std::move(tests)).named("call")},
          .when = std::move(when),
          .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }};
}

bool keeps_all(const Match& m) {
  const OpView call = m.call("call");
  return call.float_attr("p") == 0 || (call.given("train") && !call.bool_attr("train"));
}

Values without_dropout(Builder& b, const Match& m) {
  const ValueId mask = m.outputs()[1];
  const Graph& g = m.graph();
  const bool is_read = g.use_count(mask) > 0 ||
                       std::ranges::find(g.returns(), mask, &Return::value) != g.returns().end();
  if (!is_read) return {m["x"], ValueId::none()};
  return {m["x"],
          b.call1("full_like", {m["x"]}, {{"fill_value", true}, {"dtype", DType::boolean}})};
}

Rule drop_dropout() {
  return {
      .name = "dropout",
      .search = {results(call("native_dropout", {any("x"), any()},
                              {{"p", anything()}, {"train", anything()}, {"stream", anything()}})
                             .named("call"))},
      .when = keeps_all,
      .build = without_dropout};
}

Rule drop_detach() {
  Rule rule = drop("detach", {});
  rule.search = {call("detach", {call("detach", {any()}).shared().named("x")})};
  return rule;
}

Rule drop_detach_of_integers() {
  Rule rule = drop("detach", {}, [](const Match& m) { return !is_floating(m.type("x").dtype); });
  rule.name = "detach_integers";
  return rule;
}

}  // namespace

Pass drop_identity() {
  return {
      .name = "drop_identity",
      .summary = "calls that give their operand back go",
      .rules = {drop("alias", {}), drop("lift_fresh_copy", {}), drop("clone", {}),
                drop("_to_copy", {"dtype", "device", "non_blocking"}, keeps_dtype_and_device),
                drop("view", {"size"}, keeps_shape), drop("_unsafe_view", {"size"}, keeps_shape),
                drop("reshape", {"shape"}, keeps_shape),
                drop("expand", {"size", "implicit"}, keeps_shape),
                drop("squeeze", {"dim"}, keeps_shape),
                drop("slice", {"dim", "start", "end", "step"}, keeps_shape),
                drop("repeat", {"repeats"}, keeps_shape),
                drop("constant_pad_nd", {"pad", "value"}, pads_nothing), drop_dropout(),
                drop_detach(), drop_detach_of_integers()}};
}

}  // namespace cleave
