// The part of a dim that a slice selects: elements start, start+step, ... (`size` of them).
//
//   size 10, start -3, end none, step 2   ->  start 7, size 2
//
// Negative bounds count from the end; bounds outside are clamped, as in Python. Symbolic bounds
// need a provable sign.
#pragma once
#include "op/dims.h"

namespace cleave {

struct Window {
  int64_t dim = 0;
  Dim start, stop, size;  // both bounds counted from the front and inside
  int64_t step = 1;
};

// Computes the window from the attributes dim, start, end, step.
//   C1 self has a dim   C2 dim in range   C3 step is a positive integer   C4 the bounds' signs
Result<Window> checked_window(const OpView& op);
// The same for a call that infer has already checked.
Window window_of(const OpView& op);

// Start (counted from the front) of a `select`: C1 self has a dim, C2 dim in range, C3 index in
// [-size, size). An index that may be outside for some value of a symbol is accepted: it is checked
// again when the symbols have values.
struct Position {
  int64_t dim = 0;
  Dim index;
};
Result<Position> checked_position(const OpView& op);
Position position_at(const OpView& op);

// x's shape with dim `dim` set to this size, and without it.
Shape with_size(Shape shape, int64_t dim, Dim size);
Shape without_dim(Shape shape, int64_t dim);

// For gradients: v surrounded by zeros along `dim`.
ValueId padded(Builder& b, ValueId v, int64_t dim, int64_t rank, Dim before, Dim after);

}  // namespace cleave
