#include "remat/whole_candidates.h"

#include <algorithm>
#include <memory>

#include "cut/join_forward_backward.h"
#include "cut/repeat_calls.h"
#include "ir/edit.h"
#include "remat/cheap_remat.h"
#include "remat/exact_partition.h"

namespace cleave {
namespace {

// Each candidate that is considered is fused and lowered, so together they have at most so many
// calls, but there are at least min_points.
constexpr int64_t max_calls = 10000, min_points = 8;
constexpr size_t max_searched = 200;  // in larger graphs the search would dominate the compile time

// The frontier of a graph, which it owns.
class Frontier {
 public:
  static Result<std::shared_ptr<const Frontier>> make(const Graph& graph, size_t forward_results,
                                                      const MachineRates& rates) {
    auto held = std::make_unique<Graph>(graph);
    const size_t results = held->is_joint() ? 0 : forward_results;
    const Between between =
        held->node_count() > max_searched ? Between::connected_parts : Between::searched;
    CLEAVE_TRY(ExactCut exact, ExactCut::of(*held, rates, Returned::free, results, between));
    return std::shared_ptr<const Frontier>(
        new Frontier(std::move(held), std::move(exact), results));
  }

  const std::vector<CutPoint>& points() const { return exact_.points(); }

  Result<Graph> program(size_t point) const {
    if (graph_->is_joint()) {
      CLEAVE_TRY(const Partition cut, exact_.partition_at(point));
      return join_forward_backward(*graph_, cut);
    }
    Graph out = *graph_;
    const std::vector<uint8_t> again = exact_.recompute_at(point);
    const Result<int64_t> copied =
        repeat_calls(out, forward_calls(*graph_, results_), [&](NodeId n) {
          const int32_t call = exact_.graph().call(n);
          return call >= 0 && again[static_cast<size_t>(call)] != 0;
        });
    if (!copied.ok()) return Failure(copied.failure());
    eliminate_dead_code(out);
    return out;
  }

 private:
  Frontier(std::unique_ptr<Graph> graph, ExactCut exact, size_t results)
      : graph_(std::move(graph)), exact_(std::move(exact)), results_(results) {}

  const std::unique_ptr<const Graph> graph_;
  const ExactCut exact_;
  const size_t results_;
};

// Adds points of the frontier; none if making it is a user error.
Status add_points(const Graph& graph, size_t forward_results, const MachineRates& rates,
                  std::vector<WholeCandidate>& out) {
  const auto made = Frontier::make(graph, forward_results, rates);
  if (!made.ok()) return made.failure().kind == ErrorKind::user ? Status() : made.failure();
  const std::shared_ptr<const Frontier>& frontier = *made;
  const size_t count = frontier->points().size();
  const auto calls = std::max<int64_t>(1, static_cast<int64_t>(graph.node_count()));
  const auto most =
      std::min<int64_t>(std::ssize(frontier->points()), std::max(min_points, max_calls / calls));
  for (int64_t k = 0; k < most; ++k) {
    const size_t point =
        most == 1 ? 0 : static_cast<size_t>(k) * (count - 1) / static_cast<size_t>(most - 1);
    out.push_back({frontier->points()[point].cost_ns,
                   [frontier, point] { return frontier->program(point); }});
  }
  return {};
}

}  // namespace

Result<std::vector<WholeCandidate>> whole_candidates(const Graph& graph, size_t forward_results,
                                                     const MachineRates& rates) {
  std::vector<WholeCandidate> out;
  if (graph.is_joint() || forward_results > 0)
    CLEAVE_CHECK(add_points(graph, forward_results, rates, out));
  auto cheap = std::make_shared<Graph>(graph);
  CLEAVE_TRY(const CheapRemat kept, cheap_remat(*cheap, rates));
  if (kept.calls > 0)
    out.push_back({kept.recompute_ns, [cheap]() -> Result<Graph> { return *cheap; }});
  std::ranges::stable_sort(out, {}, &WholeCandidate::recompute_ns);
  return out;
}

}  // namespace cleave
