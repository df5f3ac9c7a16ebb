#include "flow/max_flow.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "flow/infinite_path.h"
#include "flow/settle_flow.h"

namespace cleave::flow {
namespace {

// An infinite source or sink arc counts more than all finite capacities together.
Capacity terminal(Capacity c) { return c == infinite ? finite_limit : c; }

size_t index(int32_t i) { return static_cast<size_t>(i); }

}  // namespace

Result<MaxFlow> MaxFlow::make(Network network) {
  CLEAVE_CHECK(check_network(network));
  return MaxFlow(std::move(network));
}

MaxFlow::MaxFlow(Network network) : network_(std::move(network)) {
  auto add = [&](Capacity c) { finite_sum_ += c == infinite ? 0 : c; };
  for (Capacity c : network_.source) add(c);
  for (Capacity c : network_.sink) add(c);
  for (const Arc& a : network_.arcs) add(a.capacity);
  load();
}

void MaxFlow::load() {
  trees_.load(network_.nodes(), network_.arcs, 1);
  for (int32_t n = 0; n < network_.nodes(); ++n)
    trees_.add_excess(n, terminal(network_.source[index(n)]) - terminal(network_.sink[index(n)]));
  trees_.sweep();
  routed_ = finite_sum_;
  surplus_ = 0;
}

Status MaxFlow::change(Capacity& held, Capacity capacity) {
  const Capacity old = held == infinite ? 0 : held;
  const Capacity now = capacity == infinite ? 0 : capacity;
  if (now < 0 || now >= finite_limit || finite_sum_ - old >= finite_limit - now)
    return user_error(
        "flow: capacity {}: expected at least 0 and a finite sum below 2^60; use a larger unit",
        capacity);
  finite_sum_ += now - old;
  held = capacity;
  return {};
}

Status MaxFlow::set_source(int32_t n, Capacity capacity) {
  const Capacity before = network_.source[index(n)];
  CLEAVE_CHECK(change(network_.source[index(n)], capacity));
  trees_.add_excess(n, terminal(capacity) - terminal(before));
  return {};
}

Status MaxFlow::set_sink(int32_t n, Capacity capacity) {
  const Capacity before = network_.sink[index(n)];
  CLEAVE_CHECK(change(network_.sink[index(n)], capacity));
  trees_.add_excess(n, terminal(before) - terminal(capacity));
  return {};
}

Status MaxFlow::set_arc(int32_t a, Capacity capacity) {
  Arc& arc = network_.arcs[index(a)];
  CLEAVE_CHECK(change(arc.capacity, capacity));
  Capacity flows = trees_.pushed(index(a));
  if (capacity < flows) {
    surplus_ = std::min(finite_limit, surplus_ + (flows - capacity));
    trees_.add_excess(arc.tail, flows - capacity);
    trees_.add_excess(arc.head, capacity - flows);
    flows = capacity;
  }
  const Capacity most = capacity == infinite ? trees_.unlimited : capacity;
  trees_.set_residual(index(a), most - flows, flows);
  return {};
}

Status MaxFlow::solve() {
  if (const auto path = find_infinite_path(network_))
    return user_error(
        "flow: every arc is infinite from the source by node {} and arcs [{}] to node {} and the "
        "sink: no cut is finite; bound one of them",
        path->first, fmt::join(path->arcs, ", "), path->last);
  // Flow that was pushed and then taken back may circulate. All flow is dropped before it could add
  // up to the residual of an infinite arc.
  routed_ += finite_sum_ + surplus_;
  surplus_ = 0;
  if (routed_ >= finite_limit) load();
  trees_.solve();
  return {};
}

Capacity MaxFlow::value() const {
  const std::vector<uint8_t> inside = source_side(Nearest::source);
  Capacity cut = 0;
  for (int32_t n = 0; n < network_.nodes(); ++n)
    cut += inside[index(n)] ? network_.sink[index(n)] : network_.source[index(n)];
  for (const Arc& a : network_.arcs)
    if (inside[index(a.tail)] && !inside[index(a.head)]) cut += a.capacity;
  return cut;
}

std::vector<uint8_t> MaxFlow::source_side(Nearest nearest) const {
  std::vector<uint8_t> inside(network_.source.size());
  for (int32_t n = 0; n < network_.nodes(); ++n)
    inside[index(n)] =
        nearest == Nearest::source ? trees_.reached_by_excess(n) : !trees_.reaches_deficit(n);
  return inside;
}

Flow MaxFlow::flow() const {
  std::vector<Capacity> arc(network_.arcs.size());
  for (size_t a = 0; a < arc.size(); ++a) arc[a] = trees_.pushed(a);
  return settle_flow(network_, std::move(arc));
}

}  // namespace cleave::flow
