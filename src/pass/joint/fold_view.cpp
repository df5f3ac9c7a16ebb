// Replaces two consecutive views by one or none.
//
//   view(view(x; a); b)          ->  x          undo      if b is the shape of x
//   view(view(x; a); b)          ->  view(x; b) compose   otherwise
//   expand(expand(x; a); b)      ->  expand(x; b)         expand
//
// view means view, _unsafe_view, reshape, squeeze and unsqueeze in any combination: all of them
// keep the order of elements, so the last shape determines the result. The inner one must have no
// other user: two views of one memory cost nothing, but a view of a view does. The remaining value
// may be returned: a view of a placeholder is that placeholder anyway. Symbolic sizes must be
// proven to hold the elements of x, as for view itself.
// Source: joint_graph.py pointless_view and pointless_view_pair, PyTorch 2.13.
#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

using Ops = std::vector<std::string>;

Pattern reshaped(const Pattern& x) {
  return either({call(Ops{"view", "_unsafe_view"}, {x}, {{"size", anything()}}),
                 call("reshape", {x}, {{"shape", anything()}}),
                 call(Ops{"squeeze", "unsqueeze"}, {x}, {{"dim", anything()}})});
}

bool undoes(const Match& m) { return has_same_type(m.graph(), m["x"], m.outputs()[0]); }

bool fits_view(const Match& m) {
  const Graph& g = m.graph();
  const Type& y = g.type(m.outputs()[0]);
  for (const Dim& d : y.shape)
    if (g.env().range_of(d).lo < 0) return false;
  return g.env().provably_equal(y.numel(), m.type("x").numel());
}

bool fits_expand(const Match& m) {
  const SymEnv& env = m.graph().env();
  const Shape &x = m.type("x").shape, &y = m.graph().type(m.outputs()[0]).shape;
  for (size_t d = 0; d < x.size(); ++d)
    if (!env.provably_equal(x[d], y[y.size() - x.size() + d]) && !env.provably_equal(x[d], Dim(1)))
      return false;
  return true;
}

Values viewed(Builder& b, const Match& m) { return {b.view(m["x"], b.type(m.outputs()[0]).shape)}; }

Values expanded(Builder& b, const Match& m) {
  return {b.expand(m["x"], b.type(m.outputs()[0]).shape)};
}

}  // namespace

Pass fold_view() {
  const Pattern x = any("x"), pair = reshaped(reshaped(x));
  const AttrTests any_size = {{"size", anything()}, {"implicit", anything()}};
  return {.name = "fold_view",
          .summary = "two views in a row become one, or none",
          .rules = {{.name = "undo",
                     .search = {pair},
                     .when = undoes,
                     .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }},
                    {.name = "compose", .search = {pair}, .when = fits_view, .build = viewed},
                    {.name = "expand",
                     .search = {call("expand", {call("expand", {x}, any_size)}, any_size)},
                     .when = fits_expand,
                     .build = expanded}}};
}

}  // namespace cleave
