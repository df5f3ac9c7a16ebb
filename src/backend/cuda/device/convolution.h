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
    const Int channel = e / positions % p.small_channels, image = e / positions / p.small_channels;
    const Place at = place_of(p.small, e % positions);
    double total = 0;
    for (Int c = 0; c < inner; ++c) {
      const T* from = large + (image * p.large_channels + channel / outer * inner + c) * pixels;
      S sum = 0;
      for (Int t = 0; t < taps; ++t) {
        Place place;
        if (!large_place(p, at, place_of(p.kernel, t), place)) continue;
        const Int k = c * taps + t;
        const Int w = p.weight_packed != 0
                          ? (channel / panel * inner * taps + k) * panel + channel % panel
                          : channel * inner * taps + k;
        sum = multiply_add(wide(from[index_of(p.large, place)]), wide(weight[w]), sum);
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
    const Int channel = e / pixels % p.large_channels, image = e / pixels / p.large_channels;
    const Place at = place_of(p.large, e % pixels);
    double total = 0;
    for (Int c = channel / inner * outer; c < (channel / inner + 1) * outer; ++c) {
      const T* from = small + (image * p.small_channels + c) * positions;
      S sum = 0;
      for (Int t = 0; t < taps; ++t) {
        Place place;
        if (!small_place(p, at, place_of(p.kernel, t), place)) continue;
        sum = multiply_add(wide(from[index_of(p.small, place)]),
                           wide(weight[(c * inner + channel % inner) * taps + t]), sum);
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
    const Int channel = e / taps / inner, from = channel / outer * inner + e / taps % inner;
    const Place tap = place_of(p.kernel, e % taps);
    double total = 0;
    for (Int image = 0; image < p.images; ++image) {
      S sum = 0;
      for (Int o = threadIdx.x; o < positions; o += convolution_threads) {
        Place place;
        if (!large_place(p, place_of(p.small, o), tap, place)) continue;
        sum = multiply_add(
            wide(large[(image * p.large_channels + from) * pixels + index_of(p.large, place)]),
            wide(small[(image * p.small_channels + channel) * positions + o]), sum);
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

// After a library's convolution: bias, then `added`, then negative numbers become 0.
template <class T>
CLEAVE_DEVICE void finish_convolution(const ConvolutionArguments& p, const void* bias,
                                      const void* added, Int channels, Int positions, T* out) {
  for (Int e = blockIdx.x * Int(convolution_threads) + threadIdx.x;
       e < p.images * channels * positions; e += gridDim.x * Int(convolution_threads))
    out[e] = finished<T>(p, wide(out[e]), bias, e / positions % channels, added, e);
}

}  // namespace cleave::cuda::device
