// How many threads work on one iteration of a parallel loop, and what they share out among them.
//
//   for p in 512 parallel {            512 teams of 32
//     let m = %mean[p]                   each thread reads it
//     fold over r in 768 { ... }         spread: 8 elements at a time to a thread
//     for j in 768 independent { ... }   spread
//     for i in 9 { ... }                 each thread runs all of it; one of them stores
//   }
//
// The order of a sum depends on how many elements it has alone: a thread adds up 8 neighbours in
// their type, and what it got from these in f64, in steps of fold_threads(n); then the threads'
// sums are added up pairwise. More threads, which have nothing to add, don't change it.
#pragma once
#include "simt/kernel.h"

namespace cleave::simt {

constexpr int64_t fold_chunk = 8;  // neighbours that one thread folds

// For a fold of at most n elements.
int fold_threads(int64_t n);

// The most elements that a fold or loop has, whatever is around it; 0: not known.
int64_t most_elements(const std::vector<loop::Loop>& loops);

// A fold that a team runs together: one in lanes (loop/kernel.h).
bool is_spread(const loop::Reduce& r);
bool has_independent_iterations(const loop::For& f);
// A loop whose iterations a team shares out: independent ones that hold no such folds, and no
// longer loops that could be.
bool is_spread(const loop::For& f);

// A loop over columns with folds: a thread takes several columns, and shares their rows with others
// (phase_columns.cpp).
int column_width(const loop::For& f, const loop::Kernel& kernel);
// Threads for the columns are as many as for this many: what the loop has at most, a power of two.
int column_lanes_of(const loop::For& f, const loop::Kernel& kernel);
// Rows of a column that a thread folds in their type (loop/sum_blocks.h).
int64_t column_block(const loop::Reduce& r);
// How many threads share the blocks of a column's folds.
int column_splits(const loop::For& f);
// Of a team; 0: the loop is shared out as any other.
int column_threads(const loop::For& f, const loop::Kernel& kernel);

// A tile of elements that lie in one order in some buffers and in another in others: two loops that
// are shared out together (phase_tiles.cpp).
bool is_tile(const loop::For& f, const loop::Kernel& kernel);
constexpr int tile_threads = 256;
constexpr int64_t tile_side = 128;  // at most

// For the statements of a parallel loop's iteration, or of those between two. A power of two; 1:
// one thread runs all of it.
int team_threads(const loop::Block& body, const loop::Kernel& kernel);

}  // namespace cleave::simt
