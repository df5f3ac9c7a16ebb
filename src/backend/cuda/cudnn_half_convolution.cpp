#include "backend/cuda/cudnn_half_convolution.h"

#include "backend/cuda/cudnn_convolution.h"
#include "backend/cuda/plain_convolution.h"

namespace cleave::cuda {
namespace {

using Product = ConvolutionProduct;

constexpr int64_t tensor_core_channels = 8;

int64_t padded_to(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }

// [outer, channels, h, w] with its strides.
struct HalfImage {
  Sizes4 sizes, strides;
};
HalfImage half_image(const ConvolutionSpec& s, int64_t outer, int64_t channels,
                     const Sizes3& size) {
  const int64_t h = size[1], w = size[2];
  HalfImage out{{outer, channels, h, w}, {channels * h * w, h * w, w, 1}};
  if (s.channels_last) out.strides = {channels * h * w, 1, channels * w, channels};
  return out;
}

// What an engine may copy of a tensor, before or after its product.
int64_t copied_bytes(const ConvolutionSpec& s, const HalfImage& image) {
  const auto& [n, c, h, w] = image.sizes;
  if (s.channels_last && c % tensor_core_channels == 0) return 0;
  return n * padded_to(c, tensor_core_channels) * h * w * size_of(s.dtype);
}

struct HalfImages {
  explicit HalfImages(const ConvolutionSpec& s)
      : large(half_image(s, s.images, s.large_channels, s.large)),
        small(half_image(s, s.images, s.small_channels, s.small)),
        weight(half_image(s, s.small_channels, s.large_channels / s.groups, s.kernel)) {}
  HalfImage large, small, weight;
};

}  // namespace

bool CudnnHalfConvolution::takes(const ConvolutionSpec& s) {
  return (s.dtype == DType::bf16 || s.dtype == DType::f16) && s.large[0] == 1 && s.small[0] == 1 &&
         s.kernel[0] == 1 && s.padding[0] == 0 && !s.has_added && !s.relu &&
         CudnnConvolution::takes(s);
}

int64_t CudnnHalfConvolution::scratch_bytes(const ConvolutionSpec& s) {
  const HalfImages at(s);
  return padded_to(CudnnConvolution::scratch_bytes(s) + copied_bytes(s, at.large) +
                       copied_bytes(s, at.small) + copied_bytes(s, at.weight),
                   64);
}

Result<CudnnHalfConvolution> CudnnHalfConvolution::planned(const ConvolutionSpec& s,
                                                           const CudnnPtr& cudnn, bool adds_bias) {
  const HalfImages at(s);
  const CudnnType type = cudnn_type(s.dtype);
  const CudnnWindows how{
      {s.stride[1], s.stride[2]}, {s.padding[1], s.padding[2]}, {s.dilation[1], s.dilation[2]}};
  CudnnGraph g(cudnn);
  const auto tensor = [&](const HalfImage& x) { return g.tensor(type, x.sizes, x.strides); };
  const HalfImage& result = s.product == Product::to_small   ? at.small
                            : s.product == Product::to_large ? at.large
                                                             : at.weight;
  const int64_t out = tensor(result);
  const int64_t sum = adds_bias ? g.inner(CudnnType::f32, result.sizes, result.strides) : out;
  int64_t image = 0, other = 0;
  switch (s.product) {
    case Product::to_small:
      image = tensor(at.large), other = tensor(at.weight);
      g.convolve(how, image, other, sum);
      break;
    case Product::to_large:
      image = tensor(at.small), other = tensor(at.weight);
      g.convolve_to_large(how, image, other, sum);
      break;
    case Product::to_weight:
      image = tensor(at.large), other = tensor(at.small);
      g.convolve_to_weight(how, image, other, sum);
      break;
  }
  int64_t bias = 0;
  if (adds_bias) {
    const int64_t channels = result.sizes[1];
    bias = g.tensor(type, {1, channels, 1, 1}, {channels, 1, channels, channels});
    g.pointwise(CudnnPointwise::add, {sum, bias}, out);
  }
  CLEAVE_TRY(CudnnPlan plan, std::move(g).plan(scratch_bytes(s), CudnnEngines::exact));
  CudnnHalfConvolution made(std::move(plan), s);
  made.image_ = image, made.other_ = other, made.bias_ = bias, made.out_ = out;
  return made;
}

Result<CudnnHalfConvolution> CudnnHalfConvolution::make(const ConvolutionSpec& s,
                                                        const CudnnPtr& cudnn,
                                                        const LibraryDevice& device) {
  if (s.has_bias)
    if (Result<CudnnHalfConvolution> whole = planned(s, cudnn, true); whole.ok()) return whole;
  CLEAVE_TRY(CudnnHalfConvolution made, planned(s, cudnn, false));
  if (s.has_bias) { CLEAVE_TRY(made.finish_, device.kernel(finish_convolution_call(s.dtype))); }
  return made;
}

void CudnnHalfConvolution::run(void* const* at, void* scratch, void* queue) const {
  using At = ConvolutionOperand;
  std::vector<std::pair<int64_t, const void*>> pointers = {
      {image_, at[At::image]}, {other_, at[At::other]}, {out_, at[At::out]}};
  if (bias_ != 0) pointers.emplace_back(bias_, at[At::bias]);
  plan_.run(pointers, scratch, queue);
  if (finish_) finish_convolution(*finish_, spec_, at, queue);
}

}  // namespace cleave::cuda
