// Removes calls that return their operand.
//
//   add(x, 0)   sub(x, 0)   mul(x, 1)   div(x, 1)   pow(x, 1)                 ->  x
//   bitwise_or(x, 0)   bitwise_xor(x, 0)                                      ->  x
//   where(true, x, _)   where(false, _, x)                                    ->  x
//   _to_copy(x) to its own type   clone, alias, detach, lift_fresh_copy(x)   ->  x
//   copy(_, x)                                                                ->  x
//   view, reshape, expand, squeeze, repeat, slice(x) to its own shape         ->  x
//   slice_scatter(_, x) of everything   constant_pad_nd(x) with no pads       ->  x
//   ceil, floor, trunc, round(x) of integers   cat([x])                       ->  x
//
// The numbers may be given directly or as a full. Results must have x's dtype and shape, which
// implies most conditions: a slice, an expand or a repeat that keeps the shape keeps the elements,
// but pads of 1 and -1 don't. A returned value remains a copy if x is a placeholder or is returned
// too. x + 0.0 differs from x for x = -0.0, which is ignored, as in PyTorch.
// Source: post_grad.py remove_noop_ops and joint_graph.py remove_no_ops, PyTorch 2.13.
#include <algorithm>

#include "pass/constant.h"
#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

using Ops = std::vector<std::string>;

bool gives_operand(const Match& m) { return may_stand_for(m.graph(), m["x"], m.outputs()[0]); }

Values operand(Builder&, const Match& m) { return {m["x"]}; }

Rule drop(std::string name, Pattern search, std::function<bool(const Match&)> when = {}) {
  return {.name = std::move(name),
          .search = {std::move(search)},
          .when = [when](const Match& m) { return (!when || when(m)) && gives_operand(m); },
          .build = operand};
}

// Calls that return x if `c` is the number v.
Rule drop_with(std::string name, Pattern search, double v) {
  return drop(std::move(name), std::move(search),
              [v](const Match& m) { return is_number(m, "c", v); });
}

bool has_no_pads(const Match& m) {
  const AttrList* pads = m.attr("pad").get<AttrList>();
  return pads && std::ranges::all_of(*pads, [](const AttrValue& p) {
           const Dim* d = p.get<Dim>();
           return d && *d == Dim(0);
         });
}

bool is_of_integers(const Match& m) { return is_integer(m.type("x").dtype); }

}  // namespace

Pass drop_noop() {
  const Pattern x = any("x"), c = constant("c");
  const auto any_size = [](const char* name) { return AttrTests{{name, anything()}}; };
  const AttrTests range = {
      {"dim", anything()}, {"start", anything()}, {"end", anything()}, {"step", anything()}};
  return {
      .name = "drop_noop",
      .summary = "calls that give back their operand go",
      .rules = {
          drop_with("add_zero", call("add", {x, c}).commutes(), 0),
          drop_with("sub_zero", call("sub", {x, c}), 0),
          drop_with("mul_one", call("mul", {x, c}).commutes(), 1),
          drop_with("div_one", call("div", {x, c}), 1),
          drop_with("pow_one", call("pow", {x, c}), 1),
          drop_with("bits_zero", call(Ops{"bitwise_or", "bitwise_xor"}, {x, c}).commutes(), 0),
          drop_with("where_true", call("where", {full_of("c"), x, either({any(), number("")})}), 1),
          drop_with("where_false", call("where", {full_of("c"), either({any(), number("")}), x}),
                    0),
          drop("convert", call("_to_copy", {x},
                               {{"dtype", anything()},
                                {"device", anything()},
                                {"non_blocking", anything()},
                                {"memory_format", anything()}})),
          drop("clone", call("clone", {x}, any_size("memory_format"))),
          drop("alias", call(Ops{"alias", "detach", "lift_fresh_copy"}, {x})),
          drop("copy", call("copy", {any(), x}, any_size("non_blocking"))),
          drop("view", call(Ops{"view", "_unsafe_view"}, {x}, any_size("size"))),
          drop("reshape", call("reshape", {x}, any_size("shape"))),
          drop("expand", call("expand", {x}, {{"size", anything()}, {"implicit", anything()}})),
          drop("squeeze", call("squeeze", {x}, any_size("dim"))),
          drop("repeat", call("repeat", {x}, any_size("repeats"))),
          drop("slice", call("slice", {x}, range)),
          drop("slice_scatter", call("slice_scatter", {any(), x}, range)),
          drop("pad", call("constant_pad_nd", {x}, {{"pad", bind("pad")}, {"value", anything()}}),
               has_no_pads),
          drop("round_integer", call(Ops{"ceil", "floor", "trunc"}, {x}), is_of_integers),
          drop("round_decimals", call("round", {x}, any_size("decimals")), is_of_integers),
          drop("cat_one", call("cat", {list({x})}, any_size("dim"))),
      }};
}

}  // namespace cleave
