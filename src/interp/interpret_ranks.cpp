#include "interp/interpret_ranks.h"

#include <numeric>

#include "interp/graph_run.h"
#include "interp/interpret.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

using Lists = std::vector<std::vector<int>>;

Status check_group(const std::string& name, const Lists& lists, size_t ranks) {
  std::vector<int> seen(ranks);
  for (const std::vector<int>& list : lists)
    for (const int rank : list) {
      if (rank < 0 || std::cmp_greater_equal(rank, ranks))
        return user_error("interpret_ranks: group {} names rank {}, expected one of {} ranks",
                          quoted(name), rank, ranks);
      ++seen[static_cast<size_t>(rank)];
    }
  for (size_t rank = 0; rank < ranks; ++rank)
    if (seen[rank] != 1)
      return user_error("interpret_ranks: group {} names rank {} {} times, expected once",
                        quoted(name), rank, seen[rank]);
  return {};
}

// The runs of all ranks, which advance node by node together.
class Ranks {
 public:
  Ranks(std::vector<GraphRun> runs, const RankGroups& groups)
      : runs_(std::move(runs)), groups_(groups), all_(1, std::vector<int>(runs_.size())) {
    std::iota(all_[0].begin(), all_[0].end(), 0);
  }

  Result<std::vector<Arrays>> finish() {
    for (size_t k = 0; k < runs_[0].size(); ++k) CLEAVE_CHECK(step(k));
    std::vector<Arrays> out;
    for (const GraphRun& run : runs_) out.push_back(run.results(Results::stored));
    return out;
  }

 private:
  Status step(size_t k) {
    const Node& node = node_of(runs_[0], k);
    if (node.op->ranks) {
      for (const std::vector<int>& list : lists_of(node)) CLEAVE_CHECK(meet(k, list));
      return {};
    }
    if (!has(node.op->traits, Trait::collective) && has(traits_of(node), Trait::collective))
      return at_line(runs_[0].graph(), runs_[0].node(k),
                     unsupported("{}: a collective within a subgraph is not covered: ranks may "
                                 "take other branches (src/interp/interpret_ranks.cpp)",
                                 node.op->name));
    for (GraphRun& run : runs_) {
      CLEAVE_TRY(Arrays results, run_node(run.graph(), run.node(k), run.operands(k)));
      run.store(k, std::move(results));
    }
    return {};
  }

  static const Node& node_of(const GraphRun& run, size_t k) {
    return run.graph().node(run.node(k));
  }

  const Lists& lists_of(const Node& node) const {
    const int arg = node.op->schema.find("group_name");
    const AttrValue* name = arg < 0 ? nullptr : node.attrs.find(static_cast<uint16_t>(arg));
    const std::string* text = name ? name->get<std::string>() : nullptr;
    const auto it = text ? groups_.find(*text) : groups_.end();
    return it == groups_.end() ? all_ : it->second;
  }

  // Runs the k-th call on the ranks of one list of its group.
  Status meet(size_t k, const std::vector<int>& list) {
    if (list.empty()) return {};
    const GraphRun& first = at(list[0]);
    RankArrays in;
    for (const int rank : list) {
      in.push_back(at(rank).operands(k));
      CLEAVE_CHECK(same_operands(k, list[0], rank));
    }
    auto results =
        (*first.graph().node(first.node(k)).op).ranks(first.graph().view(first.node(k)), in);
    if (!results.ok()) return at_line(first.graph(), first.node(k), std::move(results).failure());
    if (results->size() != list.size())
      return at_line(first.graph(), first.node(k),
                     bug("{} results for {} ranks", results->size(), list.size()));
    for (size_t r = 0; r < list.size(); ++r) {
      GraphRun& run = at(list[r]);
      CLEAVE_TRY(Arrays settled_results,
                 settled(run.graph(), run.node(k), std::move((*results)[r])));
      run.store(k, std::move(settled_results));
    }
    return {};
  }

  Status same_operands(size_t k, int a, int b) {
    const GraphRun &x = at(a), &y = at(b);
    const std::vector<ValueId>&u = node_of(x, k).inputs, &v = node_of(y, k).inputs;
    for (size_t i = 0; i < u.size(); ++i) {
      const Type &s = x.graph().type(u[i]), &t = y.graph().type(v[i]);
      if (s.dtype != t.dtype || s.shape != t.shape)
        return at_line(x.graph(), x.node(k),
                       user_error("{}: operand {} is {} on rank {} and {} on rank {}, expected one "
                                  "type in a group",
                                  node_of(x, k).op->name, i, s.text(), a, t.text(), b));
    }
    return {};
  }

  GraphRun& at(int rank) { return runs_[static_cast<size_t>(rank)]; }

  std::vector<GraphRun> runs_;
  const RankGroups& groups_;
  Lists all_;
};

}  // namespace

Result<std::vector<Arrays>> interpret_ranks(const Graph& g,
                                            std::span<const std::map<std::string, Array>> inputs,
                                            const RankGroups& groups) {
  if (inputs.empty()) return user_error("interpret_ranks: expected at least one rank");
  for (const auto& [name, lists] : groups) CLEAVE_CHECK(check_group(name, lists, inputs.size()));
  std::vector<GraphRun> runs;
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    const auto on_rank = [&](Failure f) {
      return std::move(f).within(fmt::format("rank {}", rank));
    };
    auto in = by_placeholder(g, inputs[rank]);
    if (!in.ok()) return on_rank(std::move(in).failure());
    auto run = GraphRun::start(g, *in);
    if (!run.ok()) return on_rank(std::move(run).failure());
    runs.push_back(*std::move(run));
  }
  return Ranks(std::move(runs), groups).finish();
}

}  // namespace cleave
