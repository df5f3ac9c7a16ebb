// How each operator is written in ONNX, by family: one entry each, in the file of its family.
#pragma once
#include <span>

#include "export/onnx/call.h"

namespace cleave::to_onnx {

std::span<const RuleEntry> unary_rules();
std::span<const RuleEntry> arithmetic_rules();
std::span<const RuleEntry> quotient_rules();
std::span<const RuleEntry> compare_rules();
std::span<const RuleEntry> convert_rules();
std::span<const RuleEntry> shape_rules();
std::span<const RuleEntry> constructor_rules();
std::span<const RuleEntry> index_rules();
std::span<const RuleEntry> view_rules();
std::span<const RuleEntry> scatter_rules();
std::span<const RuleEntry> put_rules();
std::span<const RuleEntry> reduce_rules();
std::span<const RuleEntry> sort_rules();
std::span<const RuleEntry> product_rules();
std::span<const RuleEntry> convolution_rules();
std::span<const RuleEntry> mean_pool_rules();
std::span<const RuleEntry> max_pool_rules();
std::span<const RuleEntry> resize_rules();
std::span<const RuleEntry> pad_rules();
std::span<const RuleEntry> norm_rules();
std::span<const RuleEntry> control_rules();

// Null where there is none.
Rule find_rule(const std::string& op);
// Why an operator without a rule, that isn't decomposed either, can't be written.
std::string reason_without_rule(const OpDef& op);

// ---- what rules of several families use

// 1 where x is NaN, else 0, in f32.
V nan_flags(Call& c, const V& x);
// y, but NaN where `flags` (of nan_flags, reduced) is above 0.
V with_nan(Call& c, const V& flags, const V& y);
// Toward zero, of floats.
V truncated(Call& c, const V& x);
// a / b rounded down, of integers.
V floor_quotient(Call& c, const V& a, const V& b);
// i64[size, 2]: rows and columns of a diagonal.
V diagonal_positions(Call& c, const Dim& size, int64_t offset);
Ints all_axes(int64_t rank);
// All axes in order but `dim`, then it; and its inverse.
Ints moved_last(int64_t dim, int64_t rank);
Ints moved_first(int64_t dim, int64_t rank);
Ints inverse(const Ints& perm);
// A dim is 0. Runtimes disagree on what nodes make of no elements; a size with a name counts as one
// that isn't 0.
bool is_empty(const Shape& s);

}  // namespace cleave::to_onnx
