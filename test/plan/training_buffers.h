// The buffers of a made-up training step, for measurements of the offset planner at any size.
//
//   time   forward of layer 0, 1, ... L-1      backward of layer L-1, ... 1, 0
//   parameter   |------------------------------------------------------------|  the whole step
//   activation      |---------------------------------------------|             until its backward
//   gradient                                            |--------------------|  until the end
//   temporary        |-|     |--|       |-|                |-|      |---|
//
// All layers have the same buffers (sizes are drawn once, with a fixed seed), as a transformer's.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "plan/offsets.h"

namespace cleave {

// About `count` buffers, 40 a layer.
inline std::vector<plan::Lifetime> training_buffers(int64_t count, uint32_t seed) {
  constexpr int64_t parameters = 4, activations = 12, temporaries = 10, time = 30;
  const int64_t layers = std::max<int64_t>(1, count / 40), end = 2 * layers * time;
  std::mt19937 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random()) % n; };
  const auto size = [&](int64_t blocks) { return 64 * (1 + below(16 * blocks)); };
  const auto moment = [&] { return below(time - 5); };
  struct Part {
    int64_t size, forward, backward, length;
  };
  std::vector<Part> weights, kept, brief;
  for (int64_t i = 0; i < parameters; ++i) weights.push_back({size(64), 0, moment(), 0});
  for (int64_t i = 0; i < activations; ++i) kept.push_back({size(256), moment(), moment(), 0});
  for (int64_t i = 0; i < temporaries; ++i)
    brief.push_back({size(1024), moment(), moment(), 1 + below(5)});
  std::vector<plan::Lifetime> out;
  for (int64_t l = 0; l < layers; ++l) {
    const int64_t forward = l * time, backward = end - (l + 1) * time;
    for (const Part& p : weights) {
      out.push_back({0, end, p.size});
      out.push_back({backward + p.backward, end, p.size});
    }
    for (const Part& p : kept)
      out.push_back({forward + p.forward, backward + p.backward + 1, p.size});
    for (const Part& p : brief) {
      out.push_back({forward + p.forward, forward + p.forward + p.length, p.size});
      out.push_back({backward + p.backward, backward + p.backward + p.length, p.size});
    }
  }
  return out;
}

}  // namespace cleave
