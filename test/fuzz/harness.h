// What the harnesses share. A harness reads any bytes: what comes out is an error with a message,
// or a value for which its rules hold; found() says which didn't, and ends the run.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cleave::fuzz {

[[noreturn]] inline void found(const char* what, std::string_view text = {}) {
  std::fprintf(stderr, "FOUND %s\n%.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

// The file is to blame, in words for a terminal: short, without control characters.
inline void expect_clear(const Failure& f) {
  if (f.kind == ErrorKind::bug) found("a bug", f.message);
  if (f.message.empty()) found("an error without words");
  if (f.message.size() > 4096) found("an error that is too long", f.message);
  for (const char c : f.message)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n')
      found("an error with control characters", f.message);
}

// A file in memory, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n <= 0) found("no memory for a file");
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace cleave::fuzz
