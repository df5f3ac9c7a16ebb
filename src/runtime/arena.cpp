#include "runtime/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/machine_memory.h"

namespace cleave::runtime {
namespace {

constexpr int64_t page_bytes = 4096, huge_page_bytes = int64_t{2} << 20;

int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// The pattern's word at a position: the finaliser of SplitMix64, a bijection of 64 bits.
uint64_t pattern(int64_t word) {
  uint64_t x = (static_cast<uint64_t>(word) + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Result<Arena> Arena::make(int64_t bytes) {
  if (bytes < 0) return bug("arena: {} bytes", bytes);
  Arena arena;
  if (bytes == 0) return arena;
  const auto too_much = [&](std::string_view why) {
    return user_error("arena: {} bytes can't be had from the system: {}", bytes, why);
  };
  if (bytes > std::numeric_limits<int64_t>::max() - huge_page_bytes) return too_much("too many");
  // Some systems promise more memory than they have, and kill who uses it.
  const MachineMemory memory = machine_memory();
  if (static_cast<uint64_t>(bytes) > memory.physical + memory.swap)
    return too_much(
        fmt::format("this machine has {} with its swap", memory.physical + memory.swap));
  const int64_t mapped = round_up(bytes, bytes >= huge_page_bytes ? huge_page_bytes : page_bytes);
  void* block = mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return too_much(strerror(errno));
  if (bytes >= huge_page_bytes) madvise(block, static_cast<size_t>(mapped), MADV_HUGEPAGE);
  arena.data_ = static_cast<std::byte*>(block);
  arena.size_bytes_ = bytes;
  arena.mapped_bytes_ = mapped;
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(mapped_bytes_));
}

// The pattern covers the whole mapping, so that writes beyond size_bytes() are found too.
void Arena::fill_pattern() {
  auto* words = reinterpret_cast<uint64_t*>(data_);
  for (int64_t i = 0; i < mapped_bytes_ / 8; ++i) words[i] = pattern(i);
}

int64_t Arena::touched_bytes() const {
  const auto* words = reinterpret_cast<const uint64_t*>(data_);
  for (int64_t i = mapped_bytes_ / 8; i > 0; --i)
    if (words[i - 1] != pattern(i - 1)) return round_up(i * 8, 64);
  return 0;
}

}  // namespace cleave::runtime
