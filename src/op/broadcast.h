// Broadcasting: shapes are aligned at the right; two dims match if they are equal or one is 1.
//
//   [8,1,6] with [7,6]  -> [8,7,6]
//   [s0,4]  with [1,4]  -> [s0,4]
//
// Symbolic dims must be proven equal or 1 for every value in range; if that can't be proven, the
// call is refused with a message that names the two dims.
#pragma once
#include <initializer_list>
#include <string_view>

#include "ir/op_view.h"

namespace cleave {

// Returns the shape that `a` and `b` broadcast to. `rule` is the constraint reported as broken.
Result<Shape> broadcast_shapes(const OpView& op, std::string_view rule, const Shape& a,
                               const Shape& b);
// The same over operands; numbers and absent operands are skipped.
Result<Shape> broadcast_operands(const OpView& op, std::string_view rule,
                                 std::initializer_list<int> operands);
// Returns an error unless `from` broadcasts to exactly `to`.
Status check_expandable(const OpView& op, std::string_view rule, const Shape& from,
                        const Shape& to);

// Returns the device of these operands. A 0-d CPU tensor may be combined with any device.
Result<Device> common_device(const OpView& op, std::string_view rule,
                             std::initializer_list<int> operands);

}  // namespace cleave
