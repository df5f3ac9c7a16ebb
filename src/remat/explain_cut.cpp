#include "remat/explain_cut.h"

#include <map>

#include "flow/frontier.h"

namespace cleave {
namespace {

class CutExplainer {
 public:
  CutExplainer(const ExactCut& exact, const Partition& cut)
      : exact_(exact), graph_(exact.graph()), g_(graph_.joint().graph()) {
    for (const SavedValue& s : cut.saved) fate_[g_.find(s.name)] = Fate::saved;
    for (const RecomputedValue& r : cut.recomputed) fate_[g_.find(r.name)] = Fate::recomputed;
    for (const Return& r : g_.returns())
      if (r.kind != ReturnKind::grad) returned_.push_back(r.value);
    int64_t saved = 0;
    for (const auto& [v, fate] : fate_)
      if (fate == Fate::saved && graph_.value(v) >= 0)
        saved += graph_.flow().bytes[static_cast<size_t>(graph_.value(v))];
    const auto& corners = exact.frontier().corners();
    while (at_ + 1 < corners.size() && corners[at_ + 1].bytes >= saved) ++at_;
  }

  std::vector<ValueExplanation> all() {
    for (const Placeholder& p : g_.placeholders())
      if (fate_.contains(p.value)) add(p.value).reason = "a placeholder, in memory anyway";
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n)) {
      if (graph_.call(n) < 0) continue;
      const Node& node = g_.node(n);
      for (uint32_t k = 0; k < node.output_count; ++k) explain(n, node.out(k));
    }
    return std::move(out_);
  }

 private:
  ValueExplanation& add(ValueId v) {
    const auto at = fate_.find(v);
    out_.push_back({.name = g_.name(v), .bytes = graph_.joint().bytes(v)});
    if (at != fate_.end()) out_.back().fate = at->second;
    return out_.back();
  }

  void explain(NodeId n, ValueId v) {
    const bool in_forward = graph_.joint().half(n) == Half::forward;
    if (!in_forward && !fate_.contains(v)) return;
    ValueExplanation& s = add(v);
    s.recompute_ns = graph_.flow().cost[static_cast<size_t>(graph_.call(n))];
    if (s.fate == Fate::forward_only) {
      s.reason = "the backward doesn't need it";
      return;
    }
    s.reason = graph_.constraint_on(v);
    if (!s.reason.empty()) return;
    const bool returned = std::find(returned_.begin(), returned_.end(), v) != returned_.end();
    if (s.fate == Fate::saved && returned) {
      s.reason = "returned, in memory anyway";
      return;
    }
    if (!in_forward && s.fate == Fate::saved) s.reason = "runs once anyway; ";
    explain_by_price(s, exact_.frontier().corner_of_call()[static_cast<size_t>(graph_.call(n))]);
  }

  void explain_by_price(ValueExplanation& s, int32_t corner) {
    const auto& corners = exact_.frontier().corners();
    const bool again = s.fate == Fate::recomputed;
    if (corner == flow::Frontier::never) {
      s.reason += again ? "found by search between corners" : "cheaper to save at any price";
      return;
    }
    if (corner == 0) {
      s.reason += again ? "costs nothing" : "found by search between corners";
      return;
    }
    const auto c = static_cast<size_t>(corner);
    const double price =
        static_cast<double>(corners[c].price.cost) / static_cast<double>(corners[c].price.bytes);
    if (again ? c > at_ + 1 : c <= at_) {
      s.reason += "found by search between corners";
      return;
    }
    s.reason +=
        fmt::format("price: a byte is worth {} {:.3g} ns", again ? "at least" : "less than", price);
    s.corner = again ? c - 1 : c;
    s.change = again ? fmt::format("saved where {} B may be saved", corners[c - 1].bytes)
                     : fmt::format("recomputed where at most {} B may be", corners[c].bytes);
  }

  const ExactCut& exact_;
  const CutGraph& graph_;
  const Graph& g_;
  std::map<ValueId, Fate> fate_;
  std::vector<ValueId> returned_;
  size_t at_ = 0;  // the last corner that saves at least as much as the cut
  std::vector<ValueExplanation> out_;
};

}  // namespace

std::vector<ValueExplanation> explain_cut(const ExactCut& exact, const Partition& cut) {
  return CutExplainer(exact, cut).all();
}

}  // namespace cleave
