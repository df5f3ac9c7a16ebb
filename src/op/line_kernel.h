// Kernels that work line by line: softmax, variance, cumulative sums.
//
// The lines of a shape run along some of its dims. If the last dim is one of them, each line is one
// iteration of the parallel loop and its last dim is innermost:
//
//     x x x x x x x x   -> one line, read contiguously
//
// Otherwise up to 64 adjacent lines are processed together, one in each lane, and memory is still
// read contiguously:
//
//     | | | | | | | |   -> 8 lines, read row after row
//
// The body is written once, for one line.
#pragma once
#include <functional>
#include <vector>

#include "loop/kernel_builder.h"

namespace cleave {

class Line {
 public:
  Line(std::vector<int64_t> extents, std::vector<int64_t> dims, loop::Exprs kept)
      : extents_(std::move(extents)), dims_(std::move(dims)), kept_(std::move(kept)) {}

  const std::vector<int64_t>& extents() const { return extents_; }
  int64_t count() const;
  // The index of an element in the whole shape; `j` has one entry for each dim of the line.
  loop::Exprs at(const loop::Exprs& j) const;
  // The index of the line's reduced value, with the line's dims left out or 0.
  loop::Exprs folded(bool keepdim) const;
  // Calls body(at(j)) for each element in order.
  void each(loop::KernelBuilder& k, const std::function<void(const loop::Exprs&)>& body) const;
  loop::Expr fold(loop::KernelBuilder& k, loop::ReduceOp op,
                  const std::function<loop::Expr(const loop::Exprs&)>& value) const;

 private:
  std::vector<int64_t> extents_, dims_;
  loop::Exprs kept_;  // by dim of the shape; undefined at the line's dims
};

// `dims` are sorted. Emits nothing if the lines have no elements, or there are no lines.
void for_each_line_in(loop::KernelBuilder& k, const std::vector<int64_t>& shape,
                      const std::vector<int64_t>& dims,
                      const std::function<void(const Line&)>& body);

}  // namespace cleave
