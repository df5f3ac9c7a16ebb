// OrderedWrites (kernel_loops.h) for targets of many threads: the steps are sorted by the position
// that they write to, so that threads share out those of one position.
//
//   steps                   0 1 2 3 4 5 6 7
//   write to                7 2 7 4 2 7 7 9
//   sorted                  2 2 4 7|7 7 7 9        two pieces, each added up by one thread
//   steps                   1 4 3 0|2 5 6 7        of equal positions in their order
//   2, 4 and 9              lie in one piece: added to the result there
//   7                       what each piece has of it is kept in memory, and added up at the end
//
// Sums of floating numbers are in f64, in an order that follows from the positions alone, and are
// rounded once. The sort takes log2(steps) passes; scratch is 16 bytes for each step, or 24, and a
// sum of two rows of columns for each piece.
#pragma once
#include "op/kernel_loops.h"

namespace cleave {

class SortedWrites {
 public:
  SortedWrites(loop::KernelBuilder& k, const OrderedWrites& writes);
  // Whether the target asks for it, and the call has enough steps, few enough of them side by side.
  static bool pays(const loop::KernelBuilder& k, const OrderedWrites& writes);
  void write();

 private:
  // The sorted positions and their steps in one of two pairs of buffers: numbers of results.
  struct Sorted {
    int keys = 0, steps = 0;
  };
  void number_positions();
  void sort_chunks();
  void merge(int64_t run);
  void write_last();
  void add_pieces();
  void add_crossing();

  // A step in sorted order, of the line that the column lies in.
  loop::Exprs at(const loop::Exprs& column, const loop::Expr& number) const;
  loop::Expr key(const loop::Exprs& column, const loop::Expr& number);
  loop::Exprs sums_at(const loop::Expr& piece, const loop::Exprs& column) const;
  // Whether the steps before and at `end` write to one position.
  loop::Expr crosses(const loop::Exprs& column, const loop::Expr& end);
  loop::Exprs step(const loop::Exprs& column, const loop::Expr& number);
  void add(const loop::Expr& key, const loop::Exprs& column, const loop::Expr& sum);
  // Loops over pieces, or steps, and columns.
  void side_by_side(
      int64_t count,
      const std::function<void(const loop::Expr& number, const loop::Exprs& column)>& body);
  loop::Expr plus(const loop::Expr& a, const loop::Expr& b) const;

  loop::KernelBuilder& k_;
  const OrderedWrites& w_;
  const int64_t count_;               // steps
  const std::vector<int64_t> lines_;  // that are sorted apart
  DType key_type_, sum_type_;
  Sorted sorted_, other_;
  int64_t piece_ = 0, pieces_ = 0;  // steps of a piece
  // What a piece has of a run that began before it, and of one that begins in it and goes on.
  int heads_ = 0, tails_ = 0;
};

}  // namespace cleave
