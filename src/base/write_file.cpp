#include "base/write_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace cleave {
namespace {

using Pieces = std::span<const std::span<const std::byte>>;

Failure system_failure(const std::string& path, std::string_view step, int error) {
  return user_error("{}: {}: {}; nothing was changed", path, step,
                    std::generic_category().message(error));
}

// Closes the file at the end of its scope, and removes it unless it was kept.
class OpenFile {
 public:
  OpenFile(int fd, std::string remove) : fd_(fd), remove_(std::move(remove)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!remove_.empty()) ::unlink(remove_.c_str());
  }
  int fd() const { return fd_; }
  void keep() { remove_.clear(); }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
  std::string remove_;
};

// Returns 0, or the errno of the failed write.
int write_all(int fd, Pieces pieces) {
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      constexpr size_t most = size_t{1} << 30;
      const ssize_t n = ::write(fd, piece.data(), std::min(piece.size(), most));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) return ENOSPC;
      piece = piece.subspan(static_cast<size_t>(n));
    }
  }
  return 0;
}

// A write past this limit kills the process with a signal, so the limit is checked first.
Status check_size_limit(const std::string& path, Pieces pieces) {
  uint64_t bytes = 0;
  for (std::span<const std::byte> piece : pieces) bytes += piece.size();
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur)
    return user_error(
        "{}: write: {} bytes are more than the {} that this process may write to a "
        "file (ulimit -f); nothing was changed",
        path, bytes, static_cast<uint64_t>(limit.rlim_cur));
  return {};
}

Status write_directly(const std::string& path, Pieces pieces) {
  OpenFile out(::open(path.c_str(), O_WRONLY | O_CLOEXEC), "");
  if (out.fd() < 0) return system_failure(path, "open", errno);
  if (const int error = write_all(out.fd(), pieces))
    return user_error("{}: write: {}", path, std::generic_category().message(error));
  return {};
}

// Creates `target`.PID.N.tmp with the first free N, and stores the name in `aside`.
int create_aside(const std::string& target, std::string& aside) {
  for (int n = 0;; ++n) {
    aside = fmt::format("{}.{}.{}.tmp", target, ::getpid(), n);
    const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST || n == 1000) return fd;
  }
}

// The rename is durable only once the folder is synced; a file system that can't is no error.
void sync_folder(const std::string& target) {
  const size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : target.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Status write_file(const std::string& path, Pieces pieces) {
  std::string target = path;
  struct stat before{};
  if (::stat(path.c_str(), &before) == 0) {
    if (S_ISDIR(before.st_mode)) return system_failure(path, "open", EISDIR);
    if (!S_ISREG(before.st_mode)) return write_directly(path, pieces);
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    if (!real) return system_failure(path, "open", errno);
    target = real.get();
  }
  CLEAVE_CHECK(check_size_limit(path, pieces));

  std::string aside;
  const int fd = create_aside(target, aside);
  if (fd < 0) return system_failure(path, "create", errno);
  OpenFile out(fd, aside);
  if (const int error = write_all(out.fd(), pieces)) return system_failure(path, "write", error);
  if (::fsync(out.fd()) != 0) return system_failure(path, "fsync", errno);
  if (out.close() != 0) return system_failure(path, "close", errno);
  if (::rename(aside.c_str(), target.c_str()) != 0) return system_failure(path, "rename", errno);
  out.keep();
  sync_folder(target);
  return {};
}

}  // namespace cleave
