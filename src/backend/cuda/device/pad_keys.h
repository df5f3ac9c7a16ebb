// Keys or values [batch, heads, rows, width] of halves with more rows, and back. A thread has eight
// neighbours of a row: width is a multiple of 8, lines begin at 16 bytes.
//
//   pad_keys      to, dense with `padded` rows: those behind the others are 0. open, where it is
//                 given: for each of the rows 0, or -inf behind the others
//   unpad_keys    what is in the first `rows` of such ones, by strides
#pragma once
#include "backend/cuda/device/attention_scores.h"

namespace cleave::cuda::device {

constexpr int pad_threads = 256;

struct alignas(16) EightHalves {
  unsigned words[4];
};

// Of so many rows: where the thread's eighth is.
struct PaddedPlace {
  Int row, strided, dense;
};
CLEAVE_DEVICE PaddedPlace padded_place(const PadArguments& p, Int rows, Int e) {
  const Int vectors = p.width / 8, line = e / vectors, column = (e - line * vectors) * 8;
  const Int block = line / rows, row = line - block * rows;
  const Int batch = block / p.heads, head = block - batch * p.heads;
  return {row, batch * p.at.batch + head * p.at.head + row * p.at.row + column,
          (block * p.padded + row) * p.width + column};
}

template <class T>
CLEAVE_DEVICE void pad_keys(const PadArguments& p, const T* from, T* to, T* open) {
  const Int first = blockIdx.x * Int(pad_threads) + threadIdx.x,
            step = gridDim.x * Int(pad_threads);
  for (Int e = first; e < p.batch * p.heads * p.padded * (p.width / 8); e += step) {
    const PaddedPlace at = padded_place(p, p.padded, e);
    EightHalves x = {};
    if (at.row < p.rows) x = *reinterpret_cast<const EightHalves*>(from + at.strided);
    *reinterpret_cast<EightHalves*>(to + at.dense) = x;
  }
  for (Int row = first; open != nullptr && row < p.padded; row += step)
    open[row] = Narrow<T>::of(row < p.rows ? 0.0f : no_score());
}

template <class T>
CLEAVE_DEVICE void unpad_keys(const PadArguments& p, const T* from, T* to) {
  for (Int e = blockIdx.x * Int(pad_threads) + threadIdx.x;
       e < p.batch * p.heads * p.rows * (p.width / 8); e += gridDim.x * Int(pad_threads)) {
    const PaddedPlace at = padded_place(p, p.rows, e);
    *reinterpret_cast<EightHalves*>(to + at.strided) =
        *reinterpret_cast<const EightHalves*>(from + at.dense);
  }
}

}  // namespace cleave::cuda::device
