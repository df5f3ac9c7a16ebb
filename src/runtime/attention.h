// Attention as one call, forward and backward, without a matrix of rows x columns:
//
//   CLEAVE_TRY(auto attention, Attention::make({.heads = 12, .rows = 64, .columns = 64, ...},
//                                                   target));
//   plan(attention->scratch_bytes());
//   attention->run({{q, k, v}, out, sums}, scratch, executor);
//
//   forward    pieces: rows of one head
//   backward   pieces: columns of one head of the key. Where there are few heads, each has several,
//              and their parts of dquery are added up in order, afterwards
//
// Pieces and the order of sums depend on the spec and the target alone, so bits never depend on
// the threads. Columns that causality closes for a whole block of rows are not read: a NaN there is
// not seen.
//
// Errors: Unsupported for what is not f32, bf16 or f16; Bug for sizes that no operator gives.
#pragma once
#include "library/library_function.h"
#include "runtime/attention_block.h"

namespace cleave::runtime {

class Attention final : public LibraryFunction {
 public:
  static Result<std::shared_ptr<Attention>> make(const AttentionSpec& spec, const Target& target);
  // With another kernel than the target's fastest.
  static Result<std::shared_ptr<Attention>> make(const AttentionSpec& spec,
                                                 const AttentionKernel& kernel);
  int64_t scratch_bytes() const override { return lane_bytes_ * lanes(); }
  long pieces() const;
  // scratch is aligned to 64. Any number of threads may run one Attention at once, each with its
  // own scratch. Nothing is allocated.
  void run(const AttentionForward& at, void* scratch, Executor& executor) const;
  void call(void* const* at, void* scratch, Executor& executor) const override;

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
    return lane_bytes_ * lanes() + partial_bytes() * pieces();
  }
  long pieces() const;
  void run(const AttentionBackward& at, void* scratch, Executor& executor) const;
  void call(void* const* at, void* scratch, Executor& executor) const override;

 private:
  AttentionGradient(const AttentionBackwardSpec& spec, const AttentionKernel& kernel);
  long lanes() const;
  int64_t partial_bytes() const;  // of one piece; 0 where a head has one piece
  void run_piece(long index, const AttentionBackward& at, void* lane, char* partials) const;
  void sum_head(long head, const AttentionBackward& at, const char* partials) const;

  const AttentionBackwardSpec spec_;
  const AttentionKernel kernel_;
  int64_t piece_columns_ = 1, column_pieces_ = 0, lane_bytes_ = 0;
};

}  // namespace cleave::runtime
