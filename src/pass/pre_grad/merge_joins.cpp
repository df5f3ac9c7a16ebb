// Merges nested joins along one dim into one join.
//
//   cat([a, cat([b, c]; d)]; d)              ->  cat([a, b, c]; d)           cats
//   cat([stack([a, b]; d), stack([c]; d)]; d) ->  stack([a, b, c]; d)         stacks
//   cat([unsqueeze(a; d), unsqueeze(b; d)]; d) ->  stack([a, b]; d)
//
// Each byte is then copied only once, at any depth, however unbalanced. An inner cat must have no
// other user, and its items must have its dtype: an item that the inner cat promotes would be
// rounded twice. stacks requires that every item is a stack or unsqueeze along the dim, and at
// least two items.
#include <algorithm>

#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// The call `op` along this dim that defines v, if its tag is the outer one's and its items have its
// dtype.
class Inner {
 public:
  Inner(const Match& m)
      : graph_(m.graph()), tag_(graph_.node(m.node("join")).tag),
        dim_(from_front(m.integer("dim"), m.type("join").rank())) {}

  int64_t dim() const { return dim_; }

  std::optional<Values> items(ValueId v, const char* op) const {
    const NodeId def = graph_.value(v).def;
    if (!def.valid() || graph_.node(def).op->name != op || !(graph_.node(def).tag == tag_))
      return {};
    const OpView call = graph_.view(def);
    if (from_front(call.int_attr("dim"), call.out_type(0).rank()) != dim_) return {};
    const Values& items = call.inputs();
    const bool keeps = std::ranges::all_of(
        items, [&](ValueId i) { return graph_.type(i).dtype == graph_.type(v).dtype; });
    return keeps ? std::optional(items) : std::nullopt;
  }

  // The cat's items, with inner cats replaced by their items.
  Values flat(const Values& of) const {
    Values out, todo(of.rbegin(), of.rend());
    while (!todo.empty()) {
      const ValueId v = todo.back();
      todo.pop_back();
      const std::optional<Values> inner = graph_.use_count(v) == 1 ? items(v, "cat") : std::nullopt;
      if (inner)
        todo.insert(todo.end(), inner->rbegin(), inner->rend());
      else
        out.push_back(v);
    }
    return out;
  }

  // The operands that the items stack, if all items are stacks.
  Values stacked(const Values& of) const {
    Values out;
    for (const ValueId v : of) {
      std::optional<Values> inner = items(v, "stack");
      if (!inner) inner = items(v, "unsqueeze");
      if (!inner) return {};
      out.insert(out.end(), inner->begin(), inner->end());
    }
    return out;
  }

 private:
  const Graph& graph_;
  CheckpointTag tag_;
  int64_t dim_;
};

bool has_inner_cat(const Match& m) {
  const Inner inner(m);
  return std::ranges::any_of(m.all("item"), [&](ValueId v) {
    return m.graph().use_count(v) == 1 && inner.items(v, "cat").has_value();
  });
}

bool stacks_all(const Match& m) {
  return m.all("item").size() > 1 && !Inner(m).stacked(m.all("item")).empty();
}

}  // namespace

Pass merge_joins() {
  const Pattern join = call("cat", {each(any("item"))}, {{"dim", bind("dim")}}).named("join");
  return {.name = "merge_joins",
          .summary = "joins of joins along one dim become one join",
          .rules = {{.name = "cats",
                     .search = {join},
                     .when = has_inner_cat,
                     .build = [](Builder& b, const Match& m) -> Values {
                       const Inner inner(m);
                       return {b.cat(inner.flat(m.all("item")), inner.dim())};
                     }},
                    {.name = "stacks",
                     .search = {join},
                     .when = stacks_all,
                     .build = [](Builder& b, const Match& m) -> Values {
                       const Inner inner(m);
                       return {b.call1("stack", {inner.stacked(m.all("item"))},
                                       {{"dim", inner.dim()}})};
                     }}}};
}

}  // namespace cleave
