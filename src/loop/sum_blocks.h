// Where long sums and products of f32 and f64 are cut into blocks: a block is folded in its own
// type, the blocks, lane by lane, in f64. So the error is that of a block at any length.
//
//   fold over i in 500, j in 40 { s = sum of x[i,j] }          3 steps of 16 lanes for each i
//
//   for i in 500, 2 at a time {                                `loop` is 0, `iterations` 2
//     fold over these i, j in 40 { b = sum of x[i,j] }         each lane in f32, 6 steps
//     s += b                                                   each lane in f64
//   }
//
// The loop that is cut is the innermost one with which a block would have more steps than it may.
// A step's number of elements, and extents that are computed, count as the most that they can be.
#pragma once
#include <optional>

#include "loop/kernel.h"

namespace cleave::loop {

// How many values a lane adds up: at the most where all of it is one block, and in a block.
struct BlockTerms {
  int64_t whole, block;
};
// Of equal f32, the worst case, 8 steps are within 1.5e-7 of their sum, 16 within 2.7e-7, 64 within
// 1e-6. Blocks of 8 take no longer than those of 64: additions within one wait for each other.
constexpr BlockTerms lane_terms = {16, 8};
// In plain order: rows of columns, which may be added up in memory, and sums with a short innermost
// loop, the windows of convolutions and pooling (below 64 mostly, and whole).
constexpr BlockTerms column_terms = {16, 16}, window_terms = {64, 16};

// Whether it rounds, so that the order matters: sums and products of f32 and f64.
bool rounds(ReduceOp op, DType type);

// in_order: each fold has one accumulator, else the innermost loop runs in lanes. nullopt: it is
// short enough, or folds nothing that rounds.
std::optional<SumBlocks> sum_blocks(const Reduce& r, bool in_order);

// Whether the innermost loop is folded in plain order, wherever the Reduce stands.
bool is_short(const Reduce& r);

}  // namespace cleave::loop
