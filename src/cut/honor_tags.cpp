#include "cut/honor_tags.h"

#include <algorithm>
#include <unordered_map>

#include "cut/cut_graph.h"
#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

class Repeater {
 public:
  Repeater(Graph& g, size_t results) : g_(g), forward_(g.node_capacity()) {
    std::vector<ValueId> open;
    size_t seen = 0;
    for (const Return& r : g.returns())
      if (r.kind == ReturnKind::result && (results == 0 || seen++ < results))
        open.push_back(r.value);
    while (!open.empty()) {
      const NodeId n = g.value(open.back()).def;
      open.pop_back();
      if (!n.valid() || forward_[n.v]) continue;
      forward_[n.v] = true;
      for (const ValueId in : g.node(n).inputs)
        if (in.valid()) open.push_back(in);
    }
    // What stands between is the forward's too: updates of running statistics.
    bool after = true;
    for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
      after = after && !forward_[n.v];
      forward_[n.v] = !after;
    }
  }

  Result<int64_t> run() {
    for (const NodeId n : g_.order()) {
      if (forward_[n.v]) continue;
      for (uint32_t k = 0; k < g_.node(n).inputs.size(); ++k) {
        const ValueId in = g_.node(n).inputs[k];
        if (!in.valid() || !runs_again(in)) continue;
        CLEAVE_CHECK(repeat(in, n));
        g_.set_input(n, k, again_.at(in.v));
      }
    }
    return count_;
  }

 private:
  bool is_forward(NodeId n) const { return n.v < forward_.size() && forward_[n.v]; }

  bool runs_again(ValueId v) const {
    const NodeId n = g_.value(v).def;
    if (!n.valid() || !is_forward(n)) return false;
    const Node& node = g_.node(n);
    return asks_recompute(node) && !runs_once(traits_of(node)) &&
           !feeds_later_region(g_, n, [this](NodeId user) { return is_forward(user); });
  }

  // Copies of v's call and of what it needs that runs again, in front of `reader`.
  Status repeat(ValueId value, NodeId reader) {
    std::vector<NodeId> open{g_.value(value).def};
    while (!open.empty()) {
      const NodeId n = open.back();
      const size_t depth = open.size();
      for (const ValueId in : g_.node(n).inputs)
        if (in.valid() && !again_.contains(in.v) && runs_again(in))
          open.push_back(g_.value(in).def);
      if (open.size() > depth) continue;
      open.pop_back();
      if (again_.contains(g_.node(n).out(0).v)) continue;
      CLEAVE_CHECK(repeat_call(g_, n, reader, again_));
      ++count_;
    }
    return {};
  }

  Graph& g_;
  std::vector<bool> forward_;                    // by node; those made here are not
  std::unordered_map<uint32_t, ValueId> again_;  // by value of the forward
  int64_t count_ = 0;
};

}  // namespace

Result<int64_t> honor_tags(Graph& g, size_t results) {
  bool any = false;
  for (NodeId n = g.first_node(); n.valid() && !any; n = g.next_node(n))
    any = asks_recompute(g.node(n));
  if (!any) return int64_t{0};
  return Repeater(g, results).run();
}

}  // namespace cleave
