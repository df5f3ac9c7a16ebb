// What the texts of src/backend/cuda/device find in the place of CUDA C++ (device/machine.h).
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "runtime/half.h"

namespace cleave::test {

struct Index {
  unsigned x = 0;
};
extern thread_local Index thread_index, block_index, grid_size;

// Returns when all threads of the block have called it.
void wait_for_block();
// Runs f on device_threads threads for each of the blocks.
void run_blocks(int64_t blocks, const std::function<void()>& f);

}  // namespace cleave::test

#define threadIdx ::cleave::test::thread_index
#define blockIdx ::cleave::test::block_index
#define gridDim ::cleave::test::grid_size
#define __syncthreads ::cleave::test::wait_for_block
#define CLEAVE_DEVICE inline
#define CLEAVE_SHARED static
#define CLEAVE_UNROLL

namespace cleave::cuda::device {

inline float f32_of_f16(unsigned short bits) {
  return static_cast<float>(std::bit_cast<runtime::F16>(bits));
}
inline unsigned short f16_of_f32(float x) {
  return std::bit_cast<unsigned short>(static_cast<runtime::F16>(x));
}
inline float f32_of_bits(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned bits_of_f32(float x) { return std::bit_cast<unsigned>(x); }
inline unsigned long long bits_of_f64(double x) { return std::bit_cast<unsigned long long>(x); }
inline float times(float a, float b) { return a * b; }
inline float plus(float a, float b) { return a + b; }
inline float multiply_add(float a, float b, float c) { return a * b + c; }
inline double multiply_add(double a, double b, double c) { return a * b + c; }

}  // namespace cleave::cuda::device
