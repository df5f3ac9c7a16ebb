#include "op/reference_elimination.h"

#include <algorithm>
#include <cmath>

#include "op/broadcast.h"
#include "op/reference_sum.h"

namespace cleave {

int64_t eliminate(double* a, int64_t* pivots, int64_t m, int64_t n, bool swaps) {
  const auto left = [&](int64_t i, int64_t j, int64_t k) {
    ReferenceSum sum(a[i * n + j]);
    for (int64_t t = 0; t < k; ++t) sum -= a[i * n + t] * a[t * n + j];
    return static_cast<double>(sum);
  };
  int64_t info = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t at = k;
    for (int64_t i = k; i < m; ++i) {
      a[i * n + k] = left(i, k, k);
      if (swaps && std::fabs(a[i * n + k]) > std::fabs(a[at * n + k])) at = i;
    }
    pivots[k] = at + 1;
    for (int64_t j = 0; j < n && at != k; ++j) std::swap(a[k * n + j], a[at * n + j]);
    for (int64_t j = k + 1; j < n; ++j) a[k * n + j] = left(k, j, k);
    if (a[k * n + k] == 0) {
      info = info == 0 ? k + 1 : info;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) a[i * n + k] /= a[k * n + k];
  }
  return info;
}

void solve_eliminated(const double* lu, const int64_t* pivots, double* x, int64_t n, int64_t m,
                      bool transposed) {
  const auto swap = [&](int64_t i) {
    const int64_t at = pivots[i] - 1;
    for (int64_t j = 0; j < m && at != i; ++j) std::swap(x[i * m + j], x[at * m + j]);
  };
  const auto step = [&](int64_t i, int64_t begin, int64_t end, bool divides) {
    for (int64_t j = 0; j < m; ++j) {
      ReferenceSum sum(x[i * m + j]);
      for (int64_t t = begin; t < end; ++t)
        sum -= (transposed ? lu[t * n + i] : lu[i * n + t]) * x[t * m + j];
      x[i * m + j] = divides ? sum / lu[i * n + i] : static_cast<double>(sum);
    }
  };
  for (int64_t i = 0; i < n && !transposed; ++i) swap(i);
  for (int64_t i = 0; i < n; ++i) step(i, 0, i, transposed);
  for (int64_t i = n - 1; i >= 0; --i) step(i, i + 1, n, !transposed);
  for (int64_t i = n - 1; i >= 0 && transposed; --i) swap(i);
}

void solve_all_eliminated(const Array& lu, const Array& pivots, const Array& b, bool left,
                          bool transposed, Array& x) {
  if (x.numel() == 0) return;
  const int64_t n = lu.shape.back(), columns = x.shape.back(),
                m = left ? columns : x.shape[x.shape.size() - 2];
  const std::vector<int64_t> batch(x.shape.begin(), x.shape.end() - 2);
  std::vector<int64_t> index(batch.size(), 0);
  const auto matrix_of = [&](const Array& t) {
    return broadcast_position(index, std::vector<int64_t>(t.shape.begin(), t.shape.end() - 2));
  };
  const auto place = [&](int64_t i, int64_t j) { return left ? i * m + j : j * columns + i; };
  double* y = x.f.data();
  do {
    const double* known = b.f.data() + matrix_of(b) * n * m;
    std::vector<double> lines;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) lines.push_back(known[place(i, j)]);
    const int64_t matrix = matrix_of(lu);
    solve_eliminated(lu.f.data() + matrix * n * n, pivots.i.data() + matrix * n, lines.data(), n, m,
                     transposed);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) y[place(i, j)] = lines[static_cast<size_t>(i * m + j)];
    y += n * m;
  } while (next_index(index, batch));
}

}  // namespace cleave
