#pragma once
#include <cstddef>
#include <cstdint>

namespace cleave {

// The memory of one instance, and how much of it was used.
class ArenaMemory {
 public:
  virtual ~ArenaMemory() = default;
  virtual std::byte* data() const = 0;  // aligned to storage_alignment; null for 0 bytes
  virtual int64_t size_bytes() const = 0;
  // Whether the flag of a jump is set, after all calls before it have finished.
  virtual bool flag(const std::byte* at) const = 0;
  // After fill_pattern, touched_bytes is one past the highest byte written, rounded up to 64.
  virtual void fill_pattern() = 0;
  virtual int64_t touched_bytes() const = 0;
};

}  // namespace cleave
