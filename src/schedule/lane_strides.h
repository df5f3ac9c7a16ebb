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
  // The variable of the lanes of a loop whose vectors begin at multiples of `lanes`
  // (whole_vectors.h).
  void set_lane(const loop::Expr& var, int lanes = loop_lanes) {
    set(var, 1);
    lane_ = var;
    lanes_ = lanes;
  }
  // The lanes are iterations of a parallel loop, each of which has local buffers of its own: what
  // is loaded from one differs from lane to lane, at the same index too.
  void own_locals(const loop::Kernel& k) { buffers_ = &k.buffers; }
  bool is_own(int64_t buffer) const {
    return buffers_ && (*buffers_)[static_cast<size_t>(buffer)].access == loop::Access::local;
  }
  LaneStride of(const loop::Expr& e) const;
  // Whether the variable was set, that is, defined inside the loop.
  bool changes_inside(const loop::Expr& var) const { return strides_.contains(var->id()); }

 private:
  // Whether its lanes are those of one vector: a multiple of their number, which isn't negative,
  // and those behind it. Numbers of elements are made of variables that aren't negative.
  bool is_one_vector(const loop::Expr& e) const;
  LaneStride of_quotient(const loop::Expr& e) const;

  std::unordered_map<int64_t, LaneStride> strides_;  // of the variables inside the loop
  loop::Expr lane_;
  int lanes_ = loop_lanes;
  const std::vector<loop::Buffer>* buffers_ = nullptr;
};

}  // namespace cleave::schedule
