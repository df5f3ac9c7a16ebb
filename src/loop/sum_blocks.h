// How long sums and products of f32 and f64 are split into blocks: a block is folded in its own
// type, the blocks lane by lane in f64, so that the error is that of one block for any length.
//
//   fold over i in 500, j in 40 { s = sum of x[i,j] }          3 vectors of 16 lanes for each i
//
//   for i in 500, 2 at a time {                                `loop` is 0, `iterations` 2
//     fold over these i, j in 40 { b = sum of x[i,j] }         each lane in f32, 6 vectors
//     s += b                                                   each lane in f64
//   }
//
// The loop that is split is the innermost one with which a block would have too many terms per
// lane. Vectors count as full, and computed extents as their largest value.
#pragma once
#include <optional>

#include "loop/kernel.h"

namespace cleave::loop {

// The terms of a lane: at most, if everything is one block, and in a block otherwise.
struct BlockTerms {
  int64_t whole, block;
};
// For equal f32, the worst case, the relative error of 8 terms is at most 1.5e-7, of 16 2.7e-7,
// of 64 1e-6. Blocks of 8 take no longer than blocks of 64, whose additions wait for each other.
constexpr BlockTerms lane_terms = {16, 8};
// In plain order: for rows of columns, whose sums may be in memory; and for sums with a short
// innermost loop, such as the windows of convolutions and pooling (mostly below 64, and so one
// block).
constexpr BlockTerms column_terms = {16, 16}, window_terms = {64, 16};

// Whether the fold rounds, so that its order matters: sums and products of f32 and f64.
bool rounds(ReduceOp op, DType type);

// in_order: each fold has one accumulator; else the innermost loop runs in lanes. nullopt: short
// enough for one block, or no fold rounds.
std::optional<SumBlocks> sum_blocks(const Reduce& r, bool in_order);

// Whether the innermost loop is folded in plain order because it is short.
bool is_short(const Reduce& r);

}  // namespace cleave::loop
