// Sums and products of the oracle, in twice the digits of float64, so that they are rounded once
// whatever their length. Use them like a double that is only added to, or only multiplied:
//
//   ReferenceSum sum;   for (double x : line) sum += x;   y = sum;
//
// Sums are Neumaier's (1974); products carry the rounding error of each step, computed by an fma.
// Infinities and NaN are those of plain float64: the error term is dropped once they appear.
#pragma once
#include <cmath>
#include <vector>

namespace cleave {

// Skips the addition if the error is 0: -0.0 + 0.0 is 0.0.
inline double with_lost(double x, double lost) {
  return lost != 0 && std::isfinite(x + lost) ? x + lost : x;
}

class ReferenceSum {
 public:
  ReferenceSum() = default;
  ReferenceSum(double x) : sum_(x) {}

  ReferenceSum& operator+=(double x) {
    const double sum = sum_ + x;
    lost_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
    return *this;
  }
  ReferenceSum& operator-=(double x) { return *this += -x; }
  operator double() const { return with_lost(sum_, lost_); }

 private:
  double sum_ = 0, lost_ = 0;
};

class ReferenceProduct {
 public:
  ReferenceProduct() = default;
  ReferenceProduct(double x) : product_(x) {}

  ReferenceProduct& operator*=(double x) {
    const double product = product_ * x;
    lost_ = lost_ * x + std::fma(product_, x, -product);
    product_ = product;
    return *this;
  }
  operator double() const { return with_lost(product_, lost_); }

 private:
  double product_ = 1, lost_ = 0;
};

// One sum for each element, initialized with y's elements; rounded(sums) converts them back.
using ReferenceSums = std::vector<ReferenceSum>;

inline ReferenceSums sums_from(const std::vector<double>& y) { return {y.begin(), y.end()}; }
inline std::vector<double> rounded(const ReferenceSums& sums) { return {sums.begin(), sums.end()}; }

}  // namespace cleave
