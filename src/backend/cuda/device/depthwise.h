// Convolutions of one channel a group in two dims, channels last (library/convolution_spec.h):
// square kernels of K x K taps without dilation, at the speed of memory.
//
//   depthwise_taps        the weight [channels, K * K] as [K * K, channels], turned round for a
//                         gradient, in the workspace: a tap of neighbouring channels is one read
//   depthwise_strips      to_small, and to_large with stride 1. A thread has V neighbouring
//                         channels of `strip` neighbouring positions; a line of taps is in
//                         registers, and each number of the image is read once for it
//   depthwise_spread      to_large with stride 2
//   depthwise_to_weight   a thread has V channels of some lines, and the taps of a line of the
//                         kernel, which it sums into sums[lines, tap, channel]
//   depthwise_sum_weight  adds these up in f64, in order
//
// Any order of sums follows from the sizes alone.
#pragma once
#include "backend/cuda/device/convolution.h"

namespace cleave::cuda::device {

constexpr int depthwise_threads = 256;
constexpr int strip = 8;

template <class T, int V>
struct alignas(sizeof(T) * V) Neighbours {
  T at[V];
};

// x[v] of V neighbouring channels.
template <class T, int V, class S>
CLEAVE_DEVICE void read(const T* from, S (&x)[V]) {
  const Neighbours<T, V> all = *reinterpret_cast<const Neighbours<T, V>*>(from);
  CLEAVE_UNROLL
  for (int v = 0; v < V; ++v) x[v] = wide(all.at[v]);
}
template <int V, class S>
CLEAVE_DEVICE void read_sums(const S* from, S (&x)[V]) {
  const Neighbours<S, V> all = *reinterpret_cast<const Neighbours<S, V>*>(from);
  CLEAVE_UNROLL
  for (int v = 0; v < V; ++v) x[v] = all.at[v];
}

// Positions [left, left + Columns) of a line of an image whose first one is at `from`, all on their
// way before one is used. Those outside the line are left alone.
template <class T, int V, int Columns>
CLEAVE_DEVICE void read_line(const T* from, int left, int size, Int channels,
                             Neighbours<T, V> (&x)[Columns]) {
  from += left * channels;
  CLEAVE_UNROLL
  for (int j = 0; j < Columns; ++j)
    if (left + j >= 0 && left + j < size)
      x[j] = *reinterpret_cast<const Neighbours<T, V>*>(from + j * channels);
}

template <class T>
CLEAVE_DEVICE void depthwise_taps(Int channels, Int taps, int turned, const T* weight,
                                  typename Sums<T>::type* to) {
  for (Int e = blockIdx.x * Int(depthwise_threads) + threadIdx.x; e < channels * taps;
       e += gridDim.x * Int(depthwise_threads)) {
    const Int tap = e / channels, channel = e % channels;
    to[e] = wide(weight[channel * taps + (turned != 0 ? taps - 1 - tap : tap)]);
  }
}

// Where a thread's strip of an image [images, size[1], size[2], channels] begins.
struct Strip {
  Int image, row, column, channel;
};
// Of at most 2^31 strips: a GPU has no division of 64 bits but a long function.
CLEAVE_DEVICE Strip strip_of(const Int (&size)[3], Int vectors, int width, Int e) {
  const unsigned number = static_cast<unsigned>(e), across = static_cast<unsigned>(vectors),
                 strips = static_cast<unsigned>((size[2] + strip - 1) / strip),
                 rows = static_cast<unsigned>(size[1]);
  const unsigned place = number / across, row = place / strips, image = row / rows;
  return {static_cast<Int>(image), static_cast<Int>(row - image * rows),
          static_cast<Int>(place - row * strips) * strip,
          static_cast<Int>(number - place * across) * width};
}
CLEAVE_DEVICE Int strips_of(const Int (&size)[3], Int images, Int vectors) {
  return images * size[1] * ((size[2] + strip - 1) / strip) * vectors;
}

// Rounds a strip's sums, with the bias, into the image.
template <class T, int V, class S>
CLEAVE_DEVICE void write_strip(const Int (&size)[3], Int channels, const Strip& at,
                               const S (&sums)[strip][V], const void* bias, T* image) {
  S more[V] = {};
  if (bias != nullptr) read<T, V>(static_cast<const T*>(bias) + at.channel, more);
  T* to = image + ((at.image * size[1] + at.row) * size[2] + at.column) * channels + at.channel;
  CLEAVE_UNROLL
  for (int o = 0; o < strip; ++o) {
    if (at.column + o >= size[2]) break;
    Neighbours<T, V> all;
    CLEAVE_UNROLL
    for (int v = 0; v < V; ++v) all.at[v] = Narrow<T>::of(sums[o][v] + more[v]);
    *reinterpret_cast<Neighbours<T, V>*>(to + o * channels) = all;
  }
}

// Adds the products of a line of an image, from position `left` on, with the taps of a line of the
// kernel: position j and place o of the strip meet at tap First + J j + O o, if there is one.
template <class T, int V, int K, int First, int J, int O, int Columns, class S>
CLEAVE_DEVICE void add_line(const T* from, int left, int size, Int channels, const S* taps,
                            S (&sums)[strip][V]) {
  S line[K][V];
  CLEAVE_UNROLL
  for (int k = 0; k < K; ++k) read_sums(taps + k * channels, line[k]);
  Neighbours<T, V> x[Columns];
  read_line(from, left, size, channels, x);
  const bool is_inside = left >= 0 && left + Columns <= size;
  CLEAVE_UNROLL
  for (int j = 0; j < Columns; ++j) {
    if (!is_inside && (left + j < 0 || left + j >= size)) continue;
    CLEAVE_UNROLL
    for (int o = 0; o < strip; ++o) {
      const int tap = First + J * j + O * o;
      if (tap < 0 || tap >= K) continue;
      CLEAVE_UNROLL
      for (int v = 0; v < V; ++v)
        sums[o][v] = multiply_add(wide(x[j].at[v]), line[tap][v], sums[o][v]);
    }
  }
}

// `taps` are in the order of the sum.
template <class T, int V, int K, int Stride>
CLEAVE_DEVICE void depthwise_strips(const ConvolutionArguments& p, const T* large,
                                    const typename Sums<T>::type* taps, const void* bias,
                                    T* small) {
  using S = typename Sums<T>::type;
  constexpr int columns = (strip - 1) * Stride + K;
  const Int channels = p.large_channels, vectors = channels / V;
  for (Int e = blockIdx.x * Int(depthwise_threads) + threadIdx.x;
       e < strips_of(p.small, p.images, vectors); e += gridDim.x * Int(depthwise_threads)) {
    const Strip at = strip_of(p.small, vectors, V, e);
    const int left = static_cast<int>(at.column * Stride - p.padding[2]);
    S sums[strip][V] = {};
    for (int i = 0; i < K; ++i) {
      const Int row = at.row * Stride - p.padding[1] + i;
      if (row < 0 || row >= p.large[1]) continue;
      const T* from = large + (at.image * p.large[1] + row) * p.large[2] * channels + at.channel;
      add_line<T, V, K, 0, 1, -Stride, columns>(from, left, static_cast<int>(p.large[2]), channels,
                                                taps + i * K * channels + at.channel, sums);
    }
    write_strip<T, V>(p.small, channels, at, sums, bias, small);
  }
}

// A position of the small image is read by those of the large one that are 2 apart: with tap
// First - 2j + o at place o of a strip, if j counts the positions of the small line. First is K - 1
// or K - 2, as even as the padding.
template <class T, int V, int K, int First>
CLEAVE_DEVICE void depthwise_spread(const ConvolutionArguments& p, const T* small,
                                    const typename Sums<T>::type* taps, const void* bias,
                                    T* large) {
  using S = typename Sums<T>::type;
  constexpr int columns = (strip - 1 + First) / 2 + 1;
  const Int channels = p.large_channels, vectors = channels / V;
  for (Int e = blockIdx.x * Int(depthwise_threads) + threadIdx.x;
       e < strips_of(p.large, p.images, vectors); e += gridDim.x * Int(depthwise_threads)) {
    const Strip at = strip_of(p.large, vectors, V, e);
    const int left = static_cast<int>(at.column + p.padding[2] - First) / 2;  // even
    S sums[strip][V] = {};
    for (int i = 0; i < K; ++i) {
      const Int twice = at.row + p.padding[1] - i, row = twice / 2;
      if (twice < 0 || twice % 2 != 0 || row >= p.small[1]) continue;
      const T* from = small + (at.image * p.small[1] + row) * p.small[2] * channels + at.channel;
      add_line<T, V, K, First, -2, 1, columns>(from, left, static_cast<int>(p.small[2]), channels,
                                               taps + i * K * channels + at.channel, sums);
    }
    write_strip<T, V>(p.large, channels, at, sums, bias, large);
  }
}

// Neighbouring threads have neighbouring channels, then the kernel's other lines, which read the
// same gradient, so that few channels fill a warp, too.
template <class T, int V, int K, int Stride>
CLEAVE_DEVICE void depthwise_to_weight(const ConvolutionArguments& p, Int lines, const T* large,
                                       const T* small, typename Sums<T>::type* to) {
  using S = typename Sums<T>::type;
  constexpr int columns = (strip - 1) * Stride + K;
  // Positions that are read before one is used. With 7 taps their registers would cost half of the
  // warps: 487 us in place of 296 for 64 images of 96 x 56 x 56 (H200, 2026-11).
  constexpr int ahead = K < 7 ? columns : 1;
  const Int channels = p.large_channels;
  const Int all_lines = p.images * p.small[1], parts = (all_lines + lines - 1) / lines;
  const auto vectors = static_cast<unsigned>(channels / V);
  const unsigned units = vectors * K * static_cast<unsigned>(parts);
  const int rows = static_cast<int>(p.large[1]), width = static_cast<int>(p.large[2]),
            small_rows = static_cast<int>(p.small[1]), small_width = static_cast<int>(p.small[2]);
  for (unsigned unit = blockIdx.x * unsigned(depthwise_threads) + threadIdx.x; unit < units;
       unit += gridDim.x * unsigned(depthwise_threads)) {
    const int i = static_cast<int>(unit / vectors % K);
    const unsigned part = unit / vectors / K;
    const Int channel = Int(unit % vectors) * V;
    S sums[K][V] = {};
    const Int begin = part * lines, end = begin + lines < all_lines ? begin + lines : all_lines;
    for (Int at = begin; at < end; ++at) {
      const int image = static_cast<int>(at) / small_rows,
                o_row = static_cast<int>(at) % small_rows;
      const int row = o_row * Stride - static_cast<int>(p.padding[1]) + i;
      if (row < 0 || row >= rows) continue;
      const T* gradient = small + at * small_width * channels + channel;
      const T* from = large + (Int(image) * rows + row) * width * channels + channel;
      for (int o_column = 0; o_column < small_width; o_column += strip) {
        const int left = o_column * Stride - static_cast<int>(p.padding[2]);
        const bool is_inside =
            left >= 0 && left + columns <= width && o_column + strip <= small_width;
        Neighbours<T, V> g[strip];
        read_line(gradient, o_column, small_width, channels, g);
        CLEAVE_UNROLL
        for (int first = 0; first < columns; first += ahead) {
          Neighbours<T, V> x[ahead];
          read_line(from, left + first, width, channels, x);
          CLEAVE_UNROLL
          for (int j = first; j < first + ahead && j < columns; ++j) {
            if (!is_inside && (left + j < 0 || left + j >= width)) continue;
            CLEAVE_UNROLL
            for (int o = 0; o < strip; ++o) {
              const int tap = j - o * Stride;
              if (tap < 0 || tap >= K || (!is_inside && o_column + o >= small_width)) continue;
              CLEAVE_UNROLL
              for (int v = 0; v < V; ++v)
                sums[tap][v] =
                    multiply_add(wide(x[j - first].at[v]), wide(g[o].at[v]), sums[tap][v]);
            }
          }
        }
      }
    }
    S* own = to + (Int(part) * K + i) * K * channels + channel;
    CLEAVE_UNROLL
    for (int k = 0; k < K; ++k) {
      Neighbours<S, V> all;
      CLEAVE_UNROLL
      for (int v = 0; v < V; ++v) all.at[v] = sums[k][v];
      *reinterpret_cast<Neighbours<S, V>*>(own + k * channels) = all;
    }
  }
}

// Some channels of a tap to a block, and of those a share of the parts to a thread.
constexpr int summed_channels = 8;
template <class T>
CLEAVE_DEVICE void depthwise_sum_weight(Int channels, Int taps, Int parts,
                                        const typename Sums<T>::type* sums, T* weight) {
  using S = typename Sums<T>::type;
  constexpr int shares = depthwise_threads / summed_channels;
  CLEAVE_SHARED double totals[shares][summed_channels];
  const Int blocks = (channels + summed_channels - 1) / summed_channels;
  const Int share = threadIdx.x / summed_channels, lane = threadIdx.x % summed_channels;
  for (Int b = blockIdx.x; b < blocks * taps; b += gridDim.x) {
    const Int channel = b % blocks * summed_channels + lane, tap = b / blocks;
    double total = 0;
    for (Int part = share; channel < channels && part < parts; part += shares)
      total += sums[(part * taps + tap) * channels + channel];
    totals[share][lane] = total;
    __syncthreads();
    if (share == 0 && channel < channels) {
      for (int s = 1; s < shares; ++s) total += totals[s][lane];
      weight[channel * taps + tap] = Narrow<T>::of(static_cast<S>(total));
    }
    __syncthreads();
  }
}

}  // namespace cleave::cuda::device
