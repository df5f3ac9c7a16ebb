// Matrices in layouts and types that a library doesn't take, as ones that it does.
#pragma once
#include "backend/cuda/device/product.h"

namespace cleave::cuda::device {

constexpr int copy_threads = 256;

// Elements of a thread, a block of threads apart, so that several reads are under way.
constexpr int copy_elements = 8;

template <class Index>
CLEAVE_DEVICE void copied_element(const CopyArguments& p, Index e, Int& from, Int& to) {
  const Index columns = static_cast<Index>(p.columns), rows = static_cast<Index>(p.rows);
  const Index line = e / columns, j = e - line * columns, batch = line / rows;
  const Int i = line - batch * rows;
  from = batch * p.from_batch + i * p.from_row + Int(j) * p.from_col;
  to = batch * p.to_batch + i * p.to_row + Int(j);
}

template <class T, class X>
CLEAVE_DEVICE void copy_matrix(const CopyArguments& p, const void* from, void* to) {
  const Int count = p.batch * p.rows * p.columns;
  const bool is_plain = p.batch == 1 && p.from_col == 1 && p.from_row == p.columns &&
                        p.to_row == p.columns,
             is_short = count <= 0x7fffffff;  // divisions of 64 bits are slow
  for (Int first = blockIdx.x * Int(copy_threads * copy_elements) + threadIdx.x; first < count;
       first += gridDim.x * Int(copy_threads * copy_elements))
    for (int k = 0; k < copy_elements; ++k) {
      const Int e = first + k * copy_threads;
      if (e >= count) break;
      Int source = e, target = e;
      if (!is_plain && is_short) copied_element(p, static_cast<unsigned>(e), source, target);
      if (!is_plain && !is_short) copied_element(p, e, source, target);
      static_cast<T*>(to)[target] = cast<T>(static_cast<const X*>(from)[source]);
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
