// Loop nests shared by kernels that move or add elements.
#pragma once
#include <functional>
#include <vector>

#include "loop/kernel_builder.h"
#include "loop/lower_rule.h"

namespace cleave {

// Emits a parallel loop over every index of `shape`; nothing if it is empty.
void for_each_element(loop::KernelBuilder& k, const std::vector<int64_t>& shape,
                      const std::function<void(const loop::Exprs&)>& body);
// The index of an element from its row-major number.
loop::Exprs index_at(loop::KernelBuilder& k, const std::vector<int64_t>& shape, loop::Expr number);
// result 0 = operand `flat`, of the same shape.
void copy_to_result(loop::KernelBuilder& k, int flat);
// result 0 = value
void fill_result(loop::KernelBuilder& k, double value);

// Writes to result 0 at positions read from operands, where several writes may target one position.
//
//   column 0    column 1          Different columns write to different positions: columns run in
//   step 0 |    step 0 |          parallel. The steps of a column run in row-major order, so that
//   step 1 v    step 1 v          the last write wins, and sums are added in one fixed order.
//
// Sums of bf16 and f16 are accumulated in f32 and rounded once: the first step of a position adds
// up all steps with the same position. That costs one comparison for each pair of steps.
//
// Sums of f32 are accumulated in the result, except for rows that more than `hot_steps` steps add
// to (a padding token's): those are accumulated in f64, in scratch, and added to the result at the
// end. Of n steps, at most n / 129 rows are hot.
//
// Where the target has many threads, steps are sorted by position first (sorted_writes.h), and all
// sums are accumulated in f64.
struct OrderedWrites {
  enum class Mode { overwrite, accumulate };
  Mode mode = Mode::overwrite;
  std::vector<int64_t> columns, steps;
  // Columns of the last column dim that one iteration of the parallel loop covers.
  int64_t block = 32;
  // If the key reads the column too, `key` is evaluated for each column; otherwise once for each
  // step, with an empty column.
  bool key_reads_column = false;
  // The number of values of each part of the key. If empty, no row has an f64 sum, and nothing is
  // sorted.
  std::vector<int64_t> keys;
  // Identifies positions within a column: equal keys mean the same position.
  std::function<loop::Exprs(const loop::Exprs& column, const loop::Exprs& step)> key;
  // Returns the index into result 0.
  std::function<loop::Exprs(const loop::Exprs& key, const loop::Exprs& column)> place;
  // Returns the value in the compute type of the result's dtype.
  std::function<loop::Expr(const loop::Exprs& column, const loop::Exprs& step)> value;
};
void write_in_order(loop::KernelBuilder& k, const OrderedWrites& writes);

}  // namespace cleave
