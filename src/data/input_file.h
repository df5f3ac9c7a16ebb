// Bytes of a file, read where they are asked for. Not mapped, since a mapping kills the process
// with SIGBUS if another process truncates the file; here that is an error.
#pragma once
#include <span>
#include <string>

#include "base/result.h"

namespace cleave::data {

class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& from) noexcept;
  InputFile& operator=(InputFile&& from) noexcept;
  ~InputFile();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // bytes, when it was opened
  // All of `into`, from this byte on. Errors (user): the file ends before, it can't be read.
  Status read(int64_t offset, std::span<std::byte> into) const;

 private:
  InputFile(std::string path, int fd, int64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}
  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace cleave::data
