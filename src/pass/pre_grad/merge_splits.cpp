// A split of a part of a split becomes one split, where nothing else reads the part.
//
//   a, b = split(x; [2,6]);  c, d = split(b; [1,5])  ->  a, c, d = split(x; [2,1,5])     nested
//
// Both along one dim. Only splits by sizes: normalize_splits makes them of the others.
#include <algorithm>

#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

int64_t split_dim(const OpView& call) {
  return from_front(call.int_attr("dim"), call.in_type(0).rank());
}

bool is_nested(const Match& m) {
  const Graph& g = m.graph();
  return split_dim(m.call("outer")) == split_dim(m.call("inner")) && g.use_count(m["part"]) == 1 &&
         std::ranges::find(g.returns(), m["part"], &Return::value) == g.returns().end();
}

Values build_one(Builder& b, const Match& m) {
  const Graph& g = m.graph();
  const OpView outer = m.call("outer");
  const uint32_t at = g.value(m["part"]).index;
  const std::vector<Dim> inner = m.call("inner").dims_attr("split_sizes");
  std::vector<Dim> sizes = outer.dims_attr("split_sizes");
  sizes.erase(sizes.begin() + at);
  sizes.insert(sizes.begin() + at, inner.begin(), inner.end());
  const Values made =
      b.call("split_with_sizes", {m["x"]}, {{"split_sizes", sizes}, {"dim", split_dim(outer)}});
  if (made.empty()) return {};
  const auto end = made.begin() + at + std::ssize(inner);
  Values out(made.begin() + at, end);
  out.insert(out.end(), made.begin(), made.begin() + at);
  out.push_back(ValueId::none());
  out.insert(out.end(), end, made.end());
  return out;
}

}  // namespace

Pass merge_splits() {
  const AttrTests attrs = {{"split_sizes", anything()}, {"dim", anything()}};
  const Pattern outer = call("split_with_sizes", {any("x")}, attrs).named("outer");
  const Pattern inner =
      call("split_with_sizes", {result_of(outer).named("part")}, attrs).named("inner");
  return {.name = "merge_splits",
          .summary = "a split of a part of a split becomes one split",
          .rules = {{.name = "nested",
                     .search = {results(inner), results(outer)},
                     .when = is_nested,
                     .build = build_one}}};
}

}  // namespace cleave
