// The operators of ONNX, by family: one entry each, in the file of its family.
#pragma once
#include <span>

#include "import/onnx/call.h"

namespace cleave::onnx {

std::span<const RuleEntry> arithmetic_rules();
std::span<const RuleEntry> activation_rules();
std::span<const RuleEntry> compare_rules();
std::span<const RuleEntry> cast_rules();
std::span<const RuleEntry> reduce_rules();
std::span<const RuleEntry> shape_rules();
std::span<const RuleEntry> constructor_rules();
std::span<const RuleEntry> index_rules();
std::span<const RuleEntry> scatter_rules();
std::span<const RuleEntry> product_rules();
std::span<const RuleEntry> convolution_rules();
std::span<const RuleEntry> pool_rules();
std::span<const RuleEntry> resize_rules();
std::span<const RuleEntry> norm_rules();
std::span<const RuleEntry> control_rules();
std::span<const RuleEntry> quantise_rules();
std::span<const RuleEntry> recurrent_rules();
std::span<const RuleEntry> loss_rules();
std::span<const RuleEntry> random_rules();
std::span<const RuleEntry> signal_rules();
std::span<const RuleEntry> attention_rules();
std::span<const RuleEntry> sample_rules();
std::span<const RuleEntry> sequence_rules();
std::span<const RuleEntry> optimizer_rules();

// ---- what rules of several families use

// An integer result back in the range of its type, where a wider one carries it.
V narrowed(Call& c, V x, Element e);
// An operator of arithmetic on values of e: unsigned types that cleave lacks included.
V multiplied(Call& c, V x, V y, Element e);
V divided(Call& c, V x, V y, Element e);
V less_than(Call& c, V x, V y, Element e);
V larger_of(Call& c, V x, V y, Element e);
V smaller_of(Call& c, V x, V y, Element e);
// All dims but these.
Ints other_axes(int64_t rank, const Ints& axes);
// 0, 1, ..., rank - 1.
Ints all_axes(int64_t rank);
// The product of dims [begin, end).
Dim product_of(const Shape& s, size_t begin, size_t end);
// Softmax along an axis, of floats.
V softmax(Call& c, V x, int64_t axis);
// x along `axis` of length n, the elements at `index` (known now).
V taken(Call& c, V x, int64_t axis, const Ints& index);
// A tensor of attribute or weight as doubles.
std::vector<double> doubles_of(const Array& a);
// Indices of a dim of n as i64: those below 0 count from the end.
V from_start(Call& c, V index, const Dim& n);

// The least and the largest number, of integers of 32 bits and less.
struct Range {
  double low, high;
};
std::optional<Range> range_of(Element e);
// x as a number of the type: of integers the nearest one that it has, 0 for NaN.
AttrValue nearest_in(Element e, double x);
// Floats as integers of the type: those beyond its range are its limits.
V clamped(Call& c, V x, Element to);

}  // namespace cleave::onnx
