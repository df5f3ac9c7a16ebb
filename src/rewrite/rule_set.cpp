#include "rewrite/rule_set.h"

#include <chrono>

#include "ir/subgraph.h"
#include "rewrite/matcher.h"
#include "rewrite/replace.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

// One run over one graph.
class Rewriting {
 public:
  Rewriting(Graph& graph, const OpRegistry& ops, const std::vector<CompiledRule>& rules,
            const std::unordered_map<const OpDef*, std::vector<uint32_t>>& by_anchor,
            const RuleSet::Options& options, std::vector<RuleCount>& counts)
      : graph_(graph), rules_(rules), by_anchor_(by_anchor), options_(options), counts_(counts),
        replacer_(graph, ops), matchers_(rules.size()),
        left_(1000 + 20 * static_cast<int64_t>(graph.node_count())) {}

  Result<bool> run() {
    bool changed = false;
    for (bool again = true; again;) {
      again = false;
      const std::vector<NodeId> order = graph_.order();
      for (size_t i = order.size(); i-- > 0;) {
        todo_.push_back(order[i]);
        while (!todo_.empty()) {
          const NodeId n = todo_.back();
          todo_.pop_back();
          if (graph_.node(n).erased) continue;
          CLEAVE_TRY(const bool rewritten, try_at(n));
          again |= rewritten;
        }
      }
      changed |= again;
    }
    if (changed) CLEAVE_CHECK(graph_.refresh_types());
    return changed;
  }

 private:
  Result<bool> try_at(NodeId n) {
    const auto it = by_anchor_.find(graph_.node(n).op);
    if (it == by_anchor_.end()) return false;
    for (const uint32_t r : it->second) {
      if (rules_[r].rule->rounds && options_.strict) continue;
      const auto begin = options_.times ? Clock::now() : Clock::time_point();
      const Result<bool> rewritten = try_rule(r, n);
      if (options_.times)
        counts_[r].ms += std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
      if (!rewritten.ok() || *rewritten) return rewritten;
    }
    return false;
  }

  Result<bool> try_rule(uint32_t r, NodeId n) {
    if (!matchers_[r])
      matchers_[r] = std::make_unique<Matcher>(graph_, rules_[r], replacer_.is_returned());
    Matcher& matcher = *matchers_[r];
    const Matcher::Found found = matcher.find(n);
    counts_[r].refused += found == Matcher::Found::refused;
    if (found != Matcher::Found::yes) return false;
    const Rule& rule = *rules_[r].rule;
    const int64_t size = matcher.match().size();
    CLEAVE_TRY(const Replaced done, replacer_.replace(rule, matcher.match()));
    if (!done.is_done) {
      ++counts_[r].refused;
      return false;
    }
    if (--left_ < 0)
      return bug(
          "rule {} at %{}: it still fits after 20 rewrites for each call: does another rule "
          "undo it?",
          rule.name, graph_.name(done.values[0]));
    ++counts_[r].matches;
    counts_[r].nodes += size;
    try_again(done);
    return true;
  }

  // Queues the users of changed values and, to be taken first, the new calls, the last one first.
  void try_again(const Replaced& done) {
    for (const ValueId v : done.values)
      if (v.valid() && graph_.use_count(v) <= max_readers)
        for (const Use& use : graph_.uses(v)) todo_.push_back(use.node);
    todo_.insert(todo_.end(), done.made.begin(), done.made.end());
  }
  static constexpr uint32_t max_readers = 8;  // the next sweep finds any others

  Graph& graph_;
  const std::vector<CompiledRule>& rules_;
  const std::unordered_map<const OpDef*, std::vector<uint32_t>>& by_anchor_;
  const RuleSet::Options& options_;
  std::vector<RuleCount>& counts_;
  Replacer replacer_;
  std::vector<std::unique_ptr<Matcher>> matchers_;
  std::vector<NodeId> todo_;  // a stack
  int64_t left_;              // rewrites still allowed
};

}  // namespace

Result<RuleSet> RuleSet::make(std::vector<Rule> rules, const OpRegistry& ops) {
  RuleSet set;
  set.rules_ = std::make_shared<const std::vector<Rule>>(std::move(rules));
  for (const Rule& rule : *set.rules_) {
    CLEAVE_TRY(CompiledRule compiled, compile_rule(rule, ops));
    for (const OpDef* op : compiled.anchors)
      set.by_anchor_[op].push_back(static_cast<uint32_t>(set.compiled_.size()));
    set.compiled_.push_back(std::move(compiled));
  }
  return set;
}

Result<bool> RuleSet::apply_here(Graph& graph, const OpRegistry& ops, const Options& options,
                                 std::vector<RuleCount>& counts) const {
  return Rewriting(graph, ops, compiled_, by_anchor_, options, counts).run();
}

Result<std::vector<RuleCount>> RuleSet::apply(Graph& graph, const OpRegistry& ops,
                                              const Options& options) const {
  std::vector<RuleCount> counts;
  for (const Rule& rule : *rules_) counts.push_back({rule.name});
  const Result<bool> changed = apply_here(graph, ops, options, counts);
  if (!changed.ok()) return Failure(changed.failure());
  CLEAVE_CHECK(
      rewrite_subgraphs(graph, [&](Graph& sub) { return apply_here(sub, ops, options, counts); }));
  return counts;
}

}  // namespace cleave
