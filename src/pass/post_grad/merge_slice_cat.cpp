// Merges a cat that is concatenated with its own beginning into one cat.
//
//   c = cat([a, b, ...]; d);  cat([c, slice(c; d, 0, n)]; d)
//     ->  cat([a, b, ..., slice(a; d, 0, n)]; d)               beginning
//
// n must be at most a's size. The items of c are then copied only once. c and the slice must have
// no other user, and the items must have the dtype of c: a promoted item would have to be converted
// before it is sliced. The pattern comes from embedding tables that are padded to a size that suits
// a product.
#include <algorithm>

#include "op/window.h"
#include "pass/passes.h"

namespace cleave {
namespace {

bool is_beginning(const Match& m) {
  const Graph& g = m.graph();
  const int64_t rank = m.type("inner").rank();
  const int64_t dim = from_front(m.call("inner").int_attr("dim"), rank);
  const Window w = window_of(m.call("slice"));
  if (from_front(m.call("outer").int_attr("dim"), rank) != dim || w.dim != dim) return false;
  if (w.step != 1 || !g.env().provably_equal(w.start, 0)) return false;
  const Values& items = m.all("item");
  const Type& first = g.type(items[0]);
  return first.rank() == rank && g.env().range_of(first.shape[dim] - w.size).lo >= 0 &&
         std::ranges::all_of(items,
                             [&](ValueId v) { return g.type(v).dtype == m.type("inner").dtype; });
}

Values build_one(Builder& b, const Match& m) {
  const Window w = window_of(m.call("slice"));
  Values items = m.all("item");
  items.push_back(b.slice(items[0], w.dim, 0, w.size));
  return {b.cat(items, w.dim)};
}

}  // namespace

Pass merge_slice_cat() {
  const AttrTests dim = {{"dim", anything()}};
  const Pattern inner = call("cat", {each(any("item"))}, dim).named("inner");
  const Pattern slice =
      call("slice", {inner},
           {{"dim", anything()}, {"start", anything()}, {"end", anything()}, {"step", anything()}})
          .named("slice");
  return {.name = "merge_slice_cat",
          .summary = "a cat that is joined with its own beginning is one cat",
          .rules = {{.name = "beginning",
                     .search = {call("cat", {list({inner, slice})}, dim).named("outer")},
                     .when = is_beginning,
                     .build = build_one}}};
}

}  // namespace cleave
