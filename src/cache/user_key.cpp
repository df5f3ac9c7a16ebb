#include "cache/user_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace cleave::cache {
namespace {

constexpr const char* key_file = "key";

enum class KeyState : uint8_t { good, missing, bad, failed };

KeyState read_key(int folder, UserKey& key) {
  const Descriptor in(
      ::openat(folder, key_file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!in.is_open())
    return errno == ENOENT                                       ? KeyState::missing
           : errno == ELOOP || errno == ENXIO || errno == EACCES ? KeyState::bad
                                                                 : KeyState::failed;
  struct stat info{};
  if (::fstat(in.get(), &info) != 0) return KeyState::failed;
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_mode & 077 ||
      info.st_size != static_cast<off_t>(key.size()))
    return KeyState::bad;
  const ssize_t n = ::read(in.get(), key.data(), key.size());
  if (n < 0) return KeyState::failed;
  return n == static_cast<ssize_t>(key.size()) ? KeyState::good : KeyState::bad;
}

int write_key(const Descriptor& out) {
  if (largest_file_bytes() < sizeof(UserKey)) return EFBIG;
  UserKey key;
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) return EIO;
  const std::span<const std::byte> piece = key;
  if (const int error = write_all(out.get(), {&piece, 1})) return error;
  return ::fsync(out.get()) == 0 ? 0 : errno;
}

// 0, also where another process was first; or errno.
int create_key(int folder) {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) return EIO;
  const std::string aside = fmt::format("key.{:016x}.tmp", random);
  const Descriptor out(
      ::openat(folder, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out.is_open()) return errno;
  int error = write_key(out);
  if (error == 0 && ::linkat(folder, aside.c_str(), folder, key_file, 0) != 0 && errno != EEXIST)
    error = errno;
  ::unlinkat(folder, aside.c_str(), 0);
  return error;
}

Failure key_failure(const std::string& path, std::string_view step, int error) {
  return user_error("{}/{}: {}: {}; name a folder where files can be made", path, key_file, step,
                    std::generic_category().message(error));
}

}  // namespace

Result<std::optional<UserKey>> read_user_key(int folder, const std::string& path,
                                             IfMissing if_missing) {
  UserKey key;
  for (int tries = 0; tries < 3; ++tries) {
    const KeyState state = read_key(folder, key);
    if (state == KeyState::good) return std::optional(key);
    if (state == KeyState::failed) return key_failure(path, "read", errno);
    if (if_missing == IfMissing::leave) return std::optional<UserKey>();
    if (state == KeyState::bad && ::unlinkat(folder, key_file, 0) != 0 && errno != ENOENT)
      return key_failure(path, "replace", errno);
    if (const int error = create_key(folder)) return key_failure(path, "create", error);
  }
  return user_error("{}/{}: is replaced by something else again and again", path, key_file);
}

}  // namespace cleave::cache
