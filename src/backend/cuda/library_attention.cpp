#include "backend/cuda/library_attention.h"

#include "backend/cuda/cudnn_attention.h"
#include "backend/cuda/cudnn_function.h"
#include "backend/cuda/plain_attention.h"

namespace cleave::cuda {
namespace {

Status check(const AttentionSpec& s) {
  if (s.dtype != DType::f32 && s.dtype != DType::bf16 && s.dtype != DType::f16)
    return unsupported("attention: {} is not covered (src/backend/cuda/library_attention.h)",
                       name_of(s.dtype));
  const bool sizes = s.batch >= 0 && s.heads >= 0 && s.rows >= 0 && s.columns >= 0 &&
                     s.width >= 0 && s.value_width >= 0;
  const bool groups = s.key_group > 0 && s.value_group > 0 && s.heads % s.key_group == 0 &&
                      s.heads % s.value_group == 0;
  if (!sizes || !groups || (s.sum_rows != 0 && s.sum_rows < s.rows))
    return bug("attention: [{}, {}, {}, {}, {}, {}] in groups of {} and {}", s.batch, s.heads,
               s.rows, s.columns, s.width, s.value_width, s.key_group, s.value_group);
  return {};
}

}  // namespace

Result<LibraryFunctionPtr> make_attention(const AttentionSpec& s, const LibraryDevicePtr& device) {
  CLEAVE_CHECK(check(s));
  if (CudnnAttention::takes(s))
    return LibraryFunctionPtr(
        std::make_shared<CudnnFunction<AttentionSpec, CudnnAttention>>(s, device));
  return make_plain(s, *device);
}

Result<LibraryFunctionPtr> make_attention_gradient(const AttentionBackwardSpec& s,
                                                   const LibraryDevicePtr& device) {
  const AttentionSpec& f = s.forward;
  CLEAVE_CHECK(check(f));
  if (f.key_group != f.value_group || (f.sum_rows == 0 && f.rows > 0))
    return bug("attention: a backward of groups {} and {}, sums of {} rows", f.key_group,
               f.value_group, f.sum_rows);
  if (CudnnAttentionGradient::takes(s))
    return LibraryFunctionPtr(
        std::make_shared<CudnnFunction<AttentionBackwardSpec, CudnnAttentionGradient>>(
            s, device, plain_scratch_bytes(s)));
  return make_plain(s, *device);
}

}  // namespace cleave::cuda
