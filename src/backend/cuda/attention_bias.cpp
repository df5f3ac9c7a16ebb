#include "backend/cuda/attention_bias.h"

#include <fmt/format.h>

#include "backend/cuda/device/arguments.h"

namespace cleave::cuda {
namespace {

constexpr int64_t half = 2;  // bytes

int64_t round_up(int64_t a, int64_t to) { return (a + to - 1) / to * to; }

device::At at_of(const HeadStrides& s) { return {s.batch, s.head, s.row, s.column}; }

device::BiasArguments arguments(const AttentionSpec& s, int64_t columns) {
  const HeadStrides& at = s.mask_at;
  const auto size = [](int64_t stride, int64_t n) { return stride == 0 ? 1 : n; };
  return {size(at.batch, s.batch),
          size(at.head, s.heads),
          s.rows,
          s.columns,
          round_up(columns, 8),
          at_of(at)};
}

}  // namespace

bool AttentionBias::takes(const AttentionSpec& s) {
  return s.mask && (*s.mask == DType::boolean || *s.mask == s.dtype) && !s.is_causal;
}

int64_t AttentionBias::scratch_bytes(const AttentionSpec& s, int64_t columns) {
  if (!s.mask) return 0;
  const device::BiasArguments p = arguments(s, columns);
  return round_up(half * p.batch * p.heads * p.rows * p.padded, 256);
}

Result<AttentionBias> AttentionBias::make(const AttentionSpec& s, int64_t columns,
                                          const LibraryDevice& device) {
  const std::string_view type = name_of(s.dtype),
                         mask = *s.mask == DType::boolean ? "u8" : name_of(*s.mask);
  const std::string pointer = fmt::format("{}*", type);
  CLEAVE_TRY(
      DeviceKernelPtr write,
      device.kernel({.header = "attention_bias.h",
                     .function = fmt::format("write_bias<{}, {}>", mask, type),
                     .parameters = {"BiasArguments", fmt::format("const {}*", mask), pointer}}));
  CLEAVE_TRY(DeviceKernelPtr close,
             device.kernel({.header = "attention_bias.h",
                            .function = fmt::format("close_rows<{}>", type),
                            .parameters = {"ClosedRowArguments", fmt::format("const {}*", type),
                                           pointer, "float*"}}));
  return AttentionBias(s, columns, std::move(write), std::move(close));
}

Sizes4 AttentionBias::sizes(int64_t batch, int64_t heads) const {
  const device::BiasArguments p = arguments(spec_, columns_);
  return {p.batch == 1 ? 1 : batch, p.heads == 1 ? 1 : heads, p.rows, columns_};
}

Sizes4 AttentionBias::strides() const {
  const device::BiasArguments p = arguments(spec_, columns_);
  return {p.heads * p.rows * p.padded, p.rows * p.padded, p.padded, 1};
}

const void* AttentionBias::from(const void* bias, int64_t batch, int64_t head) const {
  const device::BiasArguments p = arguments(spec_, columns_);
  const int64_t line = ((p.batch == 1 ? 0 : batch) * p.heads + (p.heads == 1 ? 0 : head)) * p.rows;
  return static_cast<const char*>(bias) + half * line * p.padded;
}

void AttentionBias::write(const void* mask, void* bias, void* queue) const {
  const device::BiasArguments p = arguments(spec_, columns_);
  launch(*write_, blocks_for(p.batch * p.heads * p.rows * (p.padded / 8)), queue, p, mask, bias);
}

void AttentionBias::close_rows(const void* bias, void* out, void* sums, void* queue) const {
  const AttentionSpec& s = spec_;
  const device::ClosedRowArguments p{s.batch,       s.heads,      s.rows,
                                     s.value_width, at_of(s.out), arguments(s, columns_)};
  launch(*close_, blocks_for(s.batch * s.heads * s.rows), queue, p, bias, out, sums);
}

}  // namespace cleave::cuda
