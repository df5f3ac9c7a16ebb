// Maximum flow by Dinic's algorithm: blocking flows over levels. Slower than MaxFlow if paths are
// long; it checks MaxFlow, with the same interface and no code in common. Every solve starts from
// zero flow. O(nodes^2 arcs).
//
// Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
// estimation" (1970).
#pragma once
#include "flow/network.h"

namespace cleave::flow {

class Dinic {
 public:
  // Errors (user): what check_network finds.
  static Result<Dinic> make(Network network);

  const Network& network() const { return network_; }
  // Errors (user): a negative capacity, or a finite sum of 2^60 or more.
  Status set_source(int32_t n, Capacity capacity);
  Status set_sink(int32_t n, Capacity capacity);
  Status set_arc(int32_t a, Capacity capacity);

  // Errors (user): the flow is unbounded.
  Status solve();

  Capacity value() const { return flow_.value; }
  std::vector<uint8_t> source_side(Nearest nearest) const;
  Flow flow() const { return flow_; }

 private:
  explicit Dinic(Network network) : network_(std::move(network)) {}

  // Edge 2k is forward, 2k + 1 its reverse; nodes are the network's, then source and sink.
  struct Edge {
    size_t head = 0, next = 0;
    Capacity left = 0;
  };
  void add_edge(size_t tail, size_t head, Capacity capacity);
  void build();
  bool find_levels();
  Capacity push_path(std::vector<size_t>& at);
  std::vector<uint8_t> seen_from(size_t start, bool against) const;

  Network network_;
  std::vector<Edge> edges_;
  std::vector<size_t> first_;
  std::vector<int32_t> level_;
  Flow flow_;
};

}  // namespace cleave::flow
