// convolution_windows.h for f32 with AVX-512: sixteen columns at a time. Where windows step by one,
// a vector is put together from masked loads, one for each stretch of a row; else it is gathered.
// What masks leave out is not read.
#include "runtime/convolution_walk.h"
#include "runtime/convolution_windows.h"

#if defined(__x86_64__)
#if !defined(__clang__)
// g++ 12 takes the undefined vectors of its own intrinsics for mistakes (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#pragma GCC optimize("O3")
#endif

namespace cleave::runtime {
namespace {

constexpr int64_t lanes = 16;

// Where sixteen columns under one tap come from: lane i from offset + i under the mask of a load,
// or, where windows step, from base + index[i].
struct Lanes {
  int loads = 0;
  bool stepped = false;
  __mmask16 masks[lanes];
  int64_t offsets[lanes];  // of lane 0
  __mmask16 within = 0;    // stepped
  int64_t base = 0;
  alignas(64) int32_t index[lanes];
};

__mmask16 mask_of(int64_t first, int64_t count) {
  return static_cast<__mmask16>(((1u << count) - 1u) << first);
}

void set_lanes(const WindowSource& w, const WindowPosition& at, int64_t count, const Sizes3& tap,
               Lanes& out) {
  out.loads = 0;
  out.stepped = w.step[2] != 1;
  if (!out.stepped) {
    for_each_stretch(w, at, count, tap, [&](int64_t lane, int64_t n, int64_t offset) {
      const __mmask16 mask = mask_of(lane, n);
      if (out.loads > 0 && out.offsets[out.loads - 1] == offset - lane) {
        out.masks[out.loads - 1] = static_cast<__mmask16>(out.masks[out.loads - 1] | mask);
        return;
      }
      out.masks[out.loads] = mask;
      out.offsets[out.loads++] = offset - lane;
    });
    return;
  }
  out.within = 0;
  for_each_stretch(w, at, count, tap, [&](int64_t lane, int64_t n, int64_t offset) {
    if (out.within == 0) out.base = offset;
    for (int64_t i = 0; i < n; ++i)
      out.index[lane + i] = static_cast<int32_t>(offset - out.base + i * w.step[2]);
    out.within = static_cast<__mmask16>(out.within | mask_of(lane, n));
  });
  out.loads = out.within != 0;
}

// How a vector is put together: from so many loads, or as one of these says.
constexpr int no_load = 0, any_loads = -1, gathered = -2;

template <int loads>
__m512 load_lanes(const float* channel, const Lanes& from) {
  __m512 x = _mm512_setzero_ps();
  if constexpr (loads == gathered) {
    x = _mm512_mask_i32gather_ps(x, from.within, _mm512_load_si512(from.index),
                                 channel + from.base, 4);
  } else {
    const int count = loads == any_loads ? from.loads : loads;
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i)
      x = _mm512_mask_loadu_ps(x, from.masks[i], channel + from.offsets[i]);
  }
  return x;
}

// The rows of a panel that are one tap's, of channel after channel.
struct TapRows {
  const float* channel;
  int64_t plane;
  float* to;
  int64_t apart, count;
};

template <int loads>
void fill_rows(const TapRows& rows, const Lanes& from) {
  const float* channel = rows.channel;
  float* to = rows.to;
  for (int64_t i = 0; i < rows.count; ++i, channel += rows.plane, to += rows.apart)
    _mm512_storeu_ps(to, load_lanes<loads>(channel, from));
}

void fill_tap(const TapRows& rows, const Lanes& from) {
  if (from.loads == 0) return fill_rows<no_load>(rows, from);
  if (from.stepped) return fill_rows<gathered>(rows, from);
  switch (from.loads) {
    case 1: return fill_rows<1>(rows, from);
    case 2: return fill_rows<2>(rows, from);
    case 3: return fill_rows<3>(rows, from);
    case 4: return fill_rows<4>(rows, from);
    default: return fill_rows<any_loads>(rows, from);
  }
}

void pack_windows(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                  int64_t columns, void* panel) {
  const auto& w = *static_cast<const WindowSource*>(self);
  const int64_t plane = product_of(w.size), taps = w.tap_count;
  Lanes from;
  for (int64_t j = 0; j < w.nr; j += lanes) {
    const int64_t left = columns - j, count = left < 0 ? 0 : left < lanes ? left : lanes;
    const WindowPosition at = position_of(w, first_column + (count > 0 ? j : 0));
    for (int64_t tap = 0; tap < taps && tap < first_k + count_k; ++tap) {
      const int64_t channel = (first_k - tap + taps - 1) / taps;
      const int64_t first = channel * taps + tap - first_k;
      if (first >= count_k) continue;
      set_lanes(w, at, count, w.taps[tap], from);
      fill_tap({static_cast<const float*>(w.images) + channel * plane, plane,
                static_cast<float*>(panel) + first * w.nr + j, taps * w.nr,
                (count_k - first + taps - 1) / taps},
               from);
    }
  }
}

// Rows become columns: out[i][j] = x[j][i].
void turn(__m512 (&x)[lanes]) {
  __m512 y[lanes];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_shuffle_ps(y[i], y[i + 2], 0x44);
    x[i + 1] = _mm512_shuffle_ps(y[i], y[i + 2], 0xee);
    x[i + 2] = _mm512_shuffle_ps(y[i + 1], y[i + 3], 0x44);
    x[i + 3] = _mm512_shuffle_ps(y[i + 1], y[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd);
    y[i + 8] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0x88);
    x[i + 8] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0xdd);
    x[i + 4] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0x88);
    x[i + 12] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0xdd);
  }
}

// Sixteen positions of sixteen columns at a time. Columns a whole number of channels apart have
// their tap in common.
constexpr int64_t most_columns = 64;

void pack_turned(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                 int64_t columns, void* panel) {
  const auto& w = *static_cast<const WindowSource*>(self);
  const int64_t plane = product_of(w.size), taps = w.tap_count;
  Lanes from[most_columns];
  for (int64_t p = 0; p < count_k; p += lanes) {
    const int64_t count = count_k - p < lanes ? count_k - p : lanes;
    const WindowPosition at = position_of(w, w.first_k + first_k + p);
    for (int64_t j = 0; j < columns && j < taps; ++j)
      set_lanes(w, at, count, w.taps[(first_column + j) % taps], from[j]);
    for (int64_t half = 0; half < w.nr; half += lanes) {
      __m512 x[lanes];
      for (int64_t i = 0; i < lanes; ++i) {
        const int64_t j = half + i;
        x[i] = _mm512_setzero_ps();
        if (j >= columns) continue;
        const float* channel =
            static_cast<const float*>(w.images) + (first_column + j) / taps * plane;
        const Lanes& lanes_from = from[j % taps];
        x[i] = lanes_from.loads == 0  ? x[i]
               : lanes_from.stepped   ? load_lanes<gathered>(channel, lanes_from)
               : lanes_from.loads == 1 ? load_lanes<1>(channel, lanes_from)
                                       : load_lanes<any_loads>(channel, lanes_from);
      }
      turn(x);
      float* to = static_cast<float*>(panel) + p * w.nr + half;
      for (int64_t i = 0; i < count; ++i) _mm512_storeu_ps(to + i * w.nr, x[i]);
    }
  }
}

}  // namespace

WindowPacking window_packing_avx512() { return {pack_windows, pack_turned}; }

}  // namespace cleave::runtime

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
namespace cleave::runtime {
WindowPacking window_packing_avx512() { return {}; }
}  // namespace cleave::runtime
#endif
