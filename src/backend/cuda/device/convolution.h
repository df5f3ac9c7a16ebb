// Convolutions as plain sums (library/convolution_spec.h), for what no library takes: a thread for
// each element of an image, a block for each element of a weight. Sums of one channel or image are
// added up in f64.
#pragma once
#include "backend/cuda/device/product.h"

namespace cleave::cuda::device {

constexpr int convolution_threads = 256;

struct Place {
  Int at[3];
};
CLEAVE_DEVICE Int count_of(const Int (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }
CLEAVE_DEVICE Place place_of(const Int (&sizes)[3], Int i) {
  return {{i / sizes[2] / sizes[1], i / sizes[2] % sizes[1], i % sizes[2]}};
}
CLEAVE_DEVICE Int index_of(const Int (&sizes)[3], const Place& at) {
  return (at.at[0] * sizes[1] + at.at[1]) * sizes[2] + at.at[2];
}

// Where the large image is read for a position of the small one and a tap; false: outside.
CLEAVE_DEVICE bool large_place(const ConvolutionArguments& p, const Place& small, const Place& tap,
                               Place& large) {
  for (int d = 0; d < 3; ++d) {
    large.at[d] = small.at[d] * p.stride[d] - p.padding[d] + tap.at[d] * p.dilation[d];
    if (large.at[d] < 0 || large.at[d] >= p.large[d]) return false;
  }
  return true;
}
// The inverse for a tap; false: no position of the small image reads this one.
CLEAVE_DEVICE bool small_place(const ConvolutionArguments& p, const Place& large, const Place& tap,
                               Place& small) {
  for (int d = 0; d < 3; ++d) {
    const Int from = large.at[d] + p.padding[d] - tap.at[d] * p.dilation[d];
    small.at[d] = from / p.stride[d];
    if (from < 0 || from % p.stride[d] != 0 || small.at[d] >= p.small[d]) return false;
  }
  return true;
}

// Element e of an image in memory.
struct ImageElement {
  Int image, channel, position;
};
CLEAVE_DEVICE ImageElement element_of(const ConvolutionArguments& p, Int channels, Int positions,
                                      Int e) {
  if (p.channels_last != 0)
    return {e / channels / positions, e % channels, e / channels % positions};
  return {e / positions / channels, e / positions % channels, e % positions};
}
// Element e of a weight: a channel of the small image, one within its group of the large, a tap.
CLEAVE_DEVICE ImageElement weight_element_of(const ConvolutionArguments& p, Int inner, Int taps,
                                             Int e) {
  if (p.channels_last != 0) return {e / inner / taps, e % inner, e / inner % taps};
  return {e / taps / inner, e / taps % inner, e % taps};
}

template <class T>
CLEAVE_DEVICE T finished(const ConvolutionArguments& p, double total, const void* bias, Int channel,
                         const void* added, Int e) {
  using S = typename Sums<T>::type;
  S sum = static_cast<S>(total);
  if (bias != nullptr) sum += wide(static_cast<const T*>(bias)[channel]);
  if (added != nullptr) sum += wide(static_cast<const T*>(added)[e]);
  if (p.relu != 0 && sum < 0) sum = 0;
  return Narrow<T>::of(sum);
}

template <class T>
CLEAVE_DEVICE void convolve_to_small(const ConvolutionArguments& p, const T* large, const T* weight,
                                     const void* bias, const void* added, T* small) {
  using S = typename Sums<T>::type;
  const Int positions = count_of(p.small), taps = count_of(p.kernel), pixels = count_of(p.large);
  const Int inner = p.large_channels / p.groups, outer = p.small_channels / p.groups;
  for (Int e = blockIdx.x * Int(convolution_threads) + threadIdx.x;
       e < p.images * p.small_channels * positions; e += gridDim.x * Int(convolution_threads)) {
    const auto [image, channel, position] = element_of(p, p.small_channels, positions, e);
    const Place at = place_of(p.small, position);
    double total = 0;
    for (Int c = 0; c < inner; ++c) {
      const T* from = large + image * p.large_channels * pixels +
                      (channel / outer * inner + c) * p.large_step.channel;
      S sum = 0;
      for (Int t = 0; t < taps; ++t) {
        Place place;
        if (!large_place(p, at, place_of(p.kernel, t), place)) continue;
        const Int k = c * taps + t;
        const Int w =
            p.weight_packed != 0
                ? (channel / panel * inner * taps + k) * panel + channel % panel
                : channel * inner * taps + c * p.weight_step.channel + t * p.weight_step.position;
        sum = multiply_add(wide(from[index_of(p.large, place) * p.large_step.position]),
                           wide(weight[w]), sum);
      }
      total += sum;
    }
    small[e] = finished<T>(p, total, bias, channel, added, e);
  }
}

template <class T>
CLEAVE_DEVICE void convolve_to_large(const ConvolutionArguments& p, const T* small, const T* weight,
                                     const void* bias, T* large) {
  using S = typename Sums<T>::type;
  const Int positions = count_of(p.small), taps = count_of(p.kernel), pixels = count_of(p.large);
  const Int inner = p.large_channels / p.groups, outer = p.small_channels / p.groups;
  for (Int e = blockIdx.x * Int(convolution_threads) + threadIdx.x;
       e < p.images * p.large_channels * pixels; e += gridDim.x * Int(convolution_threads)) {
    const auto [image, channel, position] = element_of(p, p.large_channels, pixels, e);
    const Place at = place_of(p.large, position);
    double total = 0;
    for (Int c = channel / inner * outer; c < (channel / inner + 1) * outer; ++c) {
      const T* from = small + image * p.small_channels * positions + c * p.small_step.channel;
      const T* by = weight + c * inner * taps + channel % inner * p.weight_step.channel;
      S sum = 0;
      for (Int t = 0; t < taps; ++t) {
        Place place;
        if (!small_place(p, at, place_of(p.kernel, t), place)) continue;
        sum = multiply_add(wide(from[index_of(p.small, place) * p.small_step.position]),
                           wide(by[t * p.weight_step.position]), sum);
      }
      total += sum;
    }
    large[e] = finished<T>(p, total, bias, channel, nullptr, e);
  }
}

template <class T>
CLEAVE_DEVICE void convolve_to_weight(const ConvolutionArguments& p, const T* large, const T* small,
                                      T* weight) {
  using S = typename Sums<T>::type;
  CLEAVE_SHARED double totals[convolution_threads];
  const Int positions = count_of(p.small), taps = count_of(p.kernel), pixels = count_of(p.large);
  const Int inner = p.large_channels / p.groups, outer = p.small_channels / p.groups;
  for (Int e = blockIdx.x; e < p.small_channels * inner * taps; e += gridDim.x) {
    const auto [channel, own, number] = weight_element_of(p, inner, taps, e);
    const Int from = channel / outer * inner + own;
    const Place tap = place_of(p.kernel, number);
    double total = 0;
    for (Int image = 0; image < p.images; ++image) {
      S sum = 0;
      for (Int o = threadIdx.x; o < positions; o += convolution_threads) {
        Place place;
        if (!large_place(p, place_of(p.small, o), tap, place)) continue;
        const T* a = large + image * p.large_channels * pixels + from * p.large_step.channel;
        const T* b = small + image * p.small_channels * positions + channel * p.small_step.channel;
        sum = multiply_add(wide(a[index_of(p.large, place) * p.large_step.position]),
                           wide(b[o * p.small_step.position]), sum);
      }
      total += sum;
    }
    totals[threadIdx.x] = total;
    __syncthreads();
    for (int half = convolution_threads / 2; half > 0; half /= 2) {
      if (threadIdx.x < static_cast<unsigned>(half))
        totals[threadIdx.x] += totals[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) weight[e] = finished<T>(p, totals[0], nullptr, 0, nullptr, 0);
    __syncthreads();
  }
}

// After a library's convolution: bias, then `added`, then negative numbers become 0. Neighbouring
// channels of the `count` elements are `apart`.
template <class T>
CLEAVE_DEVICE void finish_convolution(const ConvolutionArguments& p, const void* bias,
                                      const void* added, Int channels, Int count, Int apart,
                                      T* out) {
  for (Int e = blockIdx.x * Int(convolution_threads) + threadIdx.x; e < count;
       e += gridDim.x * Int(convolution_threads))
    out[e] = finished<T>(p, wide(out[e]), bias, e / apart % channels, added, e);
}

}  // namespace cleave::cuda::device
