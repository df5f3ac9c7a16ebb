// Merges nested splits along one dim into one split, if the split parts have no other user.
//
//   a, b = split(x; [2,6]);  c, d = split(b; [1,5])  ->  a, c, d = split(x; [2,1,5])
//
// At any depth, however unbalanced, all at once: a function, since rules would rebuild a chain of
// splits for each link. Only splits by sizes (normalize_splits converts the others to these) with
// one checkpoint tag. A match is one inner split: two calls, and the part between them.
#include <algorithm>

#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

class SplitMerger {
 public:
  SplitMerger(Graph& graph, const OpRegistry& ops)
      : graph_(graph), ops_(ops), is_returned_(graph.value_capacity()),
        inner_(graph.value_capacity()) {
    for (const Return& r : graph.returns()) is_returned_[r.value.v] = true;
  }

  Result<PassCount> run() {
    std::vector<NodeId> outermost;
    PassCount count;
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) {
      if (!is_split(n)) continue;
      const ValueId part = graph_.node(n).inputs[0];
      if (!is_nested(n, part)) {
        outermost.push_back(n);
        continue;
      }
      inner_[part.v] = n;
      ++count.matches;
      count.nodes += 3;
    }
    for (const NodeId n : outermost) CLEAVE_CHECK(merge(n));
    return count;
  }

 private:
  bool is_split(NodeId n) const { return graph_.node(n).op->name == "split_with_sizes"; }

  // Counted from the front. Avoids OpView, which lists all results, too many for each part.
  int64_t dim_of(NodeId n) const {
    const Node& node = graph_.node(n);
    const AttrValue* given = node.attrs.find(static_cast<uint16_t>(node.op->schema.find("dim")));
    return from_front(given ? given->get<Dim>()->value() : 0, graph_.type(node.inputs[0]).rank());
  }

  bool is_nested(NodeId n, ValueId part) const {
    const NodeId outer = graph_.value(part).def;
    return outer.valid() && is_split(outer) && graph_.node(outer).tag == graph_.node(n).tag &&
           graph_.use_count(part) == 1 && !is_returned_[part.v] && dim_of(outer) == dim_of(n);
  }

  void push_results(NodeId n, Values& todo) const {
    const Node& node = graph_.node(n);
    for (uint32_t k = node.output_count; k-- > 0;) todo.push_back(node.out(k));
  }

  Status merge(NodeId outer) {
    const int64_t dim = dim_of(outer);
    Values parts, todo;
    std::vector<NodeId> gone{outer};
    push_results(outer, todo);
    while (!todo.empty()) {
      const ValueId v = todo.back();
      todo.pop_back();
      if (const NodeId n = inner_[v.v]; n.valid()) {
        gone.push_back(n);
        push_results(n, todo);
      } else {
        parts.push_back(v);
      }
    }
    if (gone.size() == 1) return {};
    return replace(outer, dim, parts, gone);
  }

  Status replace(NodeId outer, int64_t dim, const Values& parts, const std::vector<NodeId>& gone) {
    const Node& first = graph_.node(outer);
    Shape sizes;
    for (const ValueId v : parts) sizes.push_back(graph_.type(v).shape[dim]);
    Builder b(graph_, ops_);
    b.insert_before(outer);
    b.set_loc(first.loc);
    b.set_tag(first.tag);
    const Values made =
        b.call("split_with_sizes", {first.inputs[0]}, {{"split_sizes", sizes}, {"dim", dim}});
    CLEAVE_CHECK(b.status());
    std::vector<std::string> names;
    for (size_t k = 0; k < parts.size(); ++k) {
      names.push_back(graph_.name(parts[k]));
      graph_.replace_uses(parts[k], made[k]);
    }
    // Inner splits were found after the outer ones that they use.
    for (size_t k = gone.size(); k-- > 0;) graph_.erase(gone[k]);
    for (size_t k = 0; k < made.size(); ++k) CLEAVE_CHECK(graph_.rename(made[k], names[k]));
    return {};
  }

  Graph& graph_;
  const OpRegistry& ops_;
  std::vector<bool> is_returned_;
  std::vector<NodeId> inner_;  // by value: the split that is the only user of a part
};

}  // namespace

Pass merge_splits() {
  return {.name = "merge_splits",
          .summary = "splits of parts of splits become one split",
          .run = [](Graph& g, const OpRegistry& ops) { return SplitMerger(g, ops).run(); }};
}

}  // namespace cleave
