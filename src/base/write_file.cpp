#include "base/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/descriptor.h"

namespace cleave {
namespace {

Failure system_failure(const std::string& path, std::string_view step, int error) {
  return user_error("{}: {}: {}; nothing was changed", path, step,
                    std::generic_category().message(error));
}

// Removes the file at the end of its scope, unless it was kept.
class Removal {
 public:
  explicit Removal(const std::string& path) : path_(&path) {}
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  ~Removal() {
    if (path_) ::unlink(path_->c_str());
  }
  void keep() { path_ = nullptr; }

 private:
  const std::string* path_;
};

Status check_size_limit(const std::string& path, Pieces pieces) {
  uint64_t bytes = 0;
  for (std::span<const std::byte> piece : pieces) bytes += piece.size();
  if (const uint64_t most = largest_file_bytes(); bytes > most)
    return user_error(
        "{}: write: {} bytes are more than the {} that this process may write to a "
        "file (ulimit -f); nothing was changed",
        path, bytes, most);
  return {};
}

Status write_directly(const std::string& path, Pieces pieces) {
  const Descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!out.is_open()) return system_failure(path, "open", errno);
  if (const int error = write_all(out.get(), pieces))
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
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.is_open()) ::fsync(fd.get());
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
  Descriptor out(create_aside(target, aside));
  if (!out.is_open()) return system_failure(path, "create", errno);
  Removal half(aside);
  if (const int error = write_all(out.get(), pieces)) return system_failure(path, "write", error);
  if (::fsync(out.get()) != 0) return system_failure(path, "fsync", errno);
  if (out.close() != 0) return system_failure(path, "close", errno);
  if (::rename(aside.c_str(), target.c_str()) != 0) return system_failure(path, "rename", errno);
  half.keep();
  sync_folder(target);
  return {};
}

Status write_file(const std::string& path, std::string_view text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return write_file(path, Pieces(&bytes, 1));
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return user_error("{}: the folder can't be made: {}", folder, error.message());
  return {};
}

}  // namespace cleave
