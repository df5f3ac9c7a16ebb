#include "cache/disk_cache.h"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

#include "cache/entry_file.h"
#include "cache/user_key.h"

namespace cleave::cache {
namespace {

constexpr int64_t sweeps_per_size = 64;

// True for one write in max_bytes / (64 * bytes), by the last digits of its name.
bool evicts(const Digest& name, int64_t bytes, int64_t max_bytes) {
  uint32_t draw = 0;
  for (size_t i = 28; i < 32; ++i) draw = draw << 8 | uint32_t(name[i]);
  return double(draw) * 0x1p-32 * double(max_bytes) < double(bytes) * double(sweeps_per_size);
}

}  // namespace

Result<std::unique_ptr<DiskCache>> DiskCache::make(const std::string& folder, int64_t max_bytes,
                                                   IfMissing if_missing) {
  CLEAVE_TRY(Descriptor open, open_cache_folder(folder, if_missing));
  if (!open.is_open()) return std::unique_ptr<DiskCache>();
  CLEAVE_TRY(auto key, read_user_key(open.get(), folder, if_missing));
  if (!key) {
    if (count_entries(open.get()).entries == 0) return std::unique_ptr<DiskCache>();
    CLEAVE_TRY(key, read_user_key(open.get(), folder, IfMissing::create));
  }
  return std::unique_ptr<DiskCache>(new DiskCache(std::move(open), *key, max_bytes));
}

Result<std::unique_ptr<DiskCache>> DiskCache::open(const std::string& folder, int64_t max_bytes) {
  return make(folder, max_bytes, IfMissing::create);
}

Result<std::unique_ptr<DiskCache>> DiskCache::find(const std::string& folder, int64_t max_bytes) {
  return make(folder, max_bytes, IfMissing::leave);
}

Result<std::string> make_fresh_folder(const std::string& inside) {
  CLEAVE_TRY(const auto cache, DiskCache::open(inside));
  std::string folder = inside + "/fresh-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return user_error("{}: {}", folder, std::generic_category().message(errno));
  return folder;
}

DiskCache::~DiskCache() { save_counts(); }

std::optional<std::vector<std::byte>> DiskCache::read(EntryKind kind, std::string_view key) {
  const std::string name = entry_name(kind, key);
  const EntryBytes file = read_entry_file(folder_.get(), name, Touch::yes);
  if (file.found == Found::missing) return add({.misses = 1}), std::nullopt;
  if (file.found == Found::failed) return add({.misses = 1, .failures = 1}), std::nullopt;
  const auto entry =
      file.found == Found::whole ? checked_entry(file.bytes, user_key_) : std::nullopt;
  if (!entry || entry->kind != kind || entry->key != key) {
    remove_entry_file(folder_.get(), name);
    return add({.misses = 1, .corrupt = 1}), std::nullopt;
  }
  add({.hits = 1});
  return std::vector(entry->payload.begin(), entry->payload.end());
}

WriteOutcome DiskCache::write(EntryKind kind, std::string_view key,
                              std::span<const std::byte> payload) {
  const EntryFrame frame = frame_of({kind, key, payload}, user_key_);
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(frame.head)), payload,
                                               frame.code};
  const auto bytes = static_cast<int64_t>(frame.head.size() + payload.size() + frame.code.size());
  if (bytes > max_bytes_ / 2) {
    add({.failures = 1});
    return {false,
            fmt::format("{} bytes are more than a half of the cache's {}", bytes, max_bytes_)};
  }
  const Digest digest = entry_digest(kind, key);
  if (const int error = write_entry_file(folder_.get(), hex(digest), pieces)) {
    add({.failures = 1});
    return {false, std::generic_category().message(error)};
  }
  add({.writes = 1});
  // Down to a little less, so that the average over time is below max_bytes.
  if (evicts(digest, bytes, max_bytes_)) evict_entries(folder_.get(), max_bytes_ / 16 * 15);
  return {true, ""};
}

void DiskCache::count_bypass(std::string_view reason) {
  add({.bypasses = {{bypass_reason(reason), 1}}});
}

void DiskCache::add(const Counts& counts) {
  const std::lock_guard lock(mutex_);
  counts_ += counts;
  unsaved_ += counts;
}

Counts DiskCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void DiskCache::save_counts() {
  const std::lock_guard lock(mutex_);
  if (unsaved_ != Counts() && add_to_totals(folder_.get(), unsaved_)) unsaved_ = {};
}

Counts DiskCache::totals() {
  save_counts();
  return read_totals(folder_.get());
}

Sweep DiskCache::count() const { return count_entries(folder_.get()); }

Sweep DiskCache::verify() {
  const Sweep out = verify_entries(folder_.get(), user_key_);
  add({.corrupt = out.removed});
  return out;
}

Sweep DiskCache::evict(int64_t max_bytes) { return evict_entries(folder_.get(), max_bytes); }

Sweep DiskCache::clear() {
  const Sweep out = clear_entries(folder_.get());
  clear_totals(folder_.get());
  return out;
}

}  // namespace cleave::cache
