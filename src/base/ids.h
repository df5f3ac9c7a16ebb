// Strong integers for nodes and values of one graph.
#pragma once
#include <compare>
#include <cstdint>

namespace cleave {

struct NodeId {
  static constexpr uint32_t absent = 0xffffffff;
  uint32_t v = absent;
  bool valid() const { return v != absent; }
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

// A value, or one of two markers that take the place of a value in an operand slot: `none`, and
// `number` (the operand is given as an attribute of the same name).
struct ValueId {
  static constexpr uint32_t absent = 0xffffffff;
  static constexpr uint32_t number_mark = 0xfffffffe;
  uint32_t v = absent;
  bool valid() const { return v < number_mark; }
  bool is_none() const { return v == absent; }
  bool is_number() const { return v == number_mark; }
  static ValueId none() { return {}; }
  static ValueId number() { return {number_mark}; }
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

}  // namespace cleave
