#include "schedule/lane_strides.h"

#include <array>

namespace cleave::schedule {

using namespace cleave::loop;

bool LaneStrides::is_one_vector(const Expr& e) const {
  const auto is_whole = [&](const Expr& n) {
    const int64_t* value = n.as_const_int();
    return value && *value >= 0 && *value % lanes_ == 0;
  };
  switch (e->op) {
    case Op::constant: return is_whole(e);
    case Op::var: return lane_.defined() && e == lane_;
    case Op::mul:
      return (is_whole(e->args[1]) && of(e->args[0]) == LaneStride(0)) ||
             (is_whole(e->args[0]) && of(e->args[1]) == LaneStride(0));
    case Op::add: return is_one_vector(e->args[0]) && is_one_vector(e->args[1]);
    default: return false;
  }
}

// By a multiple of the lanes: all have one quotient, and adjacent remainders.
LaneStride LaneStrides::of_quotient(const Expr& e) const {
  const int64_t* divisor = e->args[1].as_const_int();
  if (!divisor || *divisor <= 0 || *divisor % lanes_ != 0 || !is_one_vector(e->args[0]))
    return std::nullopt;
  return e->op == Op::truncdiv || e->op == Op::floordiv ? 0 : 1;
}

LaneStride LaneStrides::of(const Expr& e) const {
  if (e->op == Op::constant) return 0;
  if (e->op == Op::var) {
    auto it = strides_.find(e->id());
    return it == strides_.end() ? LaneStride(0) : it->second;
  }
  if (e->op == Op::bit_and && lane_.defined() && e->args[0] == lane_ && lanes_ == loop_lanes) {
    const int64_t* mask = e->args[1].as_const_int();
    if (mask && *mask == -loop_lanes) return 0;
  }
  if (e->op == Op::load && is_own(e->buffer())) return std::nullopt;
  // Each operand is visited once: twice at every level would be 2^depth times.
  bool shared = true;
  std::array<LaneStride, 2> strides;
  for (size_t k = 0; k < e->args.size(); ++k) {
    const LaneStride stride = of(e->args[k]);
    shared = shared && stride == LaneStride(0);
    if (k < strides.size()) strides[k] = stride;
    if (!shared && e.type() != DType::i64) return std::nullopt;
  }
  if (shared) return 0;
  switch (e->op) {
    case Op::add:
    case Op::sub:
      if (!strides[0] || !strides[1]) return std::nullopt;
      return e->op == Op::add ? *strides[0] + *strides[1] : *strides[0] - *strides[1];
    case Op::mul:
      for (size_t k : {0, 1}) {
        const int64_t* factor = e->args[1 - k].as_const_int();
        if (strides[k] && factor) return *strides[k] * *factor;
      }
      return std::nullopt;
    case Op::truncdiv:
    case Op::truncmod:
    case Op::floordiv:
    case Op::floormod: return strides[0] == LaneStride(1) ? of_quotient(e) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace cleave::schedule
