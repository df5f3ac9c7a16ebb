#include "flow/partition_network.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace cleave::flow {
namespace {

constexpr int32_t from_source = -1, no_arc = -2;  // in place of an arc's tail node

struct ValueState {
  int32_t tail = no_arc;     // of the arcs to its readers
  int32_t last_reader = -1;  // so that an operand that a call reads twice counts once
  uint8_t readers = 0;       // calls whose side isn't fixed; 2 stands for 2 or more
  bool wanted = false;       // the backward or a call that is always recomputed reads it
  bool unavailable = false;  // it can be neither saved nor recomputed
};

class Builder {
 public:
  explicit Builder(const ForwardGraph& g)
      : g_(g), values_(g.bytes.size()), side_(g.cost.size(), Side::open) {}

  // Finds the calls that can't be recomputed. Returns the first needed value that is unavailable,
  // or -1.
  int32_t mark_never();
  void mark_always_and_useless();
  PartitionNetwork number();

 private:
  enum class Side : uint8_t { open, never, always };

  static size_t index(int32_t i) { return static_cast<size_t>(i); }
  ValueState& value(int32_t v) { return values_[index(v)]; }
  std::span<const int32_t> operands(int32_t n) const {
    return {g_.operand.data() + g_.operand_begin[index(n)],
            g_.operand.data() + g_.operand_begin[index(n) + 1]};
  }
  int32_t first_result(int32_t n) const { return g_.result_begin[index(n)]; }
  int32_t end_result(int32_t n) const { return g_.result_begin[index(n) + 1]; }
  int32_t add_node(int64_t cost) {
    net_.trade.cost.push_back(cost);
    net_.trade.demand.push_back(0);
    return net_.trade.nodes() - 1;
  }
  void number_value(int32_t v, int32_t from);
  void add_reads(int32_t n, int32_t node);

  const ForwardGraph& g_;
  std::vector<ValueState> values_;
  std::vector<Side> side_;
  PartitionNetwork net_;
};

int32_t Builder::mark_never() {
  int32_t unmet = -1;
  auto mark = [&](int32_t v) {
    if (!g_.unsavable[index(v)]) return;
    value(v).unavailable = true;
    if (g_.needed[index(v)] && unmet < 0) unmet = v;
  };
  for (int32_t v = 0; v < g_.placeholders; ++v) mark(v);
  for (int32_t n = 0; n < g_.calls(); ++n) {
    bool never = g_.pinned[index(n)];
    for (int32_t u : operands(n)) never = never || value(u).unavailable;
    if (!never) continue;
    side_[index(n)] = Side::never;
    for (int32_t v = first_result(n); v < end_result(n); ++v) mark(v);
  }
  return unmet;
}

void Builder::mark_always_and_useless() {
  for (int32_t v = 0; v < g_.values(); ++v) value(v).wanted = g_.needed[index(v)];
  for (int32_t n = g_.calls(); n-- > 0;) {
    if (side_[index(n)] == Side::never) continue;
    bool always = false, useful = false;
    for (int32_t v = first_result(n); v < end_result(n); ++v) {
      always = always || (value(v).wanted && g_.unsavable[index(v)]);
      useful = useful || value(v).wanted || value(v).readers > 0;
    }
    if (!useful) {
      side_[index(n)] = Side::never;
      continue;
    }
    if (always) side_[index(n)] = Side::always;
    for (int32_t u : operands(n)) {
      ValueState& read = value(u);
      if (always) read.wanted = true;
      if (always || read.last_reader == n) continue;
      read.last_reader = n;
      read.readers = static_cast<uint8_t>(std::min(2, read.readers + 1));
    }
  }
}

// Adds v to the network, given where its call is (a node, from_source, or no_arc: v is free): to
// the demand if it is wanted, else its tail is set for the arcs to its readers.
void Builder::number_value(int32_t v, int32_t from) {
  ValueState& state = value(v);
  const bool unsavable = g_.unsavable[index(v)];
  const int64_t bytes = unsavable ? infinite : g_.bytes[index(v)];
  state.last_reader = -1;
  if (from == no_arc || bytes == 0) return;
  if (state.wanted) {
    if (from >= 0) net_.trade.demand[index(from)] += bytes;
    return;
  }
  if (state.readers == 0) return;
  if (state.readers == 1) {
    state.tail = from;
    return;
  }
  state.tail = add_node(0);
  if (from == from_source)
    net_.trade.demand.back() -= bytes;
  else
    net_.trade.arcs.push_back({from, state.tail, bytes});
}

void Builder::add_reads(int32_t n, int32_t node) {
  for (int32_t u : operands(n)) {
    ValueState& read = value(u);
    if (read.tail == no_arc || read.last_reader == n) continue;
    read.last_reader = n;
    const bool own_node = read.readers > 1;
    const int64_t bytes = own_node || g_.unsavable[index(u)] ? infinite : g_.bytes[index(u)];
    if (read.tail == from_source)
      net_.trade.demand[index(node)] -= bytes;
    else
      net_.trade.arcs.push_back({read.tail, node, bytes});
  }
}

PartitionNetwork Builder::number() {
  net_.node_of_call.resize(g_.cost.size());
  net_.trade.arcs.reserve(g_.operand.size() + g_.cost.size() / 4);
  net_.trade.cost.reserve(g_.cost.size() * 5 / 4);
  net_.trade.demand.reserve(g_.cost.size() * 5 / 4);
  for (int32_t v = 0; v < g_.placeholders; ++v) number_value(v, from_source);
  for (int32_t n = 0; n < g_.calls(); ++n) {
    int32_t& node = net_.node_of_call[index(n)];
    int32_t from = no_arc;
    switch (side_[index(n)]) {
      case Side::open:
        from = node = add_node(g_.cost[index(n)]);
        add_reads(n, node);
        break;
      case Side::never:
        node = PartitionNetwork::never;
        from = from_source;
        break;
      case Side::always: node = PartitionNetwork::always; break;
    }
    for (int32_t v = first_result(n); v < end_result(n); ++v) number_value(v, from);
  }
  return std::move(net_);
}

}  // namespace

std::optional<std::vector<int32_t>> find_conflict(const ForwardGraph& g) {
  auto index = [](int32_t i) { return static_cast<size_t>(i); };
  // length[v]: of the shortest list that ends at v; 0 if v can be saved or recomputed.
  std::vector<int32_t> length(g.bytes.size()), before(g.bytes.size(), -1);
  for (int32_t v = 0; v < g.placeholders; ++v) length[index(v)] = g.unsavable[index(v)] ? 1 : 0;
  int32_t last = -1;
  for (int32_t n = 0; n < g.calls(); ++n) {
    int32_t from = -1;
    for (int32_t k = g.operand_begin[index(n)]; k < g.operand_begin[index(n) + 1]; ++k)
      if (const int32_t u = g.operand[index(k)];
          length[index(u)] > 0 && (from < 0 || length[index(u)] < length[index(from)]))
        from = u;
    if (g.pinned[index(n)]) from = -1;
    if (from < 0 && !g.pinned[index(n)]) continue;
    for (int32_t v = g.result_begin[index(n)]; v < g.result_begin[index(n) + 1]; ++v) {
      if (!g.unsavable[index(v)]) continue;
      length[index(v)] = from < 0 ? 1 : length[index(from)] + 1;
      before[index(v)] = from;
    }
  }
  for (int32_t v = 0; v < g.values(); ++v)
    if (g.needed[index(v)] && length[index(v)] > 0 &&
        (last < 0 || length[index(v)] < length[index(last)]))
      last = v;
  if (last < 0) return std::nullopt;
  std::vector<int32_t> path;
  for (; last >= 0; last = before[index(last)]) path.push_back(last);
  std::reverse(path.begin(), path.end());
  return path;
}

Result<PartitionNetwork> build_partition_network(const ForwardGraph& graph) {
  CLEAVE_CHECK(check_forward_graph(graph));
  Builder builder(graph);
  if (builder.mark_never() >= 0)
    return user_error(
        "flow: value {} is needed, but can neither be saved nor recomputed from saved values; "
        "unsavable, each made from the one before: {}",
        find_conflict(graph)->back(), fmt::join(*find_conflict(graph), ", "));
  builder.mark_always_and_useless();
  return builder.number();
}

PartitionChoice choice_of(const ForwardGraph& g, std::vector<uint8_t> recompute) {
  PartitionChoice choice;
  choice.save = g.needed;
  for (size_t n = 0; n < g.cost.size(); ++n) {
    if (!recompute[n]) continue;
    choice.cost += g.cost[n];
    for (int32_t k = g.operand_begin[n]; k < g.operand_begin[n + 1]; ++k)
      choice.save[static_cast<size_t>(g.operand[static_cast<size_t>(k)])] = 1;
  }
  for (size_t n = 0; n < g.cost.size(); ++n)
    if (recompute[n])
      std::fill(choice.save.begin() + g.result_begin[n],
                choice.save.begin() + g.result_begin[n + 1], uint8_t{0});
  for (size_t v = 0; v < g.bytes.size(); ++v)
    if (choice.save[v]) choice.bytes += g.bytes[v];
  choice.recompute = std::move(recompute);
  return choice;
}

Result<PartitionChoice> cut_partition(const ForwardGraph& graph, Price price, Nearest nearest) {
  CLEAVE_TRY(const PartitionNetwork net, build_partition_network(graph));
  CLEAVE_TRY(const std::vector<uint8_t> sink_side, cut_at(net.trade, price, nearest));
  std::vector<uint8_t> recompute(graph.cost.size());
  for (size_t n = 0; n < recompute.size(); ++n) {
    const int32_t node = net.node_of_call[n];
    recompute[n] = node >= 0 ? sink_side[static_cast<size_t>(node)]
                             : static_cast<uint8_t>(node == PartitionNetwork::always);
  }
  return choice_of(graph, std::move(recompute));
}

}  // namespace cleave::flow
