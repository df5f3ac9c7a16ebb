// Norms as graphs and as plain loops: shared by batch, group and RMS norm.
//
//   h = (x - mean) * rstd        y = h * weight + bias           g = dy * weight
//   dx = rstd * (g - mean of g - h * mean of (g * h))            means over the dims of a statistic
//   dweight = sum of dy * h      dbias = sum of dy               over the dims weight doesn't have
//   dx = rstd * weight * (dy - dbias / n - h * dweight / n)      with a weight for each statistic
//
// An RMS norm has no mean: x replaces x - mean, and the mean of g drops out. Fixed statistics
// (evaluation) are constants of the call: dx = rstd * g.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "ir/array.h"
#include "ir/builder.h"
#include "ir/op_view.h"

namespace cleave {

// The dtype in which norms are computed.
inline DType norm_work(DType t) { return t == DType::f64 ? t : DType::f32; }

// Checks (C3): the operand has one entry for each channel (dim 1) of input, and (C4): it has
// input's dtype, or f32 where that is bf16 or f16.
Status check_channel_operand(const OpView& op, int input, int operand);
Status check_parameter_dtype(const OpView& op, int input, int operand);  // (C4) alone
// Checks that grad_out has the dtype and shape of input.
Status check_grad_out(const OpView& op, std::string_view rule, int grad_out, int input);

// x + y; either may be none.
ValueId sum_of(Builder& b, ValueId x, ValueId y);

// (x - mean) * rstd * weight + bias; mean, weight and bias may be none.
ValueId normalised(Builder& b, ValueId x, ValueId mean, ValueId rstd, ValueId weight, ValueId bias);

// The terms of a backward. All values have one dtype and x's rank, with 1 for dims that they lack.
struct NormTerms {
  std::vector<int64_t> statistic;  // dims that a statistic reduces
  std::vector<int64_t> parameter;  // dims that weight doesn't have
  ValueId dy, x, mean, rstd, weight;
  bool fixed = false;
  ValueId off, h, g;  // x - mean, and h and g as above: set by complete()

  void complete(Builder& b);
  ValueId dx(Builder& b);
  ValueId dweight(Builder& b);  // with kept dims, as all below; each is one value
  ValueId dbias(Builder& b);

 private:
  ValueId dweight_, dbias_;
};

// Cotangents of the operands of a backward, given those of dx, dweight and dbias (none: nothing
// reached it). `follows`: mean and rstd are computed from x, so x also gets gradients through them.
struct NormCotangents {
  ValueId dy, x, mean, rstd, weight;
};
NormCotangents norm_second_order(Builder& b, const NormTerms& t, ValueId u_dx, ValueId u_dweight,
                                 ValueId u_dbias, bool follows);

// The gradient that reaches x through its own statistics; n is the number of elements of one:
//   dmean / n - drstd * rstd^3 * (x - mean) / n
// dmean and drstd are their cotangents; one of them may be none. Doesn't read t.dy.
ValueId through_statistics(Builder& b, const NormTerms& t, ValueId dmean, ValueId drstd);

// Whether operand `k` is result `result` of a call of one of `names` on the value of `input`.
bool is_statistic_of(const Graph& g, const OpView& op, int k, uint32_t result, int input,
                     std::initializer_list<std::string_view> names);

// The bools of an attribute bool[n].
std::vector<bool> bools_attr(const OpView& op, std::string_view name);

// ---- Reference: which statistic and which parameter belong to the element at a position.

struct NormMap {
  int64_t statistics = 0, parameters = 0;
  std::function<int64_t(int64_t)> statistic_of, parameter_of;
  bool centred = true, fixed = false;
};

struct NormStatistics {
  std::vector<double> mean, square, rstd, count;  // square: sum of (x - mean)^2
};
NormStatistics statistics_of(const Array& x, const NormMap& map, double eps);

void reference_normalise(Array& y, const Array& x, const NormMap& map,
                         const std::vector<double>& mean, const std::vector<double>& rstd,
                         const Array* weight, const Array* bias);
// dw and db may be null.
void reference_norm_backward(Array& dx, Array* dw, Array* db, const Array& dy, const Array& x,
                             const NormMap& map, const std::vector<double>& mean,
                             const std::vector<double>& rstd, const Array* weight);

}  // namespace cleave
