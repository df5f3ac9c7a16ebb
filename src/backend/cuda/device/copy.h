// Matrices in layouts and types that a library doesn't take, as ones that it does.
#pragma once
#include "backend/cuda/device/product.h"

namespace cleave::cuda::device {

constexpr int copy_threads = 256;

template <class T, class X>
CLEAVE_DEVICE void copy_matrix(const CopyArguments& p, const void* from, void* to) {
  const Int count = p.batch * p.rows * p.columns;
  for (Int e = blockIdx.x * Int(copy_threads) + threadIdx.x; e < count;
       e += gridDim.x * Int(copy_threads)) {
    const Int j = e % p.columns, i = e / p.columns % p.rows, batch = e / p.columns / p.rows;
    static_cast<T*>(to)[batch * p.to_batch + i * p.to_row + j] = cast<T>(
        static_cast<const X*>(from)[batch * p.from_batch + i * p.from_row + j * p.from_col]);
  }
}

// B of four bits, or in panels; `p` is the product's, `to` dense [k, n].
template <class T, class B>
CLEAVE_DEVICE void unpack_matrix(const ProductArguments& p, const void* from, void* to) {
  for (Int e = blockIdx.x * Int(copy_threads) + threadIdx.x; e < p.k * p.n;
       e += gridDim.x * Int(copy_threads))
    static_cast<T*>(to)[e] = Narrow<T>::of(B::template at<T>(p, from, 0, e / p.n, e % p.n));
}

}  // namespace cleave::cuda::device
