// The inner product kernel: one block of C = alpha * A B + beta * C_in on one thread, without
// allocating. gemm.h cuts a product into such blocks.
//
//            n                     A in groups of `mr` rows, B in panels of `nr` columns padded
//      k  +-------+                with zeros, both in `scratch`, for a part of k (kc) at a time;
//     +---+   B   |                a tile of mr x nr sums is in registers
//   m | A | +-----+
//     +---+ |  C  |                f32 f64        summed in their own type, in C between parts
//           +-----+                bf16 f16       summed in f32, rounded once to nearest even
//                                  integers       wrap around, as their type does
//
// Sums are in the order of k, which is cut in equal parts of at most max_kc: the order depends on
// k, the type and the instruction set alone. 64 parts (f32: 128) are a span; floating sums of spans
// are added up in f64 in the scratch, so that the error doesn't grow with k.
#pragma once
#include <cstdint>
#include <optional>

#include "cleave/dtype.h"
#include "cleave/target.h"
#include "library/convolution_spec.h"
#include "library/gemm_spec.h"
#include "runtime/gemm_sizes.h"

namespace cleave::runtime {

// A function that writes panels of an operand, instead of a matrix with strides (the windows of a
// convolution). `to` gets numbers k in [first_k, first_k + count_k) of the columns of B, or rows of
// A, [first_column, first_column + columns), nr numbers for each k, zeros after `columns`, in the
// type of the sums (f32 for bf16 and f16). columns <= nr; the kernel may ask for panels in any
// order and repeatedly, from any thread.
struct PanelSource {
  void (*pack)(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
               int64_t columns, void* to) = nullptr;
  const void* self = nullptr;
  int64_t first_column = 0;  // of the block
};

// Rows of A that lie in an image, as the windows of a convolution do: element (i, p) of a tile's
// rows is at a[at[i / group] + i % group + table[p]], with the group of GemmSizes.
struct WindowTile {
  int64_t at[GemmSizes::window_groups] = {};
  int64_t rows = 0;  // at most mr
};
struct WindowRows {
  static constexpr int64_t ahead = 9;  // how far the table is read beyond an element
  const int32_t* table = nullptr;      // k numbers, and `ahead` others
  const WindowTile* tiles = nullptr;   // of the block's rows, in order
};

// f32 factors of the elements of C; null if there are none.
struct GemmScale {
  const float* at = nullptr;
  int64_t row = 0, col = 0;
};

// Pointers to elements of one type; strides in elements. c_in may be null, and doesn't overlap c;
// c_in_row = 0 makes it a row vector. The rows of C are contiguous. If `panels` is given, b and its
// strides are ignored.
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
  // b is packed (GemmSpec::b_packed), and points to the first panel of the matrix: the block begins
  // at its column b_first, a multiple of nr.
  bool b_packed = false;
  int64_t b_first = 0;
  // If given, a and its strides are ignored; of types that are summed as they are packed. The
  // scratch is that of round_up(m, nr) rows.
  PanelSource a_panels = {};
  // If given, A is read where it lies, its strides are ignored, and the scratch has no room for it
  // (window_bytes). In f32; C_in, if given, is a row. Rows of both have room for whole panels.
  WindowRows windows = {};
  // If a_run isn't 0, a_col is 1 and the rows of A are in runs of a_run elements: element k of a
  // row is at x / a_run * a_next + x % a_run, with x = a_first + k.
  int64_t a_run = 0, a_next = 0, a_first = 0;
  // The operand's type in memory if it is another one: it is cast while it is packed.
  std::optional<DType> a_stored, b_stored;
  GemmScale scales[2] = {};  // for gemm_scaled_kernel
  // What happens to the finished block, in f32: rows of numbers are added, if given, then negative
  // numbers become 0.
  const void* added = nullptr;
  int64_t added_row = 0;
  bool relu = false;
};

struct GemmBlockKernel : GemmSizes {
  void (*run)(const GemmBlock& block) = nullptr;
};

// The fastest kernel for processors with this set; run is null for bool and c64.
GemmBlockKernel gemm_block_kernel(DType dtype, InstructionSet set);

// For C in i32 with operands in i8 or u8 (a_stored, b_stored), each of its own: the same numbers as
// gemm_block_kernel's.
GemmBlockKernel gemm_bytes_kernel(DType a, DType b, InstructionSet set);

// For C in f32 with operands in i8 (a_stored, b_stored): the sums, in i32, are converted to f32,
// then multiplied by alpha and by each of the scales, and C_in is added, with a rounding after
// each.
GemmBlockKernel gemm_scaled_kernel(InstructionSet set);

// The kernels of one instruction set; on another architecture run may not be called. These are
// tables of data and not functions: code compiled for the set couldn't run on a processor without
// it, on which a program for that set may still be planned.
struct GemmBlockKernels {
  GemmBlockKernel f64, f32, bf16, f16, i64, i32, i16, i8, u8;
  GemmBlockKernel bytes, scaled;
  GemmBlockKernel of(DType dtype) const;
};
extern const GemmBlockKernels gemm_kernels_amx;         // bf16, and i8 as bytes and scaled
extern const GemmBlockKernels gemm_kernels_avx512bf16;  // bf16, bytes and scaled
extern const GemmBlockKernels gemm_kernels_avx512;
extern const GemmBlockKernels gemm_kernels_avx2;
extern const GemmBlockKernels gemm_kernels_neon;
extern const GemmBlockKernels gemm_kernels_plain;

}  // namespace cleave::runtime
