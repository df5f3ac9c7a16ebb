// Discrete Fourier transforms of rows of pairs (real part, imaginary part), as calls of operators.
//
//   X[k] = scale * sum_j x[j] exp(sign 2 pi i j k / n)
//
// A length of up to 64 is a product with a table of cosines and sines. A longer one is taken apart,
// n = a b: transforms of length a, a turn of each element, transforms of length b (Cooley and Tukey
// 1965). A prime above 256 is a convolution, by transforms of a length with small factors
// (Bluestein 1970). So no table has more than 2^18 numbers, and the work grows as n log n. A real
// row of even length is a row of pairs of half the length.
//
// Tables are made in f64, of angles reduced first, and rounded once.
#pragma once
#include "ir/builder.h"

namespace cleave::fourier {

constexpr int64_t longest = int64_t{1} << 24;

struct Transform {
  int64_t n = 1;  // from 1 to `longest`
  int sign = -1;  // -1 forward, 1 backward
  double scale = 1;
};

// x [rows,n,2] of f32 or f64 -> y of the same type.
ValueId of_pairs(Builder& b, ValueId x, const Transform& t);
// x [rows,n] -> y [rows, n / 2 + 1, 2]: the rest of the results are these, conjugated.
ValueId of_real(Builder& b, ValueId x, const Transform& t);
// x [rows, n / 2 + 1, 2], one half of rows of n whose other half is its conjugate -> y [rows,n],
// which is real. The imaginary parts that such rows don't have are not read.
ValueId to_real(Builder& b, ValueId x, const Transform& t);

}  // namespace cleave::fourier
