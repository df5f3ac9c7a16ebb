// Memory that must not be touched for a while. AddressSanitizer aborts the program at an access; in
// builds without it nothing is marked.
//
// Generated kernels are checked as well: in such builds clang inserts the checks of
// AddressSanitizer and UndefinedBehaviorSanitizer into them.
#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define CLEAVE_WATCHES_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CLEAVE_WATCHES_MEMORY 1
#endif
#endif
#ifndef CLEAVE_WATCHES_MEMORY
#define CLEAVE_WATCHES_MEMORY 0
#endif

#if CLEAVE_WATCHES_MEMORY
extern "C" void __asan_poison_memory_region(const volatile void* begin, size_t bytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* begin, size_t bytes);
#endif

namespace cleave {

constexpr bool watches_memory = CLEAVE_WATCHES_MEMORY != 0;

// `begin` must be a multiple of 8; up to 7 bytes after the end may be forbidden as well.
inline void forbid([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if CLEAVE_WATCHES_MEMORY
  __asan_poison_memory_region(begin, bytes);
#endif
}
inline void allow([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if CLEAVE_WATCHES_MEMORY
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

// Forbids the memory for the lifetime of this object.
class Forbidden {
 public:
  Forbidden(const void* begin, size_t bytes) : begin_(begin), bytes_(bytes) {
    forbid(begin, bytes);
  }
  ~Forbidden() { allow(begin_, bytes_); }
  Forbidden(const Forbidden&) = delete;
  Forbidden& operator=(const Forbidden&) = delete;

 private:
  const void* begin_;
  size_t bytes_;
};

}  // namespace cleave
