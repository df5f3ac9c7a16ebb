// What a mask adds to scores, in halves, and what is in rows that it closes.
//
//   write_bias    for a bool 0 or, where it is false, -inf; a number as it is; -inf in the columns
//                 behind the mask's. A thread has eight neighbours: `padded` is a multiple of 8.
//   close_rows    out and sums are 0 in rows without an open key. There the sums of what cuDNN
//                 computes are no numbers, so that few rows are looked at.
#pragma once
#include "backend/cuda/device/attention_scores.h"

namespace cleave::cuda::device {

constexpr int bias_threads = 256;

CLEAVE_DEVICE float bias_of(u8 is_open) { return is_open != 0 ? 0.0f : no_score(); }
CLEAVE_DEVICE float bias_of(bf16 x) { return wide(x); }
CLEAVE_DEVICE float bias_of(f16 x) { return wide(x); }

template <class T>
struct alignas(16) Eight {
  T x[8];
};

template <class M, class T>
CLEAVE_DEVICE void write_bias(const BiasArguments& p, const M* mask, T* to) {
  const Int vectors = p.padded / 8;
  for (Int e = blockIdx.x * Int(bias_threads) + threadIdx.x;
       e < p.batch * p.heads * p.rows * vectors; e += gridDim.x * Int(bias_threads)) {
    const Int line = e / vectors, column = (e - line * vectors) * 8;
    const Int block = line / p.rows, row = line - block * p.rows;
    const Int batch = block / p.heads, head = block - batch * p.heads;
    const M* from = mask + head_at(p.at, batch, head) + row * p.at.row;
    Eight<T> eight;
    for (int k = 0; k < 8; ++k) {
      const bool is_there = column + k < p.columns;
      eight.x[k] = Narrow<T>::of(is_there ? bias_of(from[(column + k) * p.at.column]) : no_score());
    }
    *reinterpret_cast<Eight<T>*>(to + line * p.padded + column) = eight;
  }
}

template <class T>
CLEAVE_DEVICE void close_rows(const ClosedRowArguments& p, const T* bias, T* out, float* sums) {
  const BiasArguments& b = p.bias;
  for (Int e = blockIdx.x * Int(bias_threads) + threadIdx.x; e < p.batch * p.heads * p.rows;
       e += gridDim.x * Int(bias_threads)) {
    if ((bits_of_f32(sums[e]) & 0x7f800000u) != 0x7f800000u) continue;
    const Int block = e / p.rows, row = e - block * p.rows;
    const Int batch = block / p.heads, head = block - batch * p.heads;
    const Int line =
        ((b.batch == 1 ? 0 : batch) * b.heads + (b.heads == 1 ? 0 : head)) * b.rows + row;
    bool is_closed = true;
    for (Int j = 0; j < b.columns && is_closed; ++j)
      is_closed = wide(bias[line * b.padded + j]) == no_score();
    if (!is_closed) continue;
    sums[e] = 0;
    T* to = out + head_at(p.out, batch, head) + row * p.out.row;
    for (Int k = 0; k < p.value_width; ++k) to[k * p.out.column] = Narrow<T>::of(0.0f);
  }
}

}  // namespace cleave::cuda::device
