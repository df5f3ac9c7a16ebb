// An open file by its number, and whole writes to it.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace cleave {

// Closes the file at the end of its scope.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& from) noexcept {
    std::swap(fd_, from.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Gives the file away, open.
  int release() { return std::exchange(fd_, -1); }
  // 0, or -1 with errno; 0 where nothing is open.
  int close() { return fd_ >= 0 ? ::close(release()) : 0; }

 private:
  int fd_ = -1;
};

using Pieces = std::span<const std::span<const std::byte>>;

// Writes the pieces one after the other. Returns 0, or the errno of the failed write.
int write_all(int fd, Pieces pieces);

// The largest file that this process may write (ulimit -f), in bytes. A write past it kills the
// process with a signal: compare before writing.
uint64_t largest_file_bytes();

}  // namespace cleave
