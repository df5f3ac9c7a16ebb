// Writes .safetensors files: the header's text, then the tensors' bytes.
#include <algorithm>

#include "base/json.h"
#include "base/write_file.h"
#include "import/safetensors.h"
#include "import/safetensors_dtype.h"

namespace cleave {
namespace {

constexpr size_t longest_header = 100'000'000;

Status check_entry(const std::string& path, const TensorEntry& entry) {
  if (entry.name.empty()) return user_error("{}: name: a tensor's name is empty", path);
  if (entry.name == "__metadata__")
    return user_error("{}: name: a tensor may not be named __metadata__", path);
  const std::optional<int64_t> bytes = safetensors_bytes(entry.shape, entry.dtype);
  if (!bytes || static_cast<uint64_t>(*bytes) != entry.data.size())
    return user_error("{}: tensor \"{}\": data: {} bytes, but {}[{}] takes {}", path, entry.name,
                      entry.data.size(), name_of(entry.dtype), fmt::join(entry.shape, ","),
                      bytes ? fmt::format("{}", *bytes) : "more than 63 bits can count");
  return {};
}

// The order of the data: by element size, largest first, then by name.
Result<std::vector<const TensorEntry*>> order_of(const std::string& path,
                                                 std::span<const TensorEntry> entries) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& entry : entries) {
    CLEAVE_CHECK(check_entry(path, entry));
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->name == order[i - 1]->name)
      return user_error("{}: unique: two tensors are named \"{}\"", path, order[i]->name);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->dtype) > size_of(b->dtype);
  });
  return order;
}

Status append_metadata(const std::string& path, const SafetensorsMetadata& metadata,
                       std::string& json) {
  if (metadata.empty()) return {};
  std::string_view comma = "\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    const auto k = json_string(key), v = json_string(value);
    if (!k || !v) return user_error("{}: metadata: a key or text is not UTF-8", path);
    json += fmt::format("{}{}:{}", comma, *k, *v);
    comma = ",";
  }
  json += "}";
  return {};
}

Result<std::string> header_of(const std::string& path, std::span<const TensorEntry* const> order,
                              const SafetensorsMetadata& metadata) {
  std::string json = "{";
  CLEAVE_CHECK(append_metadata(path, metadata, json));
  uint64_t begin = 0;
  for (const TensorEntry* entry : order) {
    const auto name = json_string(entry->name);
    if (!name) return user_error("{}: name: a tensor's name is not UTF-8", path);
    const uint64_t end = begin + entry->data.size();
    json += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        json.size() > 1 ? "," : "", *name, safetensors_name_of(entry->dtype),
                        fmt::join(entry->shape, ","), begin, end);
    begin = end;
  }
  json += "}";
  json.append((8 - json.size() % 8) % 8, ' ');  // so that the data begin at a multiple of 8
  if (json.size() > longest_header)
    return user_error("{}: length: the header takes {} bytes, the format allows {}", path,
                      json.size(), longest_header);
  return json;
}

}  // namespace

Status write_safetensors(const std::string& name, std::span<const TensorEntry> entries,
                         const SafetensorsMetadata& metadata, const PieceWriter& write) {
  CLEAVE_TRY(const auto order, order_of(name, entries));
  CLEAVE_TRY(const std::string header, header_of(name, order, metadata));
  std::array<std::byte, 8> length{};
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));

  std::vector<std::span<const std::byte>> pieces = {length, std::as_bytes(std::span(header))};
  for (const TensorEntry* entry : order) pieces.push_back(entry->data);
  return write(pieces);
}

Status write_safetensors(const std::string& path, std::span<const TensorEntry> entries,
                         const SafetensorsMetadata& metadata) {
  return write_safetensors(path, entries, metadata,
                           [&](auto pieces) { return write_file(path, pieces); });
}

}  // namespace cleave
