#include "schedule/group_orders.h"

#include <algorithm>

namespace cleave {
namespace {

class Orderer {
 public:
  Orderer(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<ValueId>& results)
      : g_(graph), nodes_(nodes), results_(results) {}

  GroupOrders run(const std::vector<ValueId>& folded) {
    if (!folded.empty()) find_reads();
    for (const ValueId v : folded) fold(v);
    for (const NodeId n : nodes_) {
      ReadOrders reads = read_orders(g_, n, [&](ValueId v) { return of_operand(v); });
      for (uint32_t k = 0; k < g_.node(n).output_count; ++k) {
        const ValueId v = g_.node(n).out(k);
        if (std::ranges::find(results_, v) != results_.end()) place(v, reads);
        reads_[v.v] = reads;
      }
    }
    GroupOrders out;
    const Reorder back = folded.empty() ? most_common().inverse() : Reorder(numel(folded[0]));
    for (const ValueId v : results_)
      if (const std::optional<Reorder> order = back.then(at_.at(v.v)); order && !order->is_same())
        out.emplace(v.v, *order);
    return out;
  }

 private:
  int64_t numel(ValueId v) const { return numel_of(static_shape(g_.type(v))); }

  ReadOrders of_operand(ValueId v) const {
    const auto it = reads_.find(v.v);
    ReadOrders out = it == reads_.end() ? ReadOrders() : it->second;
    if (it == reads_.end() || at_.contains(v.v)) out.insert_or_assign(v.v, Reorder(numel(v)));
    return out;
  }

  void find_reads() {
    for (const NodeId n : nodes_)
      for (uint32_t k = 0; k < g_.node(n).output_count; ++k)
        reads_[g_.node(n).out(k).v] = read_orders(g_, n, [&](ValueId v) { return of_operand(v); });
  }

  void fold(ValueId v) {
    at_.insert_or_assign(v.v, Reorder(numel(v)));
    for (const auto& [u, read] : reads_[v.v]) at_.emplace(u, read);
  }

  // Where the first result lies, or what it and an earlier one read.
  void place(ValueId result, const ReadOrders& reads) {
    std::optional<Reorder> at;
    for (const auto& [v, read] : reads) {
      const auto known = at_.find(v);
      if (known == at_.end()) continue;
      const std::optional<Reorder> found = known->second.then(read.inverse());
      if (found && (!at || found->is_same())) at = found;
    }
    if (!at) at = Reorder(numel(result));
    at_.insert_or_assign(result.v, *at);
    for (const auto& [v, read] : reads)
      if (const std::optional<Reorder> all = at->then(read)) at_.emplace(v, *all);
  }

  // Of the results' orders that in which most values lie.
  const Reorder& most_common() const {
    const Reorder* best = nullptr;
    int64_t most = -1;
    for (const ValueId v : results_) {
      const Reorder& order = at_.at(v.v);
      const auto count =
          std::ranges::count_if(at_, [&](const auto& x) { return x.second == order; });
      if (count > most) best = &order, most = count;
    }
    return *best;
  }

  const Graph& g_;
  const std::vector<NodeId>& nodes_;
  const std::vector<ValueId>& results_;
  std::unordered_map<uint32_t, ReadOrders> reads_;  // of the values that the group makes
  std::unordered_map<uint32_t, Reorder> at_;        // from the first result's number
};

}  // namespace

bool keeps_rows(const Reorder& order, int64_t row_elements) {
  const Reorder::Digit& last = order.digits().back();
  return last.to == 1 && last.extent % row_elements == 0;
}

GroupOrders order_results(const Graph& graph, const std::vector<NodeId>& nodes,
                          const std::vector<ValueId>& results, const std::vector<ValueId>& folded) {
  if (results.size() + std::min<size_t>(folded.size(), 1) < 2 || results.empty()) return {};
  return Orderer(graph, nodes, results).run(folded);
}

}  // namespace cleave
