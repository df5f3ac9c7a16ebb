// A block of transient memory that can report how much of it was written.
//
//   CLEAVE_TRY(Arena arena, Arena::make(plan.peak_bytes));
//   arena.fill_pattern();
//   step(arena.data());
//   arena.touched_bytes();       // one past the highest byte written, rounded up to 64
//
//        data()                                  size_bytes()
//          |written|untouched|written|  the pattern  |
//                                    ^ touched_bytes
//
// The operating system provides the memory, zeroed, page by page when it is first touched. The
// pattern is a 64-bit word that depends on the position, so that a word that a kernel writes equals
// it by chance with probability 2^-64.
//
// Errors: UserError, with the number of bytes, if the system can't provide the block.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace cleave::runtime {

class Arena {
 public:
  static Result<Arena> make(int64_t bytes);

  Arena() = default;  // no memory
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  std::byte* data() const { return data_; }           // aligned to 4096; null for 0 bytes
  int64_t size_bytes() const { return size_bytes_; }  // as requested
  void fill_pattern();                                // touches all of it
  int64_t touched_bytes() const;                      // since fill_pattern

 private:
  std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
  int64_t mapped_bytes_ = 0;
};

}  // namespace cleave::runtime
