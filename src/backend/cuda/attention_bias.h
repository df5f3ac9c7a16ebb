// A mask of attention as cuDNN takes it: halves that are added to the scores, dense in the
// workspace, with one batch or head where the mask is the same for all. It has every row: of
// [batch,1,1,columns] the gradient of cuDNN 9.14 takes other rows (H200, 2026-11). What cuDNN
// computes of a row without an open key isn't what an attention call gives (attention_spec.h), and
// is replaced.
#pragma once
#include "backend/cuda/cudnn_graph.h"
#include "backend/cuda/library_device.h"
#include "library/attention_spec.h"

namespace cleave::cuda {

class AttentionBias {
 public:
  // Whether a call has a mask that halves hold. With a causal one, nobody has asked for it.
  static bool takes(const AttentionSpec& s);
  // 0 without a mask. So many columns, at least the mask's: those behind it are closed.
  static int64_t scratch_bytes(const AttentionSpec& s, int64_t columns);
  static Result<AttentionBias> make(const AttentionSpec& s, int64_t columns,
                                    const LibraryDevice& device);

  // Of a call of so many batches and heads, of which the bias may have one.
  Sizes4 sizes(int64_t batch, int64_t heads) const;
  Sizes4 strides() const;
  const void* from(const void* bias, int64_t batch, int64_t head) const;

  void write(const void* mask, void* bias, void* queue) const;
  // Sums are [batch,heads,rows].
  void close_rows(const void* bias, void* out, void* sums, void* queue) const;

 private:
  AttentionBias(const AttentionSpec& s, int64_t columns, DeviceKernelPtr write,
                DeviceKernelPtr close)
      : spec_(s), columns_(columns), write_(std::move(write)), close_(std::move(close)) {}

  AttentionSpec spec_;
  int64_t columns_;
  DeviceKernelPtr write_, close_;
};

}  // namespace cleave::cuda
