// How values change from one iteration of a loop to the next, and which loops may run in lanes: 16
// iterations (64 in a loop over columns) side by side, each statement for all of them.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "loop/kernel.h"

namespace cleave::emit {

constexpr int loop_lanes = loop::reduce_lanes;

// How much a value grows from lane to lane: 0: all lanes share one value; nothing: unknown.
using LaneStride = std::optional<int64_t>;

class LaneStrides {
 public:
  void set(const loop::Expr& var, LaneStride stride) { strides_[var->i] = stride; }
  LaneStride of(const loop::Expr& e) const;
  // Whether the variable was set, that is, defined inside the loop.
  bool changes_inside(const loop::Expr& var) const { return strides_.contains(var->i); }

 private:
  std::unordered_map<int64_t, LaneStride> strides_;  // of the variables inside the loop
};

// Whether both are the same expression, possibly as two copies.
bool same(const loop::Expr& a, const loop::Expr& b);

// Whether it reads memory, so that the expression must not be evaluated unless it is reached.
bool reads_memory(const loop::Expr& e);

// A parallel loop over rows of `length` elements each:
//
//   for p in n parallel { let i = p mod length   let q = p div length   ... }
//
// is a loop over the rows q and one over each row's elements, in which i grows by one.
struct Rows {
  int64_t length = 0;
  loop::Block row;       // first the let of q, then all values that are uniform in a row
  loop::Block elements;  // the rest, where i is p - q * length
};
std::optional<Rows> rows_of(const loop::For& f);

// Whether the iterations of a loop run in lanes; it may contain short loops that don't. For a
// Reduce: whether its innermost loop does.
bool runs_in_lanes(const loop::Kernel& k, const loop::For& f);
bool runs_in_lanes(const loop::Kernel& k, const loop::Reduce& r);
bool runs_in_lanes(const loop::Kernel& k, const loop::Expr& var, const loop::Block& independent);

}  // namespace cleave::emit
