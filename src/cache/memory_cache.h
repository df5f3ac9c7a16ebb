// A store in this process's memory.
#pragma once
#include <list>
#include <map>
#include <mutex>

#include "cache/store.h"

namespace cleave::cache {

class MemoryCache final : public Store {
 public:
  // Keys and values together take at most max_bytes; then what isn't used for longest is dropped.
  explicit MemoryCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  std::optional<std::vector<std::byte>> read(EntryKind kind, std::string_view key) override;
  // Refused where it takes more than max_bytes.
  WriteOutcome write(EntryKind kind, std::string_view key,
                     std::span<const std::byte> payload) override;
  void count_bypass(std::string_view reason) override;
  Counts counts() const override;
  int64_t bytes() const;

 private:
  struct Kept {
    std::pair<EntryKind, std::string> key;
    std::vector<std::byte> payload;
    int64_t bytes() const { return static_cast<int64_t>(key.second.size() + payload.size()); }
  };
  void drop(std::list<Kept>::iterator entry);

  const int64_t max_bytes_;
  mutable std::mutex mutex_;  // of what follows
  std::list<Kept> entries_;   // the one used last comes first
  std::map<std::pair<EntryKind, std::string>, std::list<Kept>::iterator> by_key_;
  int64_t bytes_ = 0;
  Counts counts_;
};

}  // namespace cleave::cache
