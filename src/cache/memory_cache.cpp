#include "cache/memory_cache.h"

namespace cleave::cache {

std::optional<std::vector<std::byte>> MemoryCache::read(EntryKind kind, std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto at = by_key_.find({kind, std::string(key)});
  if (at == by_key_.end()) return ++counts_.misses, std::nullopt;
  ++counts_.hits;
  entries_.splice(entries_.begin(), entries_, at->second);
  return at->second->payload;
}

WriteOutcome MemoryCache::write(EntryKind kind, std::string_view key,
                                std::span<const std::byte> payload) {
  Kept made{{kind, std::string(key)}, {payload.begin(), payload.end()}};
  const std::lock_guard lock(mutex_);
  if (made.bytes() > max_bytes_) {
    ++counts_.failures;
    return {false, fmt::format("{} bytes are more than the cache's {}", made.bytes(), max_bytes_)};
  }
  if (const auto at = by_key_.find(made.key); at != by_key_.end()) drop(at->second);
  while (bytes_ + made.bytes() > max_bytes_) drop(std::prev(entries_.end()));
  bytes_ += made.bytes();
  entries_.push_front(std::move(made));
  by_key_[entries_.front().key] = entries_.begin();
  ++counts_.writes;
  return {true, ""};
}

void MemoryCache::drop(std::list<Kept>::iterator entry) {
  bytes_ -= entry->bytes();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void MemoryCache::count_bypass(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  ++counts_.bypasses[bypass_reason(reason)];
}

Counts MemoryCache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

int64_t MemoryCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace cleave::cache
