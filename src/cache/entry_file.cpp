#include "cache/entry_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "cache/cache_folder.h"

namespace cleave::cache {
namespace {

constexpr int most_temporaries = 1000;  // of one entry and process id

Found found_of(int error) {
  switch (error) {
    case ENOENT: return Found::missing;
    case ELOOP:  // a link
    case ENXIO:  // a socket
    case ENODEV:
    case EACCES: return Found::wrong;  // another user's, or of a mode that we never give
    default: return Found::failed;
  }
}

// Reads as much as was asked for, or returns false.
bool read_all(int fd, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t n = ::read(fd, into.data(), into.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    into = into.subspan(static_cast<size_t>(n));
  }
  return true;
}

// Creates NAME.PID.N.tmp with the first free N: another machine or name space that shares the
// folder may have a process of the same number.
Descriptor create_temporary(int sub, const std::string& name, std::string& temporary) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  for (int n = 0;; ++n) {
    temporary = fmt::format("{}.{}.{}.tmp", name, ::getpid(), n);
    const int fd = ::openat(sub, temporary.c_str(), flags, 0600);
    if (fd >= 0 || errno != EEXIST || n == most_temporaries) return Descriptor(fd);
  }
}

int write_and_rename(int sub, Descriptor out, const std::string& temporary, const std::string& name,
                     Pieces pieces) {
  if (const int error = write_all(out.get(), pieces)) return error;
  if (out.close() != 0) return errno;  // NFS says here that the disk is full
  return ::renameat(sub, temporary.c_str(), sub, name.c_str()) == 0 ? 0 : errno;
}

}  // namespace

std::string sub_folder_of(const std::string& name) { return name.substr(0, 2); }

EntryBytes read_entry_file(int folder, const std::string& name, Touch touch) {
  const Descriptor sub = open_sub_folder(folder, sub_folder_of(name), IfMissing::leave);
  if (!sub.is_open()) return {errno == ENOENT ? Found::missing : Found::failed, {}};
  // O_NONBLOCK: a pipe of this name must not stop the process.
  const Descriptor in(
      ::openat(sub.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!in.is_open()) return {found_of(errno), {}};
  struct stat info{};
  if (::fstat(in.get(), &info) != 0) return {Found::failed, {}};
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_size > largest_entry_bytes)
    return {Found::wrong, {}};
  std::vector<std::byte> bytes(static_cast<size_t>(info.st_size));
  errno = 0;
  if (!read_all(in.get(), bytes)) return {errno == 0 ? Found::wrong : Found::failed, {}};
  if (touch == Touch::yes) ::futimens(in.get(), nullptr);  // may fail: the order is a guess then
  return {Found::whole, std::move(bytes)};
}

int write_entry_file(int folder, const std::string& name, Pieces pieces) {
  uint64_t bytes = 0;
  for (std::span<const std::byte> piece : pieces) bytes += piece.size();
  if (bytes > std::min(largest_file_bytes(), uint64_t{largest_entry_bytes})) return EFBIG;
  const Descriptor sub = open_sub_folder(folder, sub_folder_of(name), IfMissing::create);
  if (!sub.is_open()) return errno;
  std::string temporary;
  Descriptor out = create_temporary(sub.get(), name, temporary);
  if (!out.is_open()) return errno;
  const int error = write_and_rename(sub.get(), std::move(out), temporary, name, pieces);
  if (error != 0) ::unlinkat(sub.get(), temporary.c_str(), 0);
  return error;
}

bool remove_entry_file(int folder, const std::string& name) {
  const Descriptor sub = open_sub_folder(folder, sub_folder_of(name), IfMissing::leave);
  if (!sub.is_open()) return errno == ENOENT;
  return ::unlinkat(sub.get(), name.c_str(), 0) == 0 || errno == ENOENT;
}

}  // namespace cleave::cache
