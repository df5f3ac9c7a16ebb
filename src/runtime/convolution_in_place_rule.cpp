// Which products read windows in place (convolution_in_place.h).
#include <algorithm>

#include "runtime/convolution_planes.h"
#include "runtime/convolution_products.h"

namespace cleave::runtime {
namespace {

constexpr int64_t most_taps = 64, min_width = 2, most_width = 1024;
constexpr double most_numbers = 1 << 26;  // of an image, so that offsets are 32 bits

}  // namespace

bool covers_in_place(const ConvolutionSpec& s, InstructionSet set) {
  if (s.product == ConvolutionProduct::to_weight || s.groups != 1 || set < InstructionSet::avx2)
    return false;
  const bool in_f32 = s.dtype == DType::f32 || s.dtype == DType::f16 ||
                      (s.dtype == DType::bf16 && set < InstructionSet::avx512bf16);
  const bool is_flat = s.large[0] == 1 && s.small[0] == 1 && s.kernel[0] == 1 && s.padding[0] == 0;
  const bool has_work = s.images > 0 && s.large_channels > 0 && s.small_channels > 0;
  double numbers = static_cast<double>(std::max(s.large_channels, s.small_channels));
  for (const size_t d : {1U, 2U})  // with its border
    numbers *= static_cast<double>(std::max(s.large[d], s.small[d])) +
               static_cast<double>(s.dilation[d]) * static_cast<double>(s.kernel[d]) +
               2 * static_cast<double>(s.padding[d]);
  return in_f32 && is_flat && has_work && s.kernel[1] <= most_taps && s.kernel[2] <= most_taps &&
         product_of(s.kernel) <= most_taps && s.stride[1] <= most_slots &&
         s.stride[2] <= most_slots && std::max(s.large[2], s.small[2]) <= most_width &&
         numbers < most_numbers;
}

// Shares of the time that the sums take: what each of the two products spends on copies, of images
// and results. Measured: the convolutions of ResNet-50, 8 images of 128 x 128, both sets on a Zen 4
// (2026-12-01).
bool is_in_place(const ConvolutionSpec& s, InstructionSet set) {
  if (!covers_in_place(s, set)) return false;
  const bool to_small = s.product == ConvolutionProduct::to_small;
  const int64_t width = to_small ? s.small[2] : (s.large[2] + s.stride[2] - 1) / s.stride[2];
  if (width < min_width) return false;
  const int64_t phases = to_small ? 1 : s.stride[1] * s.stride[2], taps = product_of(s.kernel);
  const int64_t sources = to_small ? s.large_channels : s.small_channels;
  const int64_t results = to_small ? s.small_channels : s.large_channels;
  const auto n = static_cast<double>(results);
  const double k = static_cast<double>(sources * taps) / static_cast<double>(phases);
  // In tiles of few rows what the planes of many channels share in the caches is read too often.
  if (taps == 1 && set < InstructionSet::avx512) return false;
  if (s.weight_packed) return true;  // the other product transposes its result as well
  const bool by_rows = phases > 1 || s.dtype != DType::f32;
  const int64_t panel = set >= InstructionSet::avx512 ? 32 : 16;
  const int64_t columns = (results + panel - 1) / panel * panel;
  const double used = n / static_cast<double>(columns);
  const bool is_strided = to_small && product_of(s.stride) > 1;
  const bool copies = is_strided || taps > 1 || by_rows || s.padding != Sizes3{0, 0, 0};
  const double copying = !copies ? 0 : is_strided && taps == 1 ? 104 : 9;
  const double in_place = (by_rows ? 28 : 11) / k + copying / (static_cast<double>(taps) * n);
  const double packed = 0.06 + (taps > 1 ? 5 : 2) / n + (phases > 1 ? 8 / k : 0);
  return (1 + in_place) / used < 1 + packed;
}

}  // namespace cleave::runtime
