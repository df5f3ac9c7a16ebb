// Elimination with rows swapped, as the oracle has it: sums are rounded once (reference_sum.h).
#pragma once
#include <cstdint>

#include "ir/array.h"

namespace cleave {

// A of m rows and n columns becomes L and U in place, A = P L U. Step k swaps row k with row
// pivots[k] - 1, which has the largest |x| in column k, the first of equal ones; without `swaps` it
// is row k. Gives k + 1 for the first 0 on the diagonal of U, else 0.
int64_t eliminate(double* a, int64_t* pivots, int64_t m, int64_t n, bool swaps);

// X of n rows and m columns becomes A^-1 X, or A^-T X, in place. The pivots are rows.
void solve_eliminated(const double* lu, const int64_t* pivots, double* x, int64_t n, int64_t m,
                      bool transposed);

// The same for all matrices of lu [*s,n,n] and of b [*t,n,m], whose batches broadcast to that of x
// [*u,n,m]; not `left`: of rows [*t,m,n], each a system.
void solve_all_eliminated(const Array& lu, const Array& pivots, const Array& b, bool left,
                          bool transposed, Array& x);

}  // namespace cleave
