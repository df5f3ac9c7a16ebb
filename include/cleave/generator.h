// Random numbers for the host program: for initial weights, shuffles and synthetic data.
//
//   Generator rng(42);
//   HostTensor x = rng.uniform({8, 2}, -1, 1);
//   nn::Linear layer(2, 64, rng);
//
// Philox 4x32-10 with the seed as key: the same seed gives the same numbers on every machine. A
// Generator is a value: a copy continues from the original's position. Random numbers inside
// programs (dropout) don't come from here, but from the program's own (seed, step).
#pragma once
#include <cstdint>
#include <vector>

#include "cleave/host_tensor.h"

namespace cleave {

class CLEAVE_API Generator {
 public:
  explicit Generator(uint64_t seed) : seed_(seed) {}

  uint32_t next();                 // 32 random bits
  double uniform();                // in [0, 1), 53 bits
  double normal();                 // mean 0, deviation 1
  int64_t integer(int64_t below);  // in [0, below), without bias; below >= 1
  // f32 tensors uniform in [low, high), or normal; i64 tensors of integers in [low, high).
  HostTensor uniform(std::vector<int64_t> shape, double low = 0, double high = 1);
  HostTensor normal(std::vector<int64_t> shape, double mean = 0, double deviation = 1);
  HostTensor integers(std::vector<int64_t> shape, int64_t low, int64_t high);

 private:
  void refill();

  uint64_t seed_ = 0;
  uint64_t block_ = 0;
  uint32_t words_[4] = {};
  int used_ = 4;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace cleave
