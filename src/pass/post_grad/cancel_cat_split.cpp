// Removes a cat that is split into its items again.
//
//   split_with_sizes(cat([a, b, ...]; d); [a's size, b's, ...], d)  ->  a, b, ...      same
//
// The items must have the dtype of the cat, which must have no other user. cancel_joins covers more
// cases, before gradients are added.
#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

bool splits_into_items(const Match& m) {
  const Graph& g = m.graph();
  const Values &items = m.all("item"), &parts = m.outputs();
  const int64_t rank = m.type("cat").rank();
  const int64_t dim = from_front(m.integer("cat_dim"), rank);
  if (items.size() != parts.size() || from_front(m.integer("split_dim"), rank) != dim) return false;
  for (size_t k = 0; k < items.size(); ++k) {
    const Type& t = g.type(items[k]);
    if (t.rank() != rank || t.dtype != m.type("cat").dtype ||
        !g.env().provably_equal(t.shape[dim], g.type(parts[k]).shape[dim]))
      return false;
  }
  return true;
}

}  // namespace

Pass cancel_cat_split() {
  const Pattern cat = call("cat", {each(any("item"))}, {{"dim", bind("cat_dim")}}).named("cat");
  return {.name = "cancel_cat_split",
          .summary = "a cat that is split into its items is nothing",
          .rules = {
              {.name = "same",
               .search = {results(call("split_with_sizes", {cat},
                                       {{"split_sizes", anything()}, {"dim", bind("split_dim")}}))},
               .when = splits_into_items,
               .build = [](Builder&, const Match& m) -> Values { return m.all("item"); }}}};
}

}  // namespace cleave
