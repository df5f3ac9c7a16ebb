// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014), and the step of its state.
#pragma once
#include <cstdint>

namespace cleave {

constexpr uint64_t split_mix_step = 0x9e3779b97f4a7c15u;

constexpr uint64_t split_mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace cleave
