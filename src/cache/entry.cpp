#include "cache/entry.h"

#include <algorithm>

namespace cleave::cache {
namespace {

constexpr std::string_view magic = "clvcache";
constexpr uint32_t version = 1;
constexpr size_t header_bytes = 32;

template <class T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

template <class T>
T take(std::span<const std::byte>& from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(from[i]) << (8 * i);
  from = from.subspan(sizeof(T));
  return value;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Digest entry_digest(EntryKind kind, std::string_view key) {
  std::string head;
  put(head, version);
  put(head, static_cast<uint32_t>(kind));
  Sha256 h;
  h.update(bytes_of(head));
  h.update(bytes_of(key));
  return h.finish();
}

std::string entry_name(EntryKind kind, std::string_view key) {
  return hex(entry_digest(kind, key));
}

bool is_entry_name(std::string_view name) {
  return name.size() == 64 && std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

EntryFrame frame_of(const Entry& entry, const UserKey& user_key) {
  EntryFrame out{std::string(magic), {}};
  put(out.head, version);
  put(out.head, static_cast<uint32_t>(entry.kind));
  put(out.head, uint64_t{entry.key.size()});
  put(out.head, uint64_t{entry.payload.size()});
  out.head += entry.key;
  HmacSha256 code(user_key);
  code.update(bytes_of(out.head));
  code.update(entry.payload);
  out.code = code.finish();
  return out;
}

std::optional<Entry> checked_entry(std::span<const std::byte> file, const UserKey& user_key) {
  constexpr size_t least = header_bytes + sizeof(Digest);
  if (file.size() < least) return std::nullopt;
  const auto signed_part = file.first(file.size() - sizeof(Digest));
  HmacSha256 code(user_key);
  code.update(signed_part);
  if (!equal(code.finish(), file.last(sizeof(Digest)))) return std::nullopt;

  // Ours from here on, but maybe of another version.
  if (text_of(file.first(magic.size())) != magic) return std::nullopt;
  auto rest = signed_part.subspan(magic.size());
  if (take<uint32_t>(rest) != version) return std::nullopt;
  const auto kind = static_cast<EntryKind>(take<uint32_t>(rest));
  const auto key_bytes = take<uint64_t>(rest), payload_bytes = take<uint64_t>(rest);
  if (key_bytes > rest.size() || payload_bytes != rest.size() - key_bytes) return std::nullopt;
  return Entry{kind, text_of(rest.first(key_bytes)), rest.subspan(key_bytes)};
}

}  // namespace cleave::cache
