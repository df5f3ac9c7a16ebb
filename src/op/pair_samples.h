// Sample calls and rejects of operators of two operands: shapes that broadcast, dtypes that are
// promoted, numbers.
#pragma once
#include <string>
#include <vector>

#include "ir/op_def.h"
#include "op/sample_sets.h"

namespace cleave {

// Ranges of values for both operands; they must exclude zero divisors and kinks.
struct PairRange {
  double a_lo = -2, a_hi = 2, b_lo = -2, b_hi = 2;
};

// Floating tensors: equal shapes, broadcast both ways, empty, 0-d, every dtype, mixed dtypes.
std::vector<Sample> floating_pairs(PairRange r);
// A floating tensor with numbers on the right.
std::vector<Sample> right_numbers(PairRange r, const std::vector<SampleOperand>& numbers);
// Integer tensors with operands of other kinds; values of the right operand are in [b_lo, b_hi).
std::vector<Sample> integer_pairs(double b_lo, double b_hi);
// Bool tensors with operands of other kinds.
std::vector<Sample> bool_pairs();
// Returns the samples in which every operand is a tensor.
std::vector<Sample> tensors_only(std::vector<Sample> samples);

// C1 and C2 of pointwise.h, for operators that take two tensors.
// `first` and `second` are the operands' names.
std::vector<Reject> pair_rejects(const std::string& name, const std::string& first = "self",
                                 const std::string& second = "other");
// C3.
Reject no_tensor_reject(const std::string& name);

}  // namespace cleave
