#include "backend/cuda/library_convolution.h"

#include "backend/cuda/cudnn_convolution.h"
#include "backend/cuda/cudnn_function.h"
#include "backend/cuda/cudnn_half_convolution.h"
#include "backend/cuda/depthwise_convolution.h"
#include "backend/cuda/plain_convolution.h"

namespace cleave::cuda {
namespace {

Status check(const ConvolutionSpec& s) {
  if (!is_floating(s.dtype))
    return unsupported("convolution: {} is not covered (src/backend/cuda/library_convolution.h)",
                       name_of(s.dtype));
  const bool is_to_small_f32 = s.product == ConvolutionProduct::to_small && s.dtype == DType::f32;
  bool fits = s.images >= 0 && s.groups > 0 && s.large_channels >= 0 && s.small_channels >= 0 &&
              s.large_channels % s.groups == 0 && s.small_channels % s.groups == 0;
  for (size_t d = 0; d < 3; ++d)
    fits = fits && s.large[d] > 0 && s.small[d] > 0 && s.kernel[d] > 0 && s.stride[d] > 0 &&
           s.dilation[d] > 0 && s.padding[d] >= 0;
  fits = fits && (!s.weight_packed || (is_to_small_f32 && s.groups == 1));
  fits = fits && ((!s.has_added && !s.relu) || is_to_small_f32);
  fits = fits && (!s.channels_last || (!s.weight_packed && !s.has_added && !s.relu));
  if (!fits)
    return bug("convolution: {} images of {} and {} channels in {} groups", s.images,
               s.large_channels, s.small_channels, s.groups);
  return {};
}

}  // namespace

Result<LibraryFunctionPtr> make_convolution(const ConvolutionSpec& s,
                                            const LibraryDevicePtr& device) {
  CLEAVE_CHECK(check(s));
  if (is_depthwise(s)) return make_depthwise(s, device);
  if (CudnnHalfConvolution::takes(s))
    return LibraryFunctionPtr(
        std::make_shared<CudnnFunction<ConvolutionSpec, CudnnHalfConvolution>>(s, device));
  if (CudnnConvolution::takes(s))
    return LibraryFunctionPtr(
        std::make_shared<CudnnFunction<ConvolutionSpec, CudnnConvolution>>(s, device));
  return make_plain(s, *device);
}

}  // namespace cleave::cuda
