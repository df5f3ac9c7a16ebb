// Attention by cuDNN's fused engines, in bf16 and f16: causal, or with a mask of bools or halves
// that wants no gradient (attention_bias.h); no dropout (its bits are ours), heads in groups,
// operands read and written by their strides.
//
//   forward     always with the sums of rows, as training has them
//   gradient    in_any_order: dquery is summed in f32, in the workspace, as blocks come: its last
//               bits may differ from run to run.
//               in_order: cuDNN keeps the gradient of scores, 2 bytes each, and multiplies it by
//               the keys, of as many heads at a time as take 256 MiB, at least of one group.
//               Up to 9.15, keys that are no multiple of 128 are padded first (padded_keys.h).
#pragma once
#include <optional>

#include "backend/cuda/attention_bias.h"
#include "backend/cuda/cudnn_graph.h"
#include "backend/cuda/library_device.h"
#include "backend/cuda/padded_keys.h"
#include "library/attention_spec.h"

namespace cleave::cuda {

class CudnnAttention {
 public:
  // Whether to ask cuDNN.
  static bool takes(const AttentionSpec& spec);
  static int64_t scratch_bytes(const AttentionSpec& spec);
  static bool reads(size_t position) {
    return position < AttentionOperand::mask || position >= AttentionOperand::out;
  }
  // Unsupported: what cuDNN says.
  static Result<CudnnAttention> make(const AttentionSpec& spec, const CudnnPtr& cudnn,
                                     const LibraryDevice& device);
  void run(void* const* operands, void* scratch, void* queue) const;

 private:
  CudnnAttention(CudnnPlan plan, const AttentionSpec& spec, std::optional<AttentionBias> bias)
      : plan_(std::move(plan)), spec_(spec), bias_(std::move(bias)) {}
  CudnnPlan plan_;
  AttentionSpec spec_;
  std::optional<AttentionBias> bias_;
  int64_t query_ = 0, key_ = 0, value_ = 0, out_ = 0, sums_ = 0;
  int64_t scale_at_ = 0, masked_at_ = 0, bias_at_ = 0;
};

struct CudnnGradientSpec : AttentionBackwardSpec {
  enum class Sums : uint8_t { in_order, in_any_order };
  Sums sums = Sums::in_order;  // of dquery
  int64_t most_score_bytes = int64_t{256} << 20;

  // What one plan computes: all of it, or as many batches, or else heads of one, as the gradient of
  // scores may take, if the sums of their rows begin at multiples of 16 bytes.
  AttentionSpec part() const;
};

class CudnnAttentionGradient {
 public:
  static bool takes(const AttentionBackwardSpec& spec);
  // Whether keys are padded for this version.
  static bool pads(const AttentionBackwardSpec& spec, const Cudnn& cudnn);
  static int64_t scratch_bytes(const CudnnGradientSpec& spec);
  static bool reads(size_t position) {
    return position < AttentionOperand::mask || position >= AttentionOperand::out;
  }
  static Result<CudnnAttentionGradient> make(const CudnnGradientSpec& spec, const CudnnPtr& cudnn,
                                             const LibraryDevice& device);
  void run(void* const* operands, void* scratch, void* queue) const;

 private:
  CudnnAttentionGradient(CudnnPlan plan, const CudnnGradientSpec& spec,
                         std::optional<PaddedKeys> padding, std::optional<AttentionBias> bias)
      : plan_(std::move(plan)), spec_(spec), padding_(std::move(padding)), bias_(std::move(bias)) {}
  CudnnPlan plan_;          // of a part
  CudnnGradientSpec spec_;  // as cuDNN gets it
  std::optional<PaddedKeys> padding_;
  std::optional<AttentionBias> bias_;
  int64_t query_ = 0, key_ = 0, value_ = 0, out_ = 0, sums_ = 0, dout_ = 0;
  int64_t dquery_ = 0, dkey_ = 0, dvalue_ = 0, delta_ = 0, dquery_sums_ = 0;
  int64_t scale_at_ = 0, masked_at_ = 0, one_at_ = 0, added_at_ = 0;
};

}  // namespace cleave::cuda
