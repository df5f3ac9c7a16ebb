// The choice by instruction set, and the packing for any processor.
#include "runtime/convolution_windows.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/convolution_walk.h"
#include "runtime/half.h"

namespace cleave::runtime {
namespace {

template <class S, class T>
void copy_run_of(const S* from, int64_t stride, int64_t count, T* to, int64_t to_stride) {
  if constexpr (std::is_same_v<S, T>)
    if (stride == 1 && to_stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
      return;
    }
  for (int64_t i = 0; i < count; ++i) to[i * to_stride] = static_cast<T>(from[i * stride]);
}

template <class S, class T>
void pack_windows(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                  int64_t columns, void* panel) {
  const auto& w = *static_cast<const WindowSource*>(self);
  const auto* images = static_cast<const S*>(w.images);
  T* to = static_cast<T*>(panel);
  const int64_t plane = product_of(w.size), taps = w.tap_count;
  std::fill_n(to, count_k * w.nr, T{0});
  const WindowPosition at = position_of(w, first_column);
  for (int64_t tap = 0; tap < std::min(taps, first_k + count_k); ++tap) {
    const int64_t channel = (first_k - tap + taps - 1) / taps;
    const int64_t first = channel * taps + tap - first_k;
    for_each_run(w, at, columns, w.taps[tap], [&](int64_t lane, int64_t count, int64_t offset) {
      const S* from = images + channel * plane + offset;
      for (int64_t k = first; k < count_k; k += taps, from += plane)
        copy_run_of(from, w.stride[2], count, to + k * w.nr + lane, 1);
    });
  }
}

template <class S, class T>
void pack_transposed(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                     int64_t columns, void* panel) {
  const auto& w = *static_cast<const WindowSource*>(self);
  const auto* images = static_cast<const S*>(w.images);
  T* to = static_cast<T*>(panel);
  const int64_t plane = product_of(w.size), taps = w.tap_count;
  std::fill_n(to, count_k * w.nr, T{0});
  const WindowPosition at = position_of(w, w.first_k + first_k);
  for (int64_t j = 0; j < columns; ++j) {
    const int64_t channel = (first_column + j) / taps, tap = (first_column + j) % taps;
    for_each_run(w, at, count_k, w.taps[tap], [&](int64_t k, int64_t count, int64_t offset) {
      copy_run_of(images + channel * plane + offset, w.stride[2], count, to + k * w.nr + j, w.nr);
    });
  }
}

template <class S, class T>
WindowPacking packing() {
  return {pack_windows<S, T>, pack_transposed<S, T>};
}

}  // namespace

WindowPacking window_packing_plain(DType dtype) {
  switch (dtype) {
    case DType::f64: return packing<double, double>();
    case DType::f32: return packing<float, float>();
    case DType::bf16: return packing<Bf16, float>();
    case DType::f16: return packing<F16, float>();
    default: return {};
  }
}

WindowPacking window_packing(DType dtype, int64_t image_stride, int64_t nr, InstructionSet set) {
  const bool fits = image_stride < int64_t{1} << 26 && nr % 16 == 0 && nr <= 64;
  if (!fits || set < InstructionSet::avx2) return window_packing_plain(dtype);
  const bool is_wide = set >= InstructionSet::avx512;
  switch (dtype) {
    case DType::f32: return is_wide ? window_packing_avx512 : window_packing_avx2;
    case DType::bf16: return is_wide ? window_packing_avx512_bf16 : window_packing_avx2_bf16;
    case DType::f16: return is_wide ? window_packing_avx512_f16 : window_packing_avx2_f16;
    default: return window_packing_plain(dtype);
  }
}

}  // namespace cleave::runtime
