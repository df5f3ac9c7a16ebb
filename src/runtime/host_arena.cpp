#include "runtime/host_arena.h"

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

 private:
  Arena memory_;
};

}  // namespace

Result<std::unique_ptr<ArenaMemory>> make_host_arena(int64_t bytes) {
  CLEAVE_TRY(Arena memory, Arena::make(bytes));
  return std::unique_ptr<ArenaMemory>(std::make_unique<HostArena>(std::move(memory)));
}

}  // namespace cleave::runtime
