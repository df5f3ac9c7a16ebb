// Attention as one call, forward and backward, which never stores a matrix of rows x columns:
//
//   CLEAVE_TRY(auto attention, Attention::make({.heads = 12, .rows = 64, .columns = 64, ...},
//                                                   target));
//   plan(attention->scratch_bytes());
//   attention->run({{q, k, v}, out, sums}, scratch, executor);
//
//   forward    a piece is some rows of one head
//   backward   a piece is some columns of one head of the key. If there are few heads, each has
//              several pieces, and their partial sums of dquery are added up afterwards, in order.
//              Where the gradient of a mask is summed over the batch, the pieces of its heads and
//              columns run one after the other, and every 16 of them are added up in f64
//
// Pieces and the order of sums depend on the spec and the target alone, so bits never depend on
// the threads. Columns that the causal mask hides from a whole block of rows aren't read: a NaN
// there has no effect.
//
// Errors: Unsupported for dtypes other than f32, bf16 and f16; Bug for sizes that no operator
// gives.
#pragma once
#include "library/library_function.h"
#include "run/run_context.h"
#include "runtime/attention_block.h"

namespace cleave::runtime {

class Attention final : public LibraryFunction {
 public:
  static Result<std::shared_ptr<Attention>> make(const AttentionSpec& spec, const Target& target);
  // With a given kernel instead of the target's fastest.
  static Result<std::shared_ptr<Attention>> make(const AttentionSpec& spec,
                                                 const AttentionKernel& kernel);
  int64_t scratch_bytes() const override { return lane_bytes_ * lanes(); }
  long pieces() const;
  // scratch is aligned to 64. Any number of threads may run one Attention at once, each with its
  // delta scratch. Nothing is allocated.
  void run(const AttentionForward& at, void* scratch, Executor& executor) const;
  void call(void* const* at, void* scratch, const RunContext& context) const override;

 private:
  Attention(const AttentionSpec& spec, const AttentionKernel& kernel);
  long lanes() const;
  void run_piece(long index, const AttentionForward& at, void* scratch) const;

  const AttentionSpec spec_;
  const AttentionKernel kernel_;
  int64_t piece_rows_ = 1, row_pieces_ = 0, lane_bytes_ = 0;
};

class AttentionGradient final : public LibraryFunction {
 public:
  static Result<std::shared_ptr<AttentionGradient>> make(const AttentionBackwardSpec& spec,
                                                         const Target& target);
  static Result<std::shared_ptr<AttentionGradient>> make(const AttentionBackwardSpec& spec,
                                                         const AttentionKernel& kernel);
  int64_t scratch_bytes() const override {
    return (lane_bytes_ + dmask_bytes()) * lanes() + partial_bytes() * pieces();
  }
  long pieces() const;
  void run(const AttentionBackward& at, void* scratch, Executor& executor) const;
  void call(void* const* at, void* scratch, const RunContext& context) const override;

 private:
  AttentionGradient(const AttentionBackwardSpec& spec, const AttentionKernel& kernel);
  long lanes() const;
  long turns() const;             // pieces that run one after the other: one, or as many as batches
  int64_t partial_bytes() const;  // of one piece; 0 if each head is one piece
  int64_t dmask_bytes() const;    // of a lane's sums in f64; 0 for few batches
  void run_turns(long index, const AttentionBackward& at, void* lane, char* partials,
                 double* dmask) const;
  void add_dmask(long index, int64_t batch, const AttentionBackward& at, double* sums) const;
  void run_piece(long index, const AttentionBackward& at, void* lane, char* partials) const;
  void sum_head(long head, const AttentionBackward& at, const char* partials) const;

  const AttentionBackwardSpec spec_;
  const AttentionKernel kernel_;
  int64_t piece_columns_ = 1, column_pieces_ = 0, lane_bytes_ = 0;
};

}  // namespace cleave::runtime
