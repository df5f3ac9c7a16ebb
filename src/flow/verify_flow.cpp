#include "flow/verify_flow.h"

namespace cleave::flow {
namespace {

using Total = long double;  // exact below 2^63, and it doesn't overflow on a wrong answer

size_t place(int32_t i) { return static_cast<size_t>(i); }

Status verify_arcs(const Network& net, const Flow& flow) {
  if (flow.source.size() != net.source.size() || flow.sink.size() != net.sink.size() ||
      flow.arc.size() != net.arcs.size())
    return bug("flow: {} + {} + {} flows for {} nodes and {} arcs", flow.source.size(),
               flow.sink.size(), flow.arc.size(), net.source.size(), net.arcs.size());
  for (size_t n = 0; n < net.source.size(); ++n) {
    if (flow.source[n] < 0 || flow.source[n] > net.source[n])
      return bug("flow: {} from the source to node {} of {}", flow.source[n], n, net.source[n]);
    if (flow.sink[n] < 0 || flow.sink[n] > net.sink[n])
      return bug("flow: {} from node {} to the sink of {}", flow.sink[n], n, net.sink[n]);
  }
  for (size_t a = 0; a < net.arcs.size(); ++a)
    if (flow.arc[a] < 0 || flow.arc[a] > net.arcs[a].capacity)
      return bug("flow: {} in arc {} of {}", flow.arc[a], a, net.arcs[a].capacity);
  return {};
}

Status verify_conservation(const Network& net, const Flow& flow) {
  std::vector<Total> left(net.source.size());
  Total value = 0;
  for (size_t n = 0; n < left.size(); ++n) {
    left[n] = static_cast<Total>(flow.source[n]) - static_cast<Total>(flow.sink[n]);
    value += static_cast<Total>(flow.source[n]);
  }
  for (size_t a = 0; a < net.arcs.size(); ++a) {
    left[place(net.arcs[a].head)] += static_cast<Total>(flow.arc[a]);
    left[place(net.arcs[a].tail)] -= static_cast<Total>(flow.arc[a]);
  }
  for (size_t n = 0; n < left.size(); ++n)
    if (left[n] != 0) return bug("flow: {} stays at node {}", static_cast<double>(left[n]), n);
  if (value != static_cast<Total>(flow.value))
    return bug("flow: the value is {}, the source gives {}", flow.value,
               static_cast<double>(value));
  return {};
}

Status verify_cut(const Network& net, const Flow& flow, const std::vector<uint8_t>& side) {
  if (side.size() != net.source.size())
    return bug("flow: a cut of {} nodes for {}", side.size(), net.source.size());
  Total cut = 0;
  auto cross = [&](Capacity c) { cut += c == infinite ? 1e30L : static_cast<Total>(c); };
  for (size_t n = 0; n < side.size(); ++n) cross(side[n] ? net.sink[n] : net.source[n]);
  for (const Arc& a : net.arcs)
    if (side[place(a.tail)] && !side[place(a.head)]) cross(a.capacity);
  if (cut != static_cast<Total>(flow.value))
    return bug("flow: the cut is {}, the flow {}", static_cast<double>(cut), flow.value);
  return {};
}

// Nearest::source: the nodes on the source's side are those reached from it through arcs with a
// residual capacity. Nearest::sink: the nodes on the sink's side are those from which it is
// reached.
Status verify_extreme(const Network& net, const Flow& flow, const std::vector<uint8_t>& side,
                      Nearest nearest) {
  const bool from_source = nearest == Nearest::source;
  std::vector<std::vector<size_t>> next(net.source.size());
  auto link = [&](int32_t from, int32_t to) {
    next[place(from_source ? from : to)].push_back(place(from_source ? to : from));
  };
  for (size_t a = 0; a < net.arcs.size(); ++a) {
    if (flow.arc[a] < net.arcs[a].capacity) link(net.arcs[a].tail, net.arcs[a].head);
    if (flow.arc[a] > 0) link(net.arcs[a].head, net.arcs[a].tail);
  }
  std::vector<uint8_t> reached(net.source.size());
  std::vector<size_t> stack;
  auto reach = [&](size_t n) {
    if (reached[n]) return;
    reached[n] = 1;
    stack.push_back(n);
  };
  for (size_t n = 0; n < reached.size(); ++n)
    if (from_source ? flow.source[n] < net.source[n] : flow.sink[n] < net.sink[n]) reach(n);
  while (!stack.empty()) {
    const size_t n = stack.back();
    stack.pop_back();
    for (size_t m : next[n]) reach(m);
  }
  for (size_t n = 0; n < reached.size(); ++n)
    if ((side[n] != 0) != (from_source ? reached[n] != 0 : reached[n] == 0))
      return bug("flow: node {} needn't be on its side of the cut nearest the {}", n,
                 from_source ? "source" : "sink");
  return {};
}

}  // namespace

Status verify_flow(const Network& network, const Flow& flow,
                   const std::vector<uint8_t>& source_side, Nearest nearest) {
  CLEAVE_CHECK(verify_arcs(network, flow));
  CLEAVE_CHECK(verify_conservation(network, flow));
  CLEAVE_CHECK(verify_cut(network, flow, source_side));
  return verify_extreme(network, flow, source_side, nearest);
}

}  // namespace cleave::flow
