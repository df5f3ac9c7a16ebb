// Checks a spec, and chooses the product that computes it.
#include "runtime/convolution.h"

#include "runtime/convolution_planes.h"
#include "runtime/convolution_products.h"
#include "runtime/convolution_windows.h"

namespace cleave::runtime {
namespace {

// Groups of so few channels on both sides give products of few rows. Measured: 3 x 3, 8 images of
// 28 x 28 and 14 x 14, groups of 8 and 16 channels, both sets on a Zen 5 (2026-11-26).
int64_t few_channels(InstructionSet set) { return set >= InstructionSet::avx512 ? 8 : 16; }

// Results that a wide image of one group has at most, and its planes: a product of few rows packs a
// window for each of their sums. Measured: 3 x 3 and 5 x 5, 8 images of 32 x 32 to 96 x 96, 3 to 96
// channels, on a Zen 5 (2026-11-30): 1.2 to 1.7 times as fast; bf16 without an instruction for its
// products .9 to 1.2 times, with one .5 to 1.6; f16 .8 to 1.1 times.
int64_t few_results(DType dtype, InstructionSet set) {
  if (dtype != DType::bf16) return 16;
  return dtype == DType::bf16 && set >= InstructionSet::avx512bf16 ? 8 : 32;
}
constexpr int64_t min_width = 32;
constexpr int64_t max_plane_bytes = 2 << 20;

bool is_direct_image(const ConvolutionSpec& s, InstructionSet set) {
  const bool to_small = s.product == ConvolutionProduct::to_small;
  const Sizes3 &from = to_small ? s.large : s.small, &to = to_small ? s.small : s.large;
  return s.product != ConvolutionProduct::to_weight && s.groups == 1 && product_of(s.stride) == 1 &&
         s.kernel[2] > 1 && to[2] >= min_width &&
         (to_small ? s.small_channels : s.large_channels) <= few_results(s.dtype, set) &&
         (to_small ? s.large_channels : s.small_channels) * product_of(from) * 4 <= max_plane_bytes;
}

bool is_direct(const ConvolutionSpec& s, InstructionSet set) {
  if (is_direct_image(s, set)) return true;
  const int64_t most = few_channels(set) * s.groups;
  return s.groups > 1 && s.large_channels <= most && s.small_channels <= most &&
         s.stride[2] <= most_slots;
}

// Images of one channel a group, in two dims, with enough of them for lanes.
bool is_depthwise(const ConvolutionSpec& s) {
  return s.groups >= 8 && s.large_channels == s.groups && s.small_channels == s.groups &&
         s.large[0] == 1 && s.small[0] == 1 && s.kernel[0] == 1 && s.padding[0] == 0;
}

}  // namespace

Result<std::shared_ptr<Convolution>> Convolution::make(const ConvolutionSpec& s,
                                                       const Target& target) {
  if (window_packing_plain(s.dtype).windows == nullptr)
    return unsupported("convolution: {} is not covered (src/runtime/convolution_windows.h)",
                       name_of(s.dtype));
  bool fits = s.images >= 0 && s.groups > 0 && s.large_channels >= 0 && s.small_channels >= 0 &&
              s.large_channels % s.groups == 0 && s.small_channels % s.groups == 0;
  for (size_t d = 0; d < 3; ++d)
    fits = fits && s.large[d] > 0 && s.small[d] > 0 && s.kernel[d] > 0 && s.stride[d] > 0 &&
           s.dilation[d] > 0 && s.padding[d] >= 0;
  fits = fits && (!s.weight_packed || (s.product == ConvolutionProduct::to_small &&
                                       s.dtype == DType::f32 && s.groups == 1));
  fits = fits && ((!s.has_added && !s.relu) ||
                  (s.product == ConvolutionProduct::to_small && s.dtype == DType::f32));
  fits = fits && (!s.channels_last || (!s.weight_packed && !s.has_added && !s.relu));
  if (!fits)
    return bug("convolution: {} images of {} and {} channels in {} groups", s.images,
               s.large_channels, s.small_channels, s.groups);
  if (s.channels_last) {
    ConvolutionSpec row_major = s;
    row_major.channels_last = false;
    CLEAVE_TRY(std::shared_ptr<Convolution> inner, make(row_major, target));
    return make_channels_last(s, std::move(inner));
  }
  if (is_depthwise(s))
    return s.product == ConvolutionProduct::to_weight ? make_depthwise_weight(s, target.set)
                                                      : make_depthwise_image(s, target.set);
  if (is_direct(s, target.set))
    return s.product == ConvolutionProduct::to_weight ? make_direct_weight(s, target.set)
                                                      : make_direct_image(s, target.set);
  if (s.product == ConvolutionProduct::to_weight) return make_weight_product(s, target.set);
  if (is_in_place(s, target.set)) return make_in_place_product(s, target.set);
  return s.weight_packed ? make_packed_product(s, target.set) : make_image_product(s, target.set);
}

void Convolution::call(void* const* at, void* scratch, const RunContext& context) const {
  using At = ConvolutionOperand;
  run({at[At::image], at[At::other], at[At::bias], at[At::out], at[At::added]}, scratch,
      context.executor);
}

}  // namespace cleave::runtime
