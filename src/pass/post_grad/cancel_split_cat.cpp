// Replaces a split whose parts are concatenated again in order by the value that was split.
//
//   cat([a, b, ...]; d) of a, b, ... = split_with_sizes(x; sizes, d)  ->  x      same
//
// All parts must occur, each once and with no other user: otherwise the copy may be what ends x's
// live range. merge_pieces covers more cases, before gradients are added.
#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

bool joins_all(const Match& m) {
  const Graph& g = m.graph();
  const Values& parts = m.all("part");
  const Node& split = g.node(m.nodes("part")[0]);
  const int64_t rank = m.type("x").rank();
  if (parts.size() != split.output_count) return false;
  for (uint32_t k = 0; k < split.output_count; ++k)
    if (parts[k] != split.out(k)) return false;
  return from_front(m.integer("split_dim"), rank) == from_front(m.integer("cat_dim"), rank);
}

}  // namespace

Pass cancel_split_cat() {
  const Pattern split = call("split_with_sizes", {any("x")},
                             {{"split_sizes", anything()}, {"dim", bind("split_dim")}});
  return {.name = "cancel_split_cat",
          .summary = "a split whose parts are joined again in their order is what was split",
          .rules = {{.name = "same",
                     .search = {call("cat", {each(result_of(split).named("part"))},
                                     {{"dim", bind("cat_dim")}})},
                     .when = joins_all,
                     .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }}}};
}

}  // namespace cleave
