// The inner product kernel: one block of C = alpha * A B + beta * C_in on one thread, without
// allocating. gemm.h cuts a product into such blocks.
//
//            n                     A in groups of `mr` rows, B in panels of `nr` columns
//      k  +-------+                padded with zeros, both in `scratch`, for kc steps of k at
//     +---+   B   |                a time; a tile of mr x nr sums lives in registers
//   m | A | +-----+
//     +---+ |  C  |                f32 f64        sum in their own type, C itself between steps
//           +-----+                bf16 f16       sum in f32, rounded once to nearest even
//                                  integers       wrap around, as their type does
//
// The order of the sums is that of k, cut in even parts of at most kc: it depends on k, the type
// and the instruction set alone. 64 parts are a span; floating sums of spans are added up in f64,
// in the scratch, so that the error doesn't grow with k.
#pragma once
#include <cstdint>
#include <optional>

#include "cleave/dtype.h"
#include "cleave/target.h"
#include "runtime/gemm_sizes.h"

namespace cleave::runtime {

// Writes panels of B from wherever it likes (an image under a convolution), in the place of a
// matrix with strides. `to` gets rows [first_k, first_k + count_k) and columns [first_column,
// first_column + columns) of B, nr numbers a row, zeros after `columns`, in the type that sums are
// kept in (f32 for bf16 and f16). columns <= nr; which panels are asked for, how often and in which
// order is up to the kernel. Called from any thread.
struct PanelSource {
  void (*pack)(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
               int64_t columns, void* to) = nullptr;
  const void* self = nullptr;
  int64_t first_column = 0;  // where the block's columns begin
};

// Factors of f32, in the place of C; null where there are none.
struct GemmScale {
  const float* at = nullptr;
  int64_t row = 0, col = 0;
};

// Pointers to elements of one type; strides in elements. c_in may be null, and doesn't overlap c;
// c_in_row = 0 is a row vector. The rows of C are contiguous. Where there are panels, b and its
// strides are not looked at.
struct GemmBlock {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c_in = nullptr;
  void* c = nullptr;
  void* scratch = nullptr;  // aligned to 64
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_col = 0, b_row = 0, b_col = 0, c_in_row = 0, c_in_col = 0, c_row = 0;
  double alpha = 1, beta = 1;
  PanelSource panels = {};
  // Where not 0, a_col is 1 and k of A lies in runs: step k at x / a_run * a_next + x % a_run,
  // where x is a_first + k.
  int64_t a_run = 0, a_next = 0, a_first = 0;
  // The operand's type in memory, where it is another: it is converted while it is packed, as a
  // cast would.
  std::optional<DType> a_stored, b_stored;
  GemmScale scales[2] = {};  // of the kernels that scale sums
};

struct GemmBlockKernel : GemmSizes {
  void (*run)(const GemmBlock& block) = nullptr;
};

// The fastest for processors with this set; run is null for bool and c64.
GemmBlockKernel gemm_block_kernel(DType dtype, InstructionSet set);

// Of C in f32 whose operands are i8 (a_stored, b_stored): the sums, in i32, are converted, then
// multiplied by alpha and by each of the scales, and C_in is added; rounded each time.
GemmBlockKernel gemm_scaled_kernel(InstructionSet set);

// Those of one instruction set; run is null where it wasn't compiled in. They are data, not
// functions: these would be compiled for processors on which a program is only planned for.
struct GemmBlockKernels {
  GemmBlockKernel f64, f32, bf16, f16, i64, i32, i16, i8, u8, scaled;
  GemmBlockKernel of(DType dtype) const;
};
extern const GemmBlockKernels gemm_kernels_avx512bf16;  // bf16 alone
extern const GemmBlockKernels gemm_kernels_avx512;
extern const GemmBlockKernels gemm_kernels_avx2;
extern const GemmBlockKernels gemm_kernels_plain;

}  // namespace cleave::runtime
