// Plain float64 loops for the norms' reference rules.
#include <cmath>

#include "op/norm_graph.h"
#include "op/reference_sum.h"

namespace cleave {

NormStatistics statistics_of(const Array& x, const NormMap& map, double eps) {
  const std::vector<double> zeros(static_cast<size_t>(map.statistics), 0.0);
  NormStatistics s{zeros, zeros, zeros, zeros};
  ReferenceSums sum(zeros.size()), square(zeros.size());
  for (int64_t k = 0; k < x.numel(); ++k) {
    sum[map.statistic_of(k)] += map.centred ? x.f[k] : 0;
    s.count[map.statistic_of(k)] += 1;
  }
  for (size_t j = 0; j < zeros.size(); ++j) s.mean[j] = sum[j] / s.count[j];
  for (int64_t k = 0; k < x.numel(); ++k) {
    const double off = x.f[k] - s.mean[map.statistic_of(k)];
    square[map.statistic_of(k)] += off * off;
  }
  s.square = rounded(square);
  for (size_t j = 0; j < zeros.size(); ++j)
    s.rstd[j] = 1 / std::sqrt(s.square[j] / s.count[j] + eps);
  return s;
}

void reference_normalise(Array& y, const Array& x, const NormMap& map,
                         const std::vector<double>& mean, const std::vector<double>& rstd,
                         const Array* weight, const Array* bias) {
  for (int64_t k = 0; k < x.numel(); ++k) {
    const int64_t s = map.statistic_of(k), p = map.parameter_of(k);
    const double h = (x.f[k] - mean[s]) * rstd[s];
    y.f[k] = h * (weight ? weight->f[p] : 1) + (bias ? bias->f[p] : 0);
  }
}

void reference_norm_backward(Array& dx, Array* dw, Array* db, const Array& dy, const Array& x,
                             const NormMap& map, const std::vector<double>& mean,
                             const std::vector<double>& rstd, const Array* weight) {
  const std::vector<double> zeros(static_cast<size_t>(map.statistics), 0.0);
  std::vector<double> count = zeros;
  ReferenceSums sum(zeros.size()), product(zeros.size());
  ReferenceSums dw_sum(dw ? dw->f.size() : 0), db_sum(db ? db->f.size() : 0);
  const auto h_at = [&](int64_t k) {
    const int64_t s = map.statistic_of(k);
    return (x.f[k] - mean[s]) * rstd[s];
  };
  const auto g_at = [&](int64_t k) {
    return weight ? dy.f[k] * weight->f[map.parameter_of(k)] : dy.f[k];
  };
  for (int64_t k = 0; k < x.numel(); ++k) {
    const int64_t s = map.statistic_of(k), p = map.parameter_of(k);
    sum[s] += g_at(k);
    product[s] += g_at(k) * h_at(k);
    count[s] += 1;
    if (dw) dw_sum[p] += dy.f[k] * h_at(k);
    if (db) db_sum[p] += dy.f[k];
  }
  if (dw) dw->f = rounded(dw_sum);
  if (db) db->f = rounded(db_sum);
  for (int64_t k = 0; k < x.numel(); ++k) {
    const int64_t s = map.statistic_of(k);
    double d = g_at(k);
    if (!map.fixed && map.centred) d -= sum[s] / count[s];
    if (!map.fixed) d -= h_at(k) * product[s] / count[s];
    dx.f[k] = d * rstd[s];
  }
}

}  // namespace cleave
