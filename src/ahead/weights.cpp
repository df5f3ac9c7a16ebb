#include "ahead/weights.h"

#include <algorithm>
#include <list>

#include "base/alignment.h"
#include "import/safetensors.h"
#include "standalone/strided_copy.h"

namespace cleave::ahead {

std::vector<std::byte> weight_section(const Source& source,
                                      std::vector<standalone::StateEntry>& entries) {
  std::vector<std::byte> out;
  for (size_t k = 0; k < source.state.size(); ++k) {
    standalone::StateEntry& entry = entries[k];
    const standalone::TensorType& t = entry.type;
    const HostTensor& value = *source.state[k].value;
    std::vector<std::byte> bytes(static_cast<size_t>(entry.bytes));
    const std::vector<int64_t> strides = value.strides();
    standalone::copy_strided({bytes.data(), t.strides}, {const_cast<void*>(value.data()), strides},
                             t.shape, t.dtype);
    if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) continue;
    out.resize(static_cast<size_t>(rounded(static_cast<int64_t>(out.size()))));
    entry.offset = static_cast<int64_t>(out.size());
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

Result<std::vector<std::byte>> weight_file(const Source& source, const std::string& path) {
  std::vector<TensorEntry> entries;
  std::list<HostTensor> copies;  // what entries refer to
  for (const Source::State& s : source.state) {
    const HostTensor& t =
        s.value->is_row_major() ? *s.value : copies.emplace_back(s.value->contiguous());
    entries.push_back({s.name,
                       t.dtype(),
                       t.shape(),
                       {static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())}});
  }
  std::vector<std::byte> out;
  CLEAVE_CHECK(write_safetensors(path, entries, {}, [&](auto pieces) -> Status {
    for (const auto& piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
    return {};
  }));
  return out;
}

Status check_values(const Source& source, const std::vector<standalone::StateEntry>& entries) {
  for (size_t k = 0; k < source.state.size(); ++k) {
    const Source::State& s = source.state[k];
    if (!s.value)
      return user_error("build: `{}` ({}) has no value to be put in the library", s.name, s.role);
    const standalone::TensorType& t = entries[k].type;
    if (s.value->dtype() != t.dtype || s.value->shape() != t.shape)
      return user_error("build: `{}` is given as {}, expected {}[{}]", s.name, s.value->type_text(),
                        name_of(t.dtype), fmt::join(t.shape, ","));
  }
  return {};
}

}  // namespace cleave::ahead
