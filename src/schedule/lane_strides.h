// How values change from one iteration of a loop to the next.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "loop/kernel.h"

namespace cleave::schedule {

constexpr int loop_lanes = loop::reduce_lanes;

// How much a value grows from lane to lane: 0: all lanes share one value; nothing: unknown.
using LaneStride = std::optional<int64_t>;

class LaneStrides {
 public:
  void set(const loop::Expr& var, LaneStride stride) { strides_[var->id()] = stride; }
  // The variable of the lanes of a loop whose vectors begin at multiples of 16 (whole_vectors.h).
  void set_lane(const loop::Expr& var) {
    set(var, 1);
    lane_ = var;
  }
  LaneStride of(const loop::Expr& e) const;
  // Whether the variable was set, that is, defined inside the loop.
  bool changes_inside(const loop::Expr& var) const { return strides_.contains(var->id()); }

 private:
  std::unordered_map<int64_t, LaneStride> strides_;  // of the variables inside the loop
  loop::Expr lane_;
};

}  // namespace cleave::schedule
