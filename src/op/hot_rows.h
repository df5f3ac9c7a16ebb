// Rows that many steps of OrderedWrites (kernel_loops.h) add to, and their sums in f64.
//
//   begin    counts the steps of each row, and numbers the rows with more than `hot_steps`:
//            steps to rows 0 1 1 .. 1 2  ->  0 1 0          scratch, i32; 0 is none
//   choose   emits one of two bodies, selected by whether the row has a number
//   add      adds to the row's f64 sum                      scratch, [number - 1, columns]
//   finish   adds those sums to result 0
//
// If the key reads the column, each column counts its own rows. With too few steps, `choose` emits
// only the body for rows without a number, and the other functions emit nothing.
#pragma once
#include "op/kernel_loops.h"

namespace cleave {

constexpr int64_t hot_steps = 128;  // of equal f32: within 1.9e-6 of their sum

class HotRows {
 public:
  HotRows(const OrderedWrites& writes, DType dtype);

  void begin(loop::KernelBuilder& k);
  using Write = std::function<void()>;
  void choose(loop::KernelBuilder& k, const loop::Exprs& key, const loop::Exprs& column,
              const Write& hot, const Write& other) const;
  void add(loop::KernelBuilder& k, const loop::Exprs& key, const loop::Exprs& column,
           const loop::Exprs& step) const;
  void finish(loop::KernelBuilder& k) const;

 private:
  loop::Exprs number_at(const loop::Exprs& key, const loop::Exprs& column) const;
  loop::Exprs sum_at(const loop::Expr& number, const loop::Exprs& column) const;
  // The columns that are counted separately.
  std::vector<int64_t> apart() const {
    return w_.key_reads_column ? w_.columns : std::vector<int64_t>();
  }
  void add_sum(loop::KernelBuilder& k, const loop::Exprs& key, const loop::Exprs& column,
               const loop::Expr& number) const;

  const OrderedWrites& w_;
  int64_t rows_ = 0, most_ = 0;  // rows, and how many of them may be hot; 0: not counted
  int numbers_ = 0, sums_ = 0;   // results
};

}  // namespace cleave
