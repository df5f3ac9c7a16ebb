// The reference rule of pointwise operators: one loop over the elements of the result.
//
// Each operand element is first converted to the promoted dtype `meet`: rounded if `meet` is bf16
// or f16 and the operand has another dtype, wrapped if it is an integer. In f32 it stays unrounded,
// but for comparisons, which one rounding decides: 0.1f is equal to an f64 0.1 of no dims.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "ir/array.h"
#include "ir/op_view.h"

namespace cleave {

// Whether numbers, and operands of another dtype, are rounded to any floating `meet`: comparisons
// do so, arithmetic doesn't.
enum class NumberRounding { none, to_meet };

struct PointReference {
  // For a floating `meet`; absent if no such call is legal.
  std::function<double(std::span<const double>)> floating;
  // For integers and bool.
  std::function<int64_t(std::span<const int64_t>)> integer;
  NumberRounding numbers = NumberRounding::none;
};

// Passes operand elements in the order of the signature; operands that are none read as 0.
Result<Arrays> reference_pointwise(const OpView& op, std::span<const Array* const> in, DType meet,
                                   const PointReference& rule);

// The same without broadcasting, for one operand that keeps its own dtype.
Result<Arrays> reference_unary(const OpView& op, std::span<const Array* const> in,
                               const std::function<double(double)>& floating,
                               const std::function<int64_t(int64_t)>& integer);

// Sums, differences and products that wrap instead of overflowing.
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Sets element k to the number in the array's dtype: truncated and wrapped if it is an integer.
void set_number(Array& a, int64_t k, const AttrValue& number);

// The array of result k, zeros.
Array result_array(const OpView& op, int k);

}  // namespace cleave
