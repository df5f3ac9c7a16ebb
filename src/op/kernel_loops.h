// Loop nests that kernels which move or add elements have in common.
#pragma once
#include <functional>
#include <vector>

#include "loop/kernel_builder.h"
#include "loop/lower_rule.h"

namespace cleave {

// A parallel loop over every index of `shape`; nothing where it is empty.
void for_each_element(loop::KernelBuilder& k, const std::vector<int64_t>& shape,
                      const std::function<void(const loop::Exprs&)>& body);
// result 0 = operand `flat`, of the same shape.
void copy_to_result(loop::KernelBuilder& k, int flat);
// result 0 = value
void fill_result(loop::KernelBuilder& k, double value);

// Writes to result 0 at places that are read from operands, where several writes may meet.
//
//   column 0    column 1          destinations of different columns never meet: columns run in
//   step 0 |    step 0 |          parallel. The steps of a column run in row-major order, so that
//   step 1 v    step 1 v          the last write wins, and sums are added up in one order.
//
// Sums of bf16 and f16 are kept in f32 and rounded once: all steps that meet the first one of a
// place are added there and then. That costs one comparison for each pair of steps.
//
// Sums of f32 are added up in the result, but for rows that more than `hot_steps` steps add to
// (a padding token's): theirs are kept in f64, in scratch, and added to the result at the end. Of n
// steps at most n / 129 rows are such.
struct OrderedWrites {
  enum class Mode { overwrite, accumulate };
  Mode mode = Mode::overwrite;
  std::vector<int64_t> columns, steps;
  // Columns of the last column dim that one piece of the parallel loop covers.
  int64_t block = 32;
  // Where the key reads the column too, `key` is evaluated for each column, otherwise once a step,
  // with an empty column.
  bool key_reads_column = false;
  // Of sums of f32: how many values each part of the key has. Without them no row has sums of f64.
  std::vector<int64_t> keys;
  // What tells places of one column apart: equal keys mean one place.
  std::function<loop::Exprs(const loop::Exprs& column, const loop::Exprs& step)> key;
  // Index of result 0.
  std::function<loop::Exprs(const loop::Exprs& key, const loop::Exprs& column)> place;
  // In the compute type of the result's dtype.
  std::function<loop::Expr(const loop::Exprs& column, const loop::Exprs& step)> value;
};
void write_in_order(loop::KernelBuilder& k, const OrderedWrites& writes);
// The scratch of a call whose kernel is written so (KernelRule), from `keys`, `columns`, `steps`,
// `key_reads_column` and the dtype of result 0; it is results 1 and 2.
std::vector<loop::KernelRule::Scratch> scratch_of(const OrderedWrites& writes, DType dtype);

}  // namespace cleave
