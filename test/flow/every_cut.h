// Random small networks, and all cuts of a network one by one.
#pragma once
#include <gtest/gtest.h>

#include <random>

#include "flow/network.h"

namespace cleave::flow::test {

inline int64_t between(std::mt19937_64& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

// 0, small, or now and then large or infinite.
inline Capacity random_capacity(std::mt19937_64& random, int64_t one_infinite_in) {
  if (between(random, 1, one_infinite_in) == 1) return infinite;
  switch (between(random, 0, 5)) {
    case 0: return 0;
    case 1: return between(random, 0, int64_t{1} << 50);
    default: return between(random, 0, 6);
  }
}

inline Network random_network(std::mt19937_64& random, int32_t max_nodes) {
  const auto nodes = static_cast<int32_t>(between(random, 1, max_nodes));
  Network net(static_cast<size_t>(nodes));
  for (Capacity& c : net.source) c = random_capacity(random, 3 * nodes);
  for (Capacity& c : net.sink) c = random_capacity(random, 3 * nodes);
  for (int64_t k = between(random, 0, 3 * nodes); k > 0; --k)
    net.arcs.push_back({static_cast<int32_t>(between(random, 0, nodes - 1)),
                        static_cast<int32_t>(between(random, 0, nodes - 1)),
                        random_capacity(random, 6)});
  return net;
}

struct EveryCut {
  bool finite = false;
  Capacity value = 0;                 // of a minimum cut
  std::vector<uint8_t> fewest, most;  // nodes on the source's side, of all minimum cuts
};

inline EveryCut try_every_cut(const Network& net) {
  EveryCut best;
  const size_t nodes = net.source.size();
  uint64_t common = 0, any = 0;
  for (uint64_t inside = 0; inside < uint64_t{1} << nodes; ++inside) {
    Capacity cut = 0;
    bool finite = true;
    auto cross = [&](Capacity c) {
      finite = finite && c != infinite;
      if (finite) cut += c;
    };
    for (size_t n = 0; n < nodes; ++n) cross(inside >> n & 1 ? net.sink[n] : net.source[n]);
    for (const Arc& a : net.arcs)
      if ((inside >> a.tail & 1) && !(inside >> a.head & 1)) cross(a.capacity);
    if (!finite || (best.finite && cut > best.value)) continue;
    if (!best.finite || cut < best.value) common = any = inside;
    best.finite = true;
    best.value = cut;
    common &= inside;
    any |= inside;
  }
  for (size_t n = 0; n < nodes; ++n) {
    best.fewest.push_back(common >> n & 1);
    best.most.push_back(any >> n & 1);
  }
  return best;
}

}  // namespace cleave::flow::test
