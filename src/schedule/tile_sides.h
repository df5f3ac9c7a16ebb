// The tiles of a dim: `most` elements at most (one vector on a processor), as equal as can be.
//
//   TileSides(20, 16)    count 2, size 10
#pragma once
#include "loop/expr.h"

namespace cleave {

struct TileSides {
  TileSides(int64_t extent, int64_t most)
      : extent(extent), count((extent - 1) / most + 1), size((extent - 1) / count + 1) {}

  int64_t extent, count, size;

  // How many elements the tile has that begins at `first`.
  loop::Expr from(const loop::Expr& first) const {
    using namespace loop;
    return extent % size == 0 ? Expr(size) : binary(Op::min, Expr(extent) - first, Expr(size));
  }
};

}  // namespace cleave
