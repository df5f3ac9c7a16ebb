// C = alpha A B + beta C_in, by tiles of 64 x 64 in shared memory: for products that no library
// takes. A block is 256 threads, a thread sums 4 x 4 numbers:
//
//           16 lanes x 4 columns     columns lane, lane + 16, ... so that neighbours write
//        +----+----+----+----+       neighbours; rows likewise
//   16   |    |    |    |    |
//   x 4  +----+----+----+----+
#pragma once
#include "backend/cuda/device/numbers.h"

namespace cleave::cuda::device {

constexpr int product_threads = 256;
constexpr int product_tile = 64, product_depth = 16;

// Where the elements of B are.
template <class X>
struct Strided {
  template <class T>
  static CLEAVE_DEVICE auto at(const ProductArguments& p, const void* b, Int batch, Int k, Int j) {
    return term<T>(static_cast<const X*>(b)[batch * p.b_batch + k * p.b_row + j * p.b_col]);
  }
};
struct Nibbles {
  template <class T>
  static CLEAVE_DEVICE auto at(const ProductArguments& p, const void* b, Int, Int k, Int j) {
    const int both = static_cast<const u8*>(b)[k / 2 * p.b_row + j * p.b_col];
    return static_cast<typename Sums<T>::type>((k % 2 != 0 ? both >> 4 : both & 15) - 8);
  }
};
constexpr Int panel = 32;
struct Panels {
  template <class T>
  static CLEAVE_DEVICE auto at(const ProductArguments& p, const void* b, Int, Int k, Int j) {
    return term<T>(static_cast<const T*>(b)[(j / panel * p.k + k) * panel + j % panel]);
  }
};

// What becomes of a sum.
template <class T>
struct AddCIn {
  CLEAVE_DEVICE static T of(const ProductArguments& p, typename Sums<T>::type sum, const void* c_in,
                            const float*, const float*, Int batch, Int i, Int j) {
    using S = typename Sums<T>::type;
    if (p.alpha != 1) sum *= factor<S>(p.alpha);
    if (c_in != nullptr && p.beta != 0) {
      const T* from = static_cast<const T*>(c_in);
      sum +=
          factor<S>(p.beta) * term<T>(from[batch * p.c_in_batch + i * p.c_in_row + j * p.c_in_col]);
    }
    return Narrow<T>::of(sum);
  }
  template <class S>
  static CLEAVE_DEVICE S factor(double x) {
    if constexpr (is_integer<T>)
      return static_cast<S>(static_cast<Int>(x));
    else
      return static_cast<S>(x);
  }
};
// Sums of i8, with a rounding after each step.
struct ScaleSum {
  CLEAVE_DEVICE static float of(const ProductArguments& p, unsigned sum, const void* c_in,
                                const float* scale, const float* other, Int batch, Int i, Int j) {
    float x = times(static_cast<float>(static_cast<int>(sum)), static_cast<float>(p.alpha));
    if (scale != nullptr) x = times(x, scale[i * p.scales[0].row + j * p.scales[0].col]);
    if (other != nullptr) x = times(x, other[i * p.scales[1].row + j * p.scales[1].col]);
    if (c_in == nullptr) return x;
    const float* from = static_cast<const float*>(c_in);
    return plus(x, from[batch * p.c_in_batch + i * p.c_in_row + j * p.c_in_col]);
  }
};

// T is the type of C, N that of the product (i32 for ScaleSum), X that of A in memory.
template <class T, class N, class X, class B, class End>
CLEAVE_DEVICE void product(const ProductArguments& p, const void* a, const void* b,
                           const void* c_in, const float* scale, const float* other, void* c) {
  using S = typename Sums<N>::type;
  using Total = typename Sums<N>::total;
  CLEAVE_SHARED S rows[product_depth][product_tile + 1];
  CLEAVE_SHARED S columns[product_depth][product_tile + 1];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const Int tiles_m = (p.m + product_tile - 1) / product_tile;
  const Int tiles_n = (p.n + product_tile - 1) / product_tile;
  for (Int tile = blockIdx.x; tile < p.batch * tiles_m * tiles_n; tile += gridDim.x) {
    const Int batch = tile / (tiles_m * tiles_n);
    const Int first_i = tile / tiles_n % tiles_m * product_tile;
    const Int first_j = tile % tiles_n * product_tile;
    S sums[4][4] = {};
    Total totals[4][4] = {};
    for (Int first = 0; first < p.k; first += product_depth) {
      for (int e = threadIdx.x; e < product_tile * product_depth; e += product_threads) {
        // Neighbours read neighbours.
        const bool by_k = p.a_col == 1;
        const int k = by_k ? e % product_depth : e / product_tile;
        const int i = by_k ? e / product_depth : e % product_tile;
        const bool is_there = first + k < p.k && first_i + i < p.m;
        rows[k][i] =
            !is_there
                ? S(0)
                : term<N>(static_cast<const X*>(
                      a)[batch * p.a_batch + (first_i + i) * p.a_row + (first + k) * p.a_col]);
      }
      for (int e = threadIdx.x; e < product_tile * product_depth; e += product_threads) {
        const bool by_k = p.b_row == 1 && p.b_col != 1;
        const int k = by_k ? e % product_depth : e / product_tile;
        const int j = by_k ? e / product_depth : e % product_tile;
        const bool is_there = first + k < p.k && first_j + j < p.n;
        columns[k][j] = !is_there ? S(0) : B::template at<N>(p, b, batch, first + k, first_j + j);
      }
      __syncthreads();
      for (int k = 0; k < product_depth; ++k)
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 4; ++j)
            sums[i][j] = multiply_add(rows[k][y + 16 * i], columns[k][x + 16 * j], sums[i][j]);
      __syncthreads();
      if ((first + product_depth) % span != 0) continue;
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
          totals[i][j] += sums[i][j];
          sums[i][j] = 0;
        }
    }
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 4; ++column) {
        const Int i = first_i + y + 16 * row, j = first_j + x + 16 * column;
        if (i >= p.m || j >= p.n) continue;
        const S sum = static_cast<S>(totals[row][column] + sums[row][column]);
        static_cast<T*>(c)[batch * p.c_batch + i * p.c_row + j] =
            End::of(p, sum, c_in, scale, other, batch, i, j);
      }
  }
}

}  // namespace cleave::cuda::device
