#include "backend/cuda/padded_keys.h"

#include <fmt/format.h>

#include <utility>

#include "backend/cuda/device/arguments.h"

namespace cleave::cuda {
namespace {

constexpr int64_t half = 2, unit = 256;  // bytes of an element; of what begins in the workspace

int64_t round_up(int64_t a, int64_t to) { return (a + to - 1) / to * to; }
int64_t padded_columns(const AttentionSpec& s) { return round_up(s.columns, PaddedKeys::tile); }

int64_t key_bytes(const AttentionSpec& s) {
  return round_up(half * s.batch * (s.heads / s.key_group) * padded_columns(s) * s.width, unit);
}
int64_t value_bytes(const AttentionSpec& s) {
  return round_up(half * s.batch * (s.heads / s.value_group) * padded_columns(s) * s.value_width,
                  unit);
}

HeadStrides dense(int64_t heads, int64_t rows, int64_t width) {
  return {heads * rows * width, rows * width, width, 1};
}

struct Both {
  device::PadArguments keys, values;
};
Both arguments(const AttentionSpec& s, const HeadStrides& key, const HeadStrides& value) {
  const auto of = [&](const HeadStrides& at, int64_t group, int64_t width) {
    return device::PadArguments{s.batch,   s.heads / group,
                                s.columns, padded_columns(s),
                                width,     {at.batch, at.head, at.row, at.column}};
  };
  return {of(key, s.key_group, s.width), of(value, s.value_group, s.value_width)};
}

int64_t blocks_of(const device::PadArguments& p, int64_t rows) {
  return blocks_for(p.batch * p.heads * rows * (p.width / 8));
}

}  // namespace

int64_t PaddedKeys::scratch_bytes(const AttentionSpec& s) {
  if (are_whole(s)) return 0;
  return 2 * (key_bytes(s) + value_bytes(s)) + round_up(half * padded_columns(s), unit);
}

Result<PaddedKeys> PaddedKeys::make(const AttentionBackwardSpec& s, const LibraryDevice& device) {
  const std::string_view type = name_of(s.forward.dtype);
  const std::string from = fmt::format("const {}*", type), to = fmt::format("{}*", type);
  CLEAVE_TRY(DeviceKernelPtr pad, device.kernel({.header = "pad_keys.h",
                                                 .function = fmt::format("pad_keys<{}>", type),
                                                 .parameters = {"PadArguments", from, to, to}}));
  CLEAVE_TRY(DeviceKernelPtr unpad, device.kernel({.header = "pad_keys.h",
                                                   .function = fmt::format("unpad_keys<{}>", type),
                                                   .parameters = {"PadArguments", from, to}}));
  return PaddedKeys(s, std::move(pad), std::move(unpad));
}

AttentionBackwardSpec PaddedKeys::padded() const {
  AttentionBackwardSpec s = spec_;
  AttentionSpec& f = s.forward;
  f.columns = padded_columns(f);
  f.key = s.dkey = dense(f.heads / f.key_group, f.columns, f.width);
  f.value = s.dvalue = dense(f.heads / f.value_group, f.columns, f.value_width);
  return s;
}

PaddedKeys::Pointers PaddedKeys::pointers(void* workspace) const {
  char* at = static_cast<char*>(workspace);
  const auto next = [&](int64_t bytes) { return std::exchange(at, at + bytes); };
  const int64_t of_key = key_bytes(spec_.forward), of_value = value_bytes(spec_.forward);
  return {next(of_key), next(of_value), next(of_key), next(of_value), at};
}

void PaddedKeys::pad(void* const* operands, void* workspace, void* queue) const {
  using Operand = AttentionOperand;
  const AttentionSpec& f = spec_.forward;
  const Pointers to = pointers(workspace);
  const auto [keys, values] = arguments(f, f.key, f.value);
  launch(*pad_, blocks_of(keys, keys.padded), queue, keys, operands[Operand::key], to.key, to.open);
  launch(*pad_, blocks_of(values, values.padded), queue, values, operands[Operand::value], to.value,
         static_cast<void*>(nullptr));
}

void PaddedKeys::unpad(void* const* operands, void* workspace, void* queue) const {
  using Operand = AttentionOperand;
  const Pointers from = pointers(workspace);
  const auto [keys, values] = arguments(spec_.forward, spec_.dkey, spec_.dvalue);
  launch(*unpad_, blocks_of(keys, keys.rows), queue, keys, from.dkey, operands[Operand::dkey]);
  launch(*unpad_, blocks_of(values, values.rows), queue, values, from.dvalue,
         operands[Operand::dvalue]);
}

}  // namespace cleave::cuda
