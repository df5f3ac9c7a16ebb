// Where long sums and products of f32 and f64 are cut into blocks: a block is folded in its own
// type, in which no lane adds up more than `lane_terms` values (`ordered_terms` in plain order),
// the blocks, lane by lane, in f64. So the error is that of a block at any length.
//
//   fold over i in 500, j in 100 { s = sum of x[i,j] }         7 steps of 16 lanes for each i
//
//   for i in 500, 9 at a time {                                `loop` is 0, `iterations` 9
//     fold over these i, j in 100 { b = sum of x[i,j] }        each lane in f32, 63 steps
//     s += b                                                   each lane in f64
//   }
//
// The loop that is cut is the innermost one with which a block would have more steps than it may.
// A step's number of elements, and extents that are computed, count as the most that they can be.
#pragma once
#include <optional>

#include "loop/kernel.h"

namespace cleave::loop {

// Of equal numbers, the worst case, 64 steps are within 1e-6 of their sum, 128 within 2e-6.
constexpr int64_t lane_terms = 64, ordered_terms = 128;

// Whether it rounds, so that the order matters: sums and products of f32 and f64.
bool rounds(ReduceOp op, DType type);

struct SumBlocks {
  size_t loop = 0;         // of the Reduce
  int64_t iterations = 1;  // of that loop in a block; of the innermost one a multiple of the lanes
};

// in_order: each fold has one accumulator, else the innermost loop runs in lanes. nullopt: it is
// short enough, or folds nothing that rounds.
std::optional<SumBlocks> sum_blocks(const Reduce& r, bool in_order);

// Whether the innermost loop is folded in plain order, wherever the Reduce stands.
bool is_short(const Reduce& r);

}  // namespace cleave::loop
