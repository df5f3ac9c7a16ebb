#include "cache/remote_cache.h"

#include <algorithm>

namespace cleave::cache {
namespace {

using Bytes = std::vector<std::byte>;

std::string digest_of(std::span<const std::byte> bytes) {
  Sha256 sum;
  sum.update(bytes);
  return hex(sum.finish());
}

// ---- the two messages of Protocol Buffers: (field << 3 | type) value, lengths and numbers in
// groups of 7 bits

void put_number(Bytes& out, uint64_t n) {
  for (; n >= 128; n >>= 7) out.push_back(static_cast<std::byte>(n | 128));
  out.push_back(static_cast<std::byte>(n));
}

void put_bytes(Bytes& out, unsigned field, std::span<const std::byte> bytes) {
  put_number(out, field << 3 | 2);
  put_number(out, bytes.size());
  out.insert(out.end(), bytes.begin(), bytes.end());
}

class Fields {
 public:
  explicit Fields(std::span<const std::byte> message) : left_(message) {}

  struct Field {
    uint64_t number = 0, value = 0;
    std::span<const std::byte> bytes;
  };
  // The next one; nothing at the end, or at what is no message.
  std::optional<Field> next() {
    if (left_.empty()) return {};
    Field out;
    uint64_t tag = 0;
    if (!take(tag) || !take(out.value)) return {};
    out.number = tag >> 3;
    if ((tag & 7) == 0) return out;
    if ((tag & 7) != 2 || out.value > left_.size()) return {};
    out.bytes = left_.first(out.value);
    left_ = left_.subspan(out.value);
    return out;
  }
  std::span<const std::byte> bytes_of(uint64_t number) {
    while (const auto field = next())
      if (field->number == number) return field->bytes;
    return {};
  }

 private:
  bool take(uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return false;
      const auto part = std::to_integer<uint64_t>(left_[0]);
      left_ = left_.subspan(1);
      out |= (part & 127) << shift;
      if (part < 128) return true;
    }
    return false;
  }
  std::span<const std::byte> left_;
};

constexpr unsigned output_files = 2, file_path = 1, file_digest = 2, digest_hash = 1,
                   digest_bytes = 2;
constexpr std::string_view output_name = "entry";

}  // namespace

std::vector<std::byte> action_result(const NamedBlob& blob) {
  Bytes digest, file, out;
  put_bytes(digest, digest_hash, std::as_bytes(std::span(blob.sha256)));
  put_number(digest, digest_bytes << 3);
  put_number(digest, static_cast<uint64_t>(blob.bytes));
  put_bytes(file, file_path, std::as_bytes(std::span(output_name)));
  put_bytes(file, file_digest, digest);
  put_bytes(out, output_files, file);
  return out;
}

std::optional<NamedBlob> blob_of(std::span<const std::byte> action_result) {
  Fields digest(Fields(Fields(action_result).bytes_of(output_files)).bytes_of(file_digest));
  NamedBlob out;
  while (const auto field = digest.next()) {
    if (field->number == digest_hash)
      out.sha256.assign(reinterpret_cast<const char*>(field->bytes.data()), field->bytes.size());
    if (field->number == digest_bytes) out.bytes = static_cast<int64_t>(field->value);
  }
  if (!is_entry_name(out.sha256)) return {};
  return out;
}

std::optional<Bytes> RemoteCache::read(EntryKind kind, std::string_view key) {
  if (auto found = local_->read(kind, key)) return found;
  if (!works_ || kind == EntryKind::compiler) return {};
  Result<std::optional<Bytes>> fetched = fetch(kind, key);
  if (!fetched.ok()) {
    give_up(fetched.failure());
    return {};
  }
  if (*fetched) {
    local_->write(kind, key, **fetched);
    const std::lock_guard lock(mutex_);
    ++counts_.hits;
    --counts_.misses;  // which the local store has counted
  }
  return *std::move(fetched);
}

Result<std::optional<Bytes>> RemoteCache::fetch(EntryKind kind, std::string_view key) {
  CLEAVE_TRY(const std::optional<Bytes> action, place_->get("ac/" + entry_name(kind, key)));
  if (!action) return std::optional<Bytes>();
  const std::optional<NamedBlob> blob = blob_of(*action);
  std::optional<Bytes> file;
  if (blob) { CLEAVE_TRY(file, place_->get("cas/" + blob->sha256)); }
  if (blob && !file) return std::optional<Bytes>();  // evicted there
  const auto entry = file ? checked_entry(*file, key_) : std::nullopt;
  if (!entry || entry->kind != kind || entry->key != key) {
    const std::lock_guard lock(mutex_);
    ++counts_.corrupt;
    return std::optional<Bytes>();
  }
  return std::optional(Bytes(entry->payload.begin(), entry->payload.end()));
}

WriteOutcome RemoteCache::write(EntryKind kind, std::string_view key,
                                std::span<const std::byte> payload) {
  WriteOutcome out = local_->write(kind, key, payload);
  if (!works_ || kind == EntryKind::compiler) return out;  // files of this machine
  const EntryFrame frame = frame_of({kind, key, payload}, key_);
  Bytes file;
  const auto add = [&](std::span<const std::byte> b) {
    file.insert(file.end(), b.begin(), b.end());
  };
  add(std::as_bytes(std::span(frame.head)));
  add(payload);
  add(frame.code);
  const NamedBlob blob{digest_of(file), static_cast<int64_t>(file.size())};
  Status done = place_->put("cas/" + blob.sha256, file);
  if (done.ok()) done = place_->put("ac/" + entry_name(kind, key), action_result(blob));
  if (!done.ok()) give_up(done.failure());
  return out;
}

void RemoteCache::give_up(const Failure& failure) {
  if (!works_.exchange(false)) return;
  const std::lock_guard lock(mutex_);
  ++counts_.failures;
  warning_ = fmt::format("the remote cache isn't used any more: {}", failure.message);
}

Counts RemoteCache::counts() const {
  Counts out = local_->counts();
  const std::lock_guard lock(mutex_);
  return out += counts_;
}

std::optional<std::string> RemoteCache::take_warning() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warning_, std::nullopt);
}

}  // namespace cleave::cache
