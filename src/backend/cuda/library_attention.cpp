#include "backend/cuda/library_attention.h"

#include "backend/cuda/cudnn_attention.h"
#include "backend/cuda/cudnn_function.h"
#include "backend/cuda/plain_attention.h"
#include "library/check_attention.h"

namespace cleave::cuda {
namespace {

Status check(const AttentionSpec& s) {
  if (s.dtype != DType::f32 && s.dtype != DType::bf16 && s.dtype != DType::f16)
    return unsupported("attention: {} is not covered (src/backend/cuda/library_attention.h)",
                       name_of(s.dtype));
  return check_sizes(s);
}

// Asked for here, kernels beside cuDNN's are compiled with the program's.
Status compile_bias(const AttentionSpec& s, const LibraryDevice& device) {
  if (s.mask && device.cudnn()) CLEAVE_CHECK(AttentionBias::make(s, s.columns, device));
  return {};
}

}  // namespace

Result<LibraryFunctionPtr> make_attention(const AttentionSpec& s, const LibraryDevicePtr& device) {
  CLEAVE_CHECK(check(s));
  if (CudnnAttention::takes(s)) {
    CLEAVE_CHECK(compile_bias(s, *device));
    return LibraryFunctionPtr(
        std::make_shared<CudnnFunction<AttentionSpec, CudnnAttention>>(s, device));
  }
  return make_plain(s, *device);
}

Result<LibraryFunctionPtr> make_attention_gradient(const AttentionBackwardSpec& s,
                                                   const LibraryDevicePtr& device,
                                                   bool is_deterministic) {
  const AttentionSpec& f = s.forward;
  CLEAVE_CHECK(check(f));
  if (f.key_group != f.value_group || (f.sum_rows == 0 && f.rows > 0))
    return bug("attention: a backward of groups {} and {}, sums of {} rows", f.key_group,
               f.value_group, f.sum_rows);
  if (!CudnnAttentionGradient::takes(s)) return make_plain(s, *device);
  CLEAVE_CHECK(compile_bias(f, *device));
  if (const CudnnPtr cudnn = device->cudnn(); cudnn && CudnnAttentionGradient::pads(s, *cudnn))
    CLEAVE_CHECK(PaddedKeys::make(s, *device));
  using enum CudnnGradientSpec::Sums;
  const CudnnGradientSpec by_cudnn{s, is_deterministic ? in_order : in_any_order};
  return LibraryFunctionPtr(
      std::make_shared<CudnnFunction<CudnnGradientSpec, CudnnAttentionGradient>>(
          by_cudnn, device, plain_scratch_bytes(s)));
}

}  // namespace cleave::cuda
