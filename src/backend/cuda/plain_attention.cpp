#include "backend/cuda/plain_attention.h"

#include <fmt/format.h>

#include <cmath>

#include "backend/cuda/device/arguments.h"
#include "run/run_context.h"

namespace cleave::cuda {
namespace {

constexpr int64_t tile_queries = 16, tile_keys = 64;  // device/attention_scores.h

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

device::At at_of(const HeadStrides& s) { return {s.batch, s.head, s.row, s.column}; }

int mask_of(const std::optional<DType>& mask) {
  if (!mask) return device::no_mask;
  switch (*mask) {
    case DType::boolean: return device::boolean_mask;
    case DType::bf16: return device::bf16_mask;
    case DType::f16: return device::f16_mask;
    default: return device::f32_mask;
  }
}

device::AttentionArguments arguments_of(const AttentionSpec& s) {
  device::AttentionArguments p{};
  p.batch = s.batch, p.heads = s.heads;
  p.key_group = s.key_group, p.value_group = s.value_group;
  p.rows = s.rows, p.columns = s.columns, p.width = s.width, p.value_width = s.value_width;
  p.query = at_of(s.query), p.key = at_of(s.key), p.value = at_of(s.value), p.out = at_of(s.out);
  p.sum_rows = s.sum_rows;
  p.scale = static_cast<float>(s.scale);
  p.is_causal = s.is_causal ? 1 : 0;
  p.mask = mask_of(s.mask), p.mask_at = at_of(s.mask_at);
  p.min_word = static_cast<uint32_t>(std::ceil(s.dropout_p * 16777216.0));
  p.factor = static_cast<float>(s.dropout_p == 1 ? 0 : 1 / (1 - s.dropout_p));
  p.stream = static_cast<uint32_t>(static_cast<uint64_t>(s.stream));
  return p;
}

class Attention final : public LibraryFunction {
 public:
  Attention(const AttentionSpec& s, DeviceKernelPtr kernel)
      : arguments_(arguments_of(s)), kernel_(std::move(kernel)) {}

  int64_t scratch_bytes() const override { return 0; }
  void call(void* const* at, void*, const RunContext& context) const override {
    using At = AttentionOperand;
    const auto& p = arguments_;
    launch(*kernel_, p.batch * p.heads * ceil_div(p.rows, tile_queries), context.queue, arguments_,
           at[At::query], at[At::key], at[At::value], at[At::mask], at[At::seed], at[At::step],
           at[At::out], p.sum_rows == 0 ? nullptr : at[At::logsumexp]);
  }

 private:
  const device::AttentionArguments arguments_;
  const DeviceKernelPtr kernel_;
};

// As device::GradientOperands, which only the device names.
struct GradientPointers {
  const void *query, *key, *value, *mask, *seed, *step, *out, *logsumexp, *dout;
  void *dquery, *dkey, *dvalue, *dmask, *delta;
};

class AttentionGradient final : public LibraryFunction {
 public:
  explicit AttentionGradient(const AttentionBackwardSpec& s)
      : spec_(s), arguments_(arguments_of(s.forward)) {
    arguments_.dout = at_of(s.dout), arguments_.dquery = at_of(s.dquery);
    arguments_.dkey = at_of(s.dkey), arguments_.dvalue = at_of(s.dvalue);
    arguments_.dmask = at_of(s.dmask);
    arguments_.sums_dmask = s.sums_dmask() ? 1 : 0;
  }
  static Result<LibraryFunctionPtr> make(const AttentionBackwardSpec& s,
                                         const LibraryDevice& device) {
    auto made = std::make_shared<AttentionGradient>(s);
    const auto kernel = [&](const char* name) {
      return device.kernel(
          {.header = "attention_gradient.h",
           .function = fmt::format("attention_{}<{}>", name, name_of(s.forward.dtype)),
           .parameters = {"AttentionArguments", "GradientOperands"}});
    };
    CLEAVE_TRY(made->delta_, kernel("delta"));
    if (s.wants_dquery) { CLEAVE_TRY(made->dquery_, kernel("dquery")); }
    if (s.wants_dkey || s.wants_dvalue) { CLEAVE_TRY(made->dkey_, kernel("dkey")); }
    if (s.wants_dmask) { CLEAVE_TRY(made->dmask_, kernel("dmask")); }
    return LibraryFunctionPtr(std::move(made));
  }

  int64_t scratch_bytes() const override { return plain_scratch_bytes(spec_); }
  void call(void* const* at, void* scratch, const RunContext& context) const override {
    using At = AttentionOperand;
    const GradientPointers pointers{.query = at[At::query],
                                    .key = at[At::key],
                                    .value = at[At::value],
                                    .mask = at[At::mask],
                                    .seed = at[At::seed],
                                    .step = at[At::step],
                                    .out = at[At::out],
                                    .logsumexp = at[At::logsumexp],
                                    .dout = at[At::dout],
                                    .dquery = at[At::dquery],
                                    .dkey = spec_.wants_dkey ? at[At::dkey] : nullptr,
                                    .dvalue = spec_.wants_dvalue ? at[At::dvalue] : nullptr,
                                    .dmask = at[At::dmask],
                                    .delta = scratch};
    const AttentionSpec& f = spec_.forward;
    const int64_t heads = f.batch * f.heads, row_tiles = ceil_div(f.rows, tile_queries);
    const int64_t key_tiles = ceil_div(f.columns, tile_keys);
    const auto queue = [&](const DeviceKernelPtr& kernel, int64_t blocks) {
      if (kernel) launch(*kernel, blocks, context.queue, arguments_, pointers);
    };
    queue(delta_, blocks_for(heads * f.rows));
    queue(dquery_, heads * row_tiles);
    queue(dkey_, heads / f.key_group * key_tiles);
    queue(dmask_, (spec_.sums_dmask() ? f.heads : heads) * row_tiles * key_tiles);
  }

 private:
  const AttentionBackwardSpec spec_;
  device::AttentionArguments arguments_;
  DeviceKernelPtr delta_, dquery_, dkey_, dmask_;
};

}  // namespace

// The sums of dout * out.
int64_t plain_scratch_bytes(const AttentionBackwardSpec& s) {
  const AttentionSpec& f = s.forward;
  return ceil_div(f.batch * f.heads * f.rows * int64_t{sizeof(float)}, 64) * 64;
}

Result<LibraryFunctionPtr> make_plain(const AttentionSpec& s, const LibraryDevice& device) {
  CLEAVE_TRY(DeviceKernelPtr kernel,
             device.kernel(
                 {.header = "attention.h",
                  .function = fmt::format("attention<{}>", name_of(s.dtype)),
                  .parameters = {"AttentionArguments", "const void*", "const void*", "const void*",
                                 "const void*", "const Int*", "const Int*", "void*", "float*"}}));
  return LibraryFunctionPtr(std::make_shared<Attention>(s, std::move(kernel)));
}

Result<LibraryFunctionPtr> make_plain(const AttentionBackwardSpec& s, const LibraryDevice& device) {
  return AttentionGradient::make(s, device);
}

}  // namespace cleave::cuda
