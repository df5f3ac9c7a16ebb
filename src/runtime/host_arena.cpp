#include "runtime/host_arena.h"

#include <cstring>

#include "runtime/arena.h"

namespace cleave::runtime {
namespace {

class HostArena final : public ArenaMemory {
 public:
  explicit HostArena(Arena memory) : memory_(std::move(memory)) {}
  std::byte* data() const override { return memory_.data(); }
  int64_t size_bytes() const override { return memory_.size_bytes(); }
  bool flag(const std::byte* at) const override { return *at != std::byte{0}; }
  void fill_pattern() override { memory_.fill_pattern(); }
  int64_t touched_bytes() const override { return memory_.touched_bytes(); }
  Status reserve_host(int64_t bytes) override {
    if (bytes <= room_.size_bytes()) return {};
    CLEAVE_TRY(room_, Arena::make(bytes));
    return {};
  }
  // At once: a call's return is its end.
  void begin_copy(const ArenaCopy& copy) override {
    std::byte* const there = room_.data() + copy.host_offset;
    std::memcpy(copy.is_out ? there : copy.at, copy.is_out ? copy.at : there,
                static_cast<size_t>(copy.bytes));
  }
  void end_copy(size_t /*number*/) override {}

 private:
  Arena memory_, room_;
};

}  // namespace

Result<std::unique_ptr<ArenaMemory>> make_host_arena(int64_t bytes) {
  CLEAVE_TRY(Arena memory, Arena::make(bytes));
  return std::unique_ptr<ArenaMemory>(std::make_unique<HostArena>(std::move(memory)));
}

}  // namespace cleave::runtime
