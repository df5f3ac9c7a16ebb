// A store of byte strings by key, wherever it is: disk_cache.h, memory_cache.h, remote_cache.h.
//
// What is read is what was written under the same kind and key, byte for byte, or it is a miss.
// Failures are misses, or writes that store nothing. All calls from any number of threads.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/counts.h"
#include "cache/entry.h"

namespace cleave::cache {

struct WriteOutcome {
  bool stored = false;
  std::string reason;  // where it isn't
};

class Store {
 public:
  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  virtual std::optional<std::vector<std::byte>> read(EntryKind kind, std::string_view key) = 0;
  virtual WriteOutcome write(EntryKind kind, std::string_view key,
                             std::span<const std::byte> payload) = 0;
  // Counts a program that was compiled without the cache.
  virtual void count_bypass(std::string_view reason) = 0;
  // What this object was used for.
  virtual Counts counts() const = 0;
  // Called when a compilation is over.
  virtual void finish() {}
  // What the user should know, once.
  virtual std::optional<std::string> take_warning() { return std::nullopt; }
};

}  // namespace cleave::cache
