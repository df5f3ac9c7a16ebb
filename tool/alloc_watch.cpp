// Replaces malloc and mmap in the executable that links this file, so that AllocWatch counts every
// allocation (src/runtime/alloc_watch.h). Each function calls the C library's own one, and counts
// while a watch is active; otherwise it costs one relaxed load. Left out under AddressSanitizer,
// ThreadSanitizer and MemorySanitizer, which replace malloc themselves.
#include <stdlib.h>  // says whether this is glibc

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define CLEAVE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CLEAVE_SANITIZED 1
#endif

#if !defined(CLEAVE_SANITIZED) && defined(__GLIBC__)
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "runtime/alloc_watch.h"

// The C library's own functions, under the names that glibc provides for this purpose.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

#define CLEAVE_REPLACE extern "C" __attribute__((visibility("default")))

namespace {

constinit cleave::runtime::AllocTable table;

bool on() { return table.on.load(std::memory_order_relaxed); }

int64_t usable(void* block) { return static_cast<int64_t>(malloc_usable_size(block)); }

void* counted(void* block, size_t bytes) {
  if (!on() || block == nullptr) return block;
  table.allocations.fetch_add(1, std::memory_order_relaxed);
  table.allocated_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  table.grow_live(usable(block));
  return block;
}

void count_free(void* block) noexcept {
  if (!on() || block == nullptr) return;
  table.frees.fetch_add(1, std::memory_order_relaxed);
  table.live_bytes.fetch_sub(usable(block), std::memory_order_relaxed);
}

void count_map(void* block, size_t bytes) {
  if (!on() || block == MAP_FAILED) return;
  table.maps.fetch_add(1, std::memory_order_relaxed);
  table.mmap_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  table.grow_live(static_cast<int64_t>(bytes));
}

}  // namespace

CLEAVE_REPLACE cleave::runtime::AllocTable* cleave_alloc_table() { return &table; }

CLEAVE_REPLACE void* malloc(size_t bytes) noexcept { return counted(__libc_malloc(bytes), bytes); }

CLEAVE_REPLACE void* calloc(size_t count, size_t size) noexcept {
  return counted(__libc_calloc(count, size), count * size);
}

CLEAVE_REPLACE void* realloc(void* block, size_t bytes) noexcept {
  const int64_t before = on() && block != nullptr ? usable(block) : 0;
  void* now = __libc_realloc(block, bytes);
  if (now == nullptr && bytes != 0) return now;  // the old block stays
  table.live_bytes.fetch_sub(before, std::memory_order_relaxed);
  return counted(now, bytes);
}

CLEAVE_REPLACE void free(void* block) noexcept {
  count_free(block);
  __libc_free(block);
}

CLEAVE_REPLACE void* memalign(size_t alignment, size_t bytes) noexcept {
  return counted(__libc_memalign(alignment, bytes), bytes);
}

CLEAVE_REPLACE void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return memalign(alignment, bytes);
}

CLEAVE_REPLACE int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
    return EINVAL;
  void* made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

CLEAVE_REPLACE void* valloc(size_t bytes) noexcept {
  return memalign(static_cast<size_t>(sysconf(_SC_PAGESIZE)), bytes);
}

CLEAVE_REPLACE void* mmap(void* address, size_t bytes, int protection, int flags, int file,
                          off_t offset) noexcept {
  const long got = syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
  void* block = reinterpret_cast<void*>(got);
  count_map(block, bytes);
  return block;
}

CLEAVE_REPLACE void* mmap64(void* address, size_t bytes, int protection, int flags, int file,
                            off_t offset) noexcept {
  return mmap(address, bytes, protection, flags, file, offset);
}

CLEAVE_REPLACE int munmap(void* address, size_t bytes) noexcept {
  const int result = static_cast<int>(syscall(SYS_munmap, address, bytes));
  if (on() && result == 0)
    table.live_bytes.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return result;
}
#endif
