#include "cut/pytorch_partition.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "cut/repeat_calls.h"
#include "cut/split_joint.h"
#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

using Nodes = std::vector<int32_t>;

PytorchBans bans_of(const PytorchOptions& options) {
  PytorchBans out = options.bans;
  if (options.aggressive) {
    out.used_far_apart = out.long_fusible_chains = false;
    out.materialized_backward = out.not_in_allowlist = false;
  }
  return out;
}

class SavedSet {
 public:
  SavedSet(const PytorchGraph& graph, const PytorchOptions& options, const MeasureCall& measure)
      : graph_(graph), options_(options), measure_(measure), bans_(bans_of(options)) {
    for (int32_t n = 0; n < graph.size(); ++n)
      if (const PytorchNode& node = graph.node(n);
          node.kind == PytorchNode::Kind::placeholder && !node.reads_tangents && !node.constant) {
        inputs_.push_back(n);
        symbol_is_input_ |= node.symbol != PytorchNode::Symbol::none;
      }
  }

  // Why a node may not run again in the cut that was chosen; empty where it may.
  std::string rule_against(int32_t n) const {
    const auto ban = std::find_if(bans_of_answer_.begin(), bans_of_answer_.end(),
                                  [&](const auto& b) { return b.node == n; });
    return ban == bans_of_answer_.end() ? "" : ban->why;
  }

  Result<Nodes> at(double budget) {
    step_ = Step::inputs_alone;
    if (budget == 0) return inputs_;
    step_ = Step::first;
    CLEAVE_TRY(const PytorchCut first, pytorch_min_cut(graph_, bans_));
    bans_of_answer_ = first.banned;
    if (budget == 1 || bytes_of(first.saved) <= bytes_of(inputs_)) return first.saved;
    range_ = bytes_of(first.saved) - bytes_of(inputs_);
    range_gigabytes_ = gigabytes_of(first.saved) - gigabytes_of(inputs_);
    step_ = Step::second;
    bans_.used_far_apart = bans_.long_fusible_chains = bans_.materialized_backward = false;
    CLEAVE_TRY(const PytorchCut second, pytorch_min_cut(graph_, bans_));
    bans_of_answer_ = second.banned;
    if (part_of_range(second.saved) < budget) return second.saved;
    step_ = Step::third;
    CLEAVE_CHECK(find_choices());
    bans_of_answer_ = third_.banned;
    if (part_of_range(third_.saved) < budget) return third_.saved;
    if (items_.empty()) {
      step_ = Step::must_save_alone;
      Nodes saved = inputs_;
      saved.insert(saved.end(), must_save_.begin(), must_save_.end());
      return saved;
    }
    step_ = Step::knapsack;
    return choose(budget);
  }

  PytorchAccount account() const {
    PytorchAccount out{.step = step_, .range_bytes = range_, .capacity_bytes = capacity_};
    std::map<std::string, int64_t> bans;
    for (const PytorchCut::Ban& ban : bans_of_answer_) ++bans[ban.why];
    out.bans.assign(bans.begin(), bans.end());
    std::ranges::stable_sort(out.bans, std::greater(), [](const auto& b) { return b.second; });
    if (step_ != Step::knapsack) return out;
    const Graph& g = graph_.joint().graph();
    for (size_t i = 0; i < items_.size(); ++i)
      out.items.push_back({g.name(g.node(graph_.node(choices_[i]).call).out(0)), items_[i].memory,
                           items_[i].value, !may_run_again_[static_cast<size_t>(choices_[i])]});
    return out;
  }

 private:
  using Step = PytorchAccount::Step;

  int64_t bytes_of(const Nodes& nodes) const {
    int64_t sum = 0;
    for (int32_t n : nodes) sum += graph_.node(n).bytes;
    return sum;
  }
  // In PyTorch's floats, which decide where a part just meets a budget.
  double gigabytes_of(const Nodes& nodes) const {
    return static_cast<double>(bytes_of(nodes)) / 1e9;
  }
  double part_of_range(const Nodes& saved) const {
    return (gigabytes_of(saved) - gigabytes_of(inputs_)) / range_gigabytes_;
  }

  // The calls that the third cut bans, largest first: each is an item of the knapsack.
  Status find_choices() {
    bans_.not_in_allowlist = false;
    CLEAVE_TRY(third_, pytorch_min_cut(graph_, bans_));
    for (const PytorchCut::Ban& ban : third_.banned) {
      const PytorchNode& n = graph_.node(ban.node);
      if (n.distance >= PytorchGraph::far || lies_in_input(n)) continue;
      const bool saved = n.once || n.tag.policy == Recompute::must_save;
      (saved ? must_save_ : choices_).push_back(ban.node);
    }
    std::stable_sort(choices_.begin(), choices_.end(), [&](int32_t a, int32_t b) {
      return graph_.node(a).bytes > graph_.node(b).bytes;
    });
    for (int32_t n : choices_) {
      CLEAVE_TRY(const int64_t runtime, runtime_of(graph_.node(n).call));
      items_.push_back({graph_.node(n).bytes, runtime});
    }
    return {};
  }

  // As PyTorch asks it: symbols and calls with several results have no memory, which is one and the
  // same "none" for it, and lie in an input where a symbol is one.
  bool lies_in_input(const PytorchNode& n) const {
    const JointView& joint = graph_.joint();
    if (!n.value.valid() || n.symbol != PytorchNode::Symbol::none) return symbol_is_input_;
    return joint.graph().placeholder_of(joint.storage(n.value)) != nullptr;
  }

  Result<int64_t> runtime_of(NodeId call) const {
    const Graph& g = graph_.joint().graph();
    switch (options_.estimator) {
      case RuntimeEstimator::testing: return 1;
      case RuntimeEstimator::flops: return std::max<int64_t>(pytorch_flops(g, call), 1);
      case RuntimeEstimator::profile: break;
    }
    if (!measure_)
      return user_error("estimator profile: nothing is timed while a program is compiled");
    CLEAVE_TRY(const int64_t ns, measure_(g, call));
    return std::max<int64_t>(ns, 1);
  }

  Result<Nodes> choose(double budget) {
    capacity_ = static_cast<int64_t>(budget * static_cast<double>(range_));
    CLEAVE_TRY(const Knapsack kept,
               solve_knapsack(items_, capacity_, range_, options_.solver,
                              KnapsackFloats{.range = range_gigabytes_, .budget = budget}));
    may_run_again_.assign(static_cast<size_t>(graph_.size()), false);
    for (size_t i = 0; i < items_.size(); ++i)
      if (!std::binary_search(kept.kept.begin(), kept.kept.end(), i))
        may_run_again_[static_cast<size_t>(choices_[i])] = true;
    CLEAVE_TRY(PytorchCut cut, pytorch_min_cut(graph_, bans_, may_run_again_));
    bans_of_answer_ = std::move(cut.banned);
    return std::move(cut.saved);
  }

  const PytorchGraph& graph_;
  const PytorchOptions& options_;
  const MeasureCall& measure_;
  PytorchBans bans_;
  Nodes inputs_, choices_, must_save_;
  bool symbol_is_input_ = false;
  std::vector<KnapsackItem> items_;  // of choices_
  PytorchCut third_;
  std::vector<PytorchCut::Ban> bans_of_answer_;
  std::vector<bool> may_run_again_;  // by node, from the knapsack on
  int64_t range_ = 0, capacity_ = 0;
  double range_gigabytes_ = 0;
  Step step_ = Step::first;
};

Status check(const PytorchOptions& o) {
  if (o.budget >= 0 && o.budget <= 1) return {};
  return user_error("--budget {}: in mode pytorch it is a part of the saved bytes, expected 0 to 1",
                    o.budget);
}

// That of the first call with a tag, else that of the options.
double budget_of(const Graph& joint, const PytorchOptions& options) {
  for (NodeId n = joint.first_node(); n.valid(); n = joint.next_node(n))
    if (joint.node(n).tag.memory_budget) return *joint.node(n).tag.memory_budget;
  return options.budget;
}

// Flops as PyTorch counts them; a call with several results counts once.
void count_flops(const Graph& joint, Partition& cut) {
  std::set<NodeId> counted;
  cut.recompute_flops = 0;
  for (RecomputedValue& r : cut.recomputed) {
    const NodeId n = joint.value(joint.find(r.name)).def;
    r.flops = counted.insert(n).second ? pytorch_flops(joint, n) : 0;
    cut.recompute_flops += r.flops;
  }
}

// PyTorch finds equal calls by their Python hash, which is the same for -1 and -2: of calls that
// differ only in such numbers it remembers the first and merges none of the others.
class PythonLookup {
 public:
  explicit PythonLookup(const Graph& g) : g_(g) {}
  // To be called once for each call in order, after its operands were merged.
  bool may_merge(NodeId n) {
    const Node& node = g_.node(n);
    uint64_t h = mixed(reinterpret_cast<uintptr_t>(node.op), node.list_size);
    for (ValueId v : node.inputs) h = mixed(h, v.v);
    for (const auto& [arg, value] : node.attrs.given())
      h = mixed(mixed(h, arg), as_hashed(value).hash());
    const auto [it, fresh] = first_.try_emplace(h, n);
    if (fresh) return true;
    const Node& first = g_.node(it->second);
    return first.op == node.op && first.inputs == node.inputs && first.attrs == node.attrs;
  }

 private:
  static uint64_t mixed(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
  }
  static AttrValue as_hashed(const AttrValue& v) {
    if (const Dim* d = v.get<Dim>(); d && *d == Dim(-1)) return Dim(-2);
    if (const double* x = v.get<double>(); x && *x == -1) return -2.0;
    const AttrList* list = v.get<AttrList>();
    if (!list) return v;
    AttrList out;
    for (const AttrValue& item : *list) out.push_back(as_hashed(item));
    return out;
  }

  const Graph& g_;
  std::unordered_map<uint64_t, NodeId> first_;
};

// Random calls stay, and so what they read: they change the generator's state in PyTorch.
void drop_what_nothing_reads(Graph& g) {
  std::set<ValueId> returned;
  for (const Return& r : g.returns()) returned.insert(r.value);
  for (NodeId n = g.last_node(); n.valid();) {
    const NodeId before = g.prev_node(n);
    const Node& node = g.node(n);
    bool is_kept = has(traits_of(node), Trait::effect) || has(traits_of(node), Trait::random);
    for (uint32_t k = 0; k < node.output_count && !is_kept; ++k)
      is_kept = !g.uses(node.out(k)).empty() || returned.contains(node.out(k));
    if (!is_kept) g.erase(n);
    n = before;
  }
}

}  // namespace

void simplify_as_pytorch(Graph& joint) {
  drop_what_nothing_reads(joint);
  std::set<ValueId> returned;
  for (const Return& r : joint.returns()) returned.insert(storage_of(joint, r.value));
  PythonLookup lookup(joint);
  eliminate_common_subexpressions(joint, [&](NodeId n) {
    const Node& node = joint.node(n);
    // Random in PyTorch, which therefore doesn't merge such calls.
    if (node.op->name == "empty" || node.op->name == "_scaled_dot_product_efficient_attention")
      return false;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (returned.contains(storage_of(joint, node.out(k)))) return false;
    return lookup.may_merge(n);
  });
}

std::string_view name_of(PytorchAccount::Step step) {
  using enum PytorchAccount::Step;
  switch (step) {
    case inputs_alone: return "the inputs alone";
    case first: return "the first cut, with all bans";
    case second: return "the second cut, with fewer bans";
    case third: return "the third cut, without not_in_allowlist";
    case must_save_alone: return "the inputs, and what must be saved";
    case knapsack: break;
  }
  return "a knapsack over what the third cut bans";
}

Result<std::optional<flow::FailedNetwork>> pytorch_conflict(const Graph& joint,
                                                            const PytorchOptions& options) {
  CLEAVE_TRY(const JointView view, JointView::make(joint));
  return pytorch_failed_network(PytorchGraph(view), bans_of(options));
}

Result<Partition> pytorch_partition(const Graph& joint, const PytorchOptions& options,
                                    PytorchAccount* account, const MeasureCall& measure) {
  CLEAVE_CHECK(check(options));
  CLEAVE_TRY(const JointView view, JointView::make(joint));
  const PytorchGraph graph(view);
  SavedSet set(graph, options, measure);
  CLEAVE_TRY(const Nodes saved, set.at(budget_of(joint, options)));
  if (account) *account = set.account();
  std::vector<bool> is_saved(joint.value_capacity());
  std::map<ValueId, std::string> banned;
  for (int32_t n : saved)
    if (const ValueId v = graph.node(n).value; v.valid()) {
      is_saved[v.v] = true;
      banned[v] = set.rule_against(n);
    }
  CLEAVE_TRY(Partition cut, split_joint(view, [&](ValueId v) -> KeepChoice {
               if (is_saved[v.v])
                 return {Keep::save, banned[v].empty() ? "in the minimum cut"
                                                       : "may not run again, " + banned[v]};
               // Budget 0 saves the inputs alone, whatever the calls are.
               if (const char* once = runs_once_because(joint.node(joint.value(v).def)))
                 return {Keep::save, once};
               return {Keep::recompute, "not in the minimum cut"};
             }));
  count_flops(joint, cut);
  return cut;
}

Result<int64_t> repeat_as_pytorch(Graph& g, size_t results, const PytorchOptions& options) {
  CLEAVE_CHECK(check(options));
  CLEAVE_TRY(const JointView view, JointView::of_program(g, results));
  const PytorchGraph graph(view);
  SavedSet set(graph, options, {});
  CLEAVE_TRY(const Nodes saved, set.at(budget_of(g, options)));
  std::vector<bool> is_saved(g.value_capacity()), runs_again(g.node_capacity());
  for (int32_t n : saved)
    if (const ValueId v = graph.node(n).value; v.valid()) is_saved[v.v] = true;
  // From the backward back to what is saved.
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    if (!runs_again[n.v] && view.half(n) != Half::backward) continue;
    for (ValueId in : g.node(n).inputs) {
      const NodeId def = in.valid() ? g.value(in).def : NodeId();
      if (!def.valid() || is_saved[in.v] || view.half(def) != Half::forward) continue;
      if (!runs_once_because(g.node(def))) runs_again[def.v] = true;
    }
  }
  return repeat_calls(g, forward_calls(g, results), [&](NodeId n) { return runs_again[n.v]; });
}

}  // namespace cleave
