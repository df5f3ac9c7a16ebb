// Looks for the first elements alone where the rest of a sort is cut away.
//
//   values, indices = sort(x; dim, descending)            values, indices =
//   values[..., :k]   indices[..., :k]               ->       topk(x; k, dim, largest=descending)
//
// Where one of the results has no users, the other one is enough. topk selects before it sorts; its
// elements are those of sort, in the same order (op/sort.cpp), and its gradient scatters k of them.
// Symbolic sizes are left alone, and bool, which topk doesn't take.
#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// A slice along the dim of the sort, from its begin; how many it takes.
std::optional<int64_t> first_ones(const Graph& g, ValueId slice, int64_t dim) {
  const OpView op = g.view(g.value(slice).def);
  const Type &whole = op.in_type(0), &part = op.out_type(0);
  if (!whole.is_static() || !part.is_static() || whole.rank() == 0) return std::nullopt;
  const bool from_begin =
      !op.given("start") || op.attr("start").is_none() || op.attr("start") == AttrValue(int64_t{0});
  if (!from_begin || op.int_attr("step") != 1) return std::nullopt;
  if (from_front(op.int_attr("dim"), whole.rank()) != from_front(dim, whole.rank()))
    return std::nullopt;
  return part.shape[from_front(dim, whole.rank())].value();
}

std::optional<int64_t> common_count(const Match& m) {
  const Graph& g = m.graph();
  if (m.type("x").dtype == DType::boolean) return std::nullopt;
  std::optional<int64_t> count;
  for (const ValueId slice : m.outputs()) {
    const std::optional<int64_t> of = first_ones(g, slice, m.integer("dim"));
    if (!of || (count && *count != *of)) return std::nullopt;
    count = of;
  }
  return count;
}

Values first_of_all(Builder& b, const Match& m) {
  return b.call(
      "topk", {m["x"]},
      {{"k", *common_count(m)}, {"dim", m.attr("dim")}, {"largest", m.attr("descending")}});
}

Pattern slice_of(Pattern whole) {
  return call(
      "slice", {std::move(whole)},
      {{"dim", anything()}, {"start", anything()}, {"end", anything()}, {"step", anything()}});
}

Rule rule(const char* name, const std::vector<int>& results) {
  const Pattern sorted =
      call("sort", {any("x")},
           {{"dim", bind("dim")}, {"descending", bind("descending")}, {"stable", anything()}});
  Rule out{.name = name,
           .when = [](const Match& m) { return common_count(m).has_value(); },
           .build =
               [results](Builder& b, const Match& m) {
                 const Values all = first_of_all(b, m);
                 Values wanted;
                 for (const int k : results) wanted.push_back(all[k]);
                 return wanted;
               }};
  for (const int k : results) out.search.push_back(slice_of(result(sorted, k)));
  return out;
}

}  // namespace

Pass sort_to_topk() {
  return {.name = "sort_to_topk",
          .summary = "of a sort whose first elements alone are used, these are selected",
          .rules = {rule("both", {0, 1}), rule("values", {0}), rule("indices", {1})}};
}

}  // namespace cleave
