// The inner loops of convolutions without a product (convolution_direct.cpp): on one thread and
// without allocating. Sums are in f32, of f64 in f64; other dtypes are converted as planes are
// filled and rounded as results are written.
#pragma once
#include "cleave/target.h"
#include "runtime/convolution_planes.h"

namespace cleave::runtime {

// to[r][p] = bias[r] + sum over t of in[p + offset[t]] * weight[r][t], for p < count and as many
// more as fill a vector: `in` and `to` have room for these.
struct TapSums {
  const void* in;
  const int64_t* offset;
  const void* weight;  // [results, taps]
  const void* bias;    // [results]
  void* to;
  int64_t to_row, taps, results, count;
};

// lanes[t][l] += sum over p = l modulo the lanes of in[p + offset[t]] * small[p] where mask[p] has
// all bits set; elsewhere it has none, and `small` is 0. Reads as many more as fill a vector.
struct TapDots {
  const void* in;
  const int64_t* offset;
  const void* small;
  const void* mask;
  void* lanes;
  int64_t taps, count;
};

// Rows of a result: each the numbers of `phases` rows of sums, `from_phase` apart, in turns.
// `counts` are those of each; they are `step` apart. In f32 `added` is added, and negative numbers
// become 0 (relu).
struct RowWrite {
  const void* from;
  int64_t from_row, from_phase, phases, step;
  const int64_t* counts;
  void* to;
  int64_t to_row;
  const void* added;
  bool relu;
  int64_t rows;
};

// --- A channel a lane ----------------------------------------------------------------------------
// Depthwise convolutions keep `lanes` channels side by side: what stands at a position is a vector.
// Steps, rows and offsets count numbers.

// at[(p / row) * at_row + p % row * lanes + c] = image[c * plane + p], or the other way around; 0
// for c from `channels` on. Out: at_row is row * lanes, and as in RowWrite values may be added and
// negative numbers become 0.
struct LaneCopy {
  void* image;
  int64_t plane, channels, positions;
  void* at;
  int64_t row, at_row;
  const void* added = nullptr;
  bool relu = false;
};

// to[p * to_step] = bias + sum over t of in[p * in_step + offset[t]] * weight[t].
struct LaneSums {
  const void* in;
  int64_t in_step;
  const int64_t* offset;
  const void* weight;  // [taps, lanes]
  const void* bias;    // [lanes]
  void* to;
  int64_t to_step, taps, count;
};

// sums[t] += sum over rows i and p < count of
//            in[i * in_row + p * in_step + offset[t]] * small[i * small_row + p * lanes].
struct LaneDots {
  const void* in;
  int64_t in_row, in_step;
  const int64_t* offset;
  const void* small;
  int64_t small_row;
  void* sums;  // [taps, lanes]
  int64_t taps, rows, count;
};

struct DirectKernel {
  int64_t lanes = 0;
  // Writes what stands in rows [first_row, end_row) of the slots into an image's plane; border and
  // gaps stay as they are.
  void (*fill)(const PlaneLayout& layout, const void* image, int64_t first_row, int64_t end_row,
               void* plane) = nullptr;
  void (*sums)(const TapSums& call) = nullptr;
  void (*dots)(const TapDots& call) = nullptr;
  void (*write)(const RowWrite& call) = nullptr;
  // Rows of `count` numbers in the dtype of the sums, `to_row` apart.
  void (*widen)(const void* from, int64_t count, int64_t rows, void* to, int64_t to_row) = nullptr;
  // totals[t] += the lanes of t, which become 0.
  void (*flush)(void* lanes, int64_t taps, double* totals) = nullptr;
  void (*narrow)(const double* totals, int64_t count, void* to) = nullptr;

  void (*lanes_in)(const LaneCopy& call) = nullptr;
  void (*lanes_out)(const LaneCopy& call) = nullptr;
  void (*lane_sums)(const LaneSums& call) = nullptr;
  void (*lane_dots)(const LaneDots& call) = nullptr;
  // totals[i] += sums[i], which become 0.
  void (*lane_flush)(void* sums, int64_t count, double* totals) = nullptr;
};

// The fastest for processors with this set; fill is null for dtypes that aren't floating.
DirectKernel direct_kernel(DType dtype, InstructionSet set);

// One table for each instruction set; on another architecture its functions may not be called.
struct DirectKernels {
  DirectKernel f32, f64, bf16, f16;
};
extern const DirectKernels direct_kernels_avx512;
extern const DirectKernels direct_kernels_avx2;
extern const DirectKernels direct_kernels_neon;
extern const DirectKernels direct_kernels_plain;

}  // namespace cleave::runtime
