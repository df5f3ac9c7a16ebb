// The inner kernels of attention: rows of one head, or columns of one key head, on one thread and
// without allocating. attention.h cuts a call into such blocks.
//
//   a transposed panel of queries  vector lanes are queries, so that the softmax over the keys of a
//                                  block needs no exchange between lanes
//   scores^T = key @ panel         tiles of mr keys x nr queries in registers
//   out += P @ value               reads P as scores^T is stored: mr queries x nr columns
//
// Keys are processed `block_columns` at a time, in order; the sums are scaled down when a block has
// a larger score than all before (Dao et al., "FlashAttention", 2022; Milakov and Gimelshein,
// "Online normalizer calculation for softmax", 2018).
#pragma once
#include "cleave/target.h"
#include "library/attention_spec.h"
#include "runtime/attention_amx_scratch.h"
#include "runtime/attention_scratch.h"

namespace cleave::runtime {

// The operands of a call. mask may be null; seed and step are read only with dropout.
struct AttentionOperands {
  const void* query = nullptr;
  const void* key = nullptr;
  const void* value = nullptr;
  const void* mask = nullptr;
  const int64_t* seed = nullptr;
  const int64_t* step = nullptr;
};

struct AttentionForward {
  AttentionOperands in;
  void* out = nullptr;
  float* sums = nullptr;  // logsumexp of each row; null: not wanted
};

struct AttentionBackward {
  AttentionOperands in;
  const void* out = nullptr;
  const float* sums = nullptr;
  const void* dout = nullptr;
  void* dquery = nullptr;  // null: not wanted
  void* dkey = nullptr;
  void* dvalue = nullptr;
  float* dmask = nullptr;
};

// Rows [first, first + count) of one head of the query, or columns of one head of the key.
struct AttentionRange {
  int64_t batch = 0, head = 0, first = 0, count = 0;
};

// How many gradients of a mask are added up in f32, one onto the other.
constexpr int64_t dmask_batches = 16;

struct AttentionKernel : AttentionSizes {
  void (*forward)(const AttentionSpec& spec, const AttentionForward& at, const AttentionRange& rows,
                  void* scratch) = nullptr;
  // Computes dkey and dvalue of the columns. The gradient of the queries that read them is written
  // to dquery if `partial` is null, else to `partial`, as dquery_floats for each head of the group.
  // Likewise dmask, of these columns; where the batch is summed, batch b adds to what is
  // there unless b is a multiple of dmask_batches.
  void (*backward)(const AttentionBackwardSpec& spec, const AttentionBackward& at,
                   const AttentionRange& columns, float* partial, void* scratch) = nullptr;
  // Adds up `parts` partial gradients of one head, `stride` floats apart, into dquery.
  void (*sum_partial)(const AttentionBackwardSpec& spec, void* dquery, const AttentionRange& head,
                      const float* partial, int64_t parts, int64_t stride) = nullptr;

  int64_t forward_scratch(const AttentionSpec& spec, int64_t rows) const {
    if (has_tiles) return AmxForwardScratch(*this, spec, rows, nullptr).bytes;
    return ForwardScratch(*this, spec, rows, nullptr).bytes;
  }
  int64_t backward_scratch(const AttentionBackwardSpec& spec) const {
    if (has_tiles) return AmxBackwardScratch(*this, spec, nullptr).bytes;
    return BackwardScratch(*this, spec, nullptr).bytes;
  }
};

// The fastest kernel for processors with this set; forward is null for dtypes other than f32, bf16
// and f16.
AttentionKernel attention_kernel(DType dtype, InstructionSet set);

// The kernels of one instruction set; on another architecture they may not be called. These are
// tables of data and not functions: code compiled for the set couldn't run on a processor without
// it, on which a program for that set may still be planned.
struct AttentionKernels {
  AttentionKernel f32, bf16, f16;
};
extern const AttentionKernels attention_kernels_amx;  // bf16 alone
extern const AttentionKernels attention_kernels_avx512;
extern const AttentionKernels attention_kernels_avx2;
extern const AttentionKernels attention_kernels_neon;
extern const AttentionKernels attention_kernels_plain;

}  // namespace cleave::runtime
