#include "data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace cleave::data {
namespace {

Failure system_failure(const std::string& path, const char* what) {
  return user_error("{}: {}: {}", path, what, std::generic_category().message(errno));
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return system_failure(path, "open");
  InputFile file(path, fd, 0);
  struct stat about = {};
  if (::fstat(fd, &about) != 0) return system_failure(path, "stat");
  if (!S_ISREG(about.st_mode)) return user_error("{}: expected a regular file", path);
  file.size_ = about.st_size;
  return file;
}

InputFile::InputFile(InputFile&& from) noexcept
    : path_(std::move(from.path_)), fd_(std::exchange(from.fd_, -1)), size_(from.size_) {}
InputFile& InputFile::operator=(InputFile&& from) noexcept {
  std::swap(path_, from.path_);
  std::swap(fd_, from.fd_);
  std::swap(size_, from.size_);
  return *this;
}
InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status InputFile::read(int64_t offset, std::span<std::byte> into) const {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t n =
        ::pread(fd_, into.data() + done, into.size() - done, offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_, "read");
    if (n == 0)
      return user_error("{}: it ends at byte {}, expected {}", path_,
                        offset + static_cast<int64_t>(done),
                        offset + static_cast<int64_t>(into.size()));
    done += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace cleave::data
