#include "cache/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <string_view>
#include <system_error>

namespace cleave::cache {
namespace {

constexpr mode_t written_by_others = S_IWGRP | S_IWOTH;
constexpr int most_links = 40;  // as the kernel's own limit

using Names = std::deque<std::string>;

// Puts the names of a path in front.
void prepend(Names& names, std::string_view path) {
  Names parts;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  names.insert(names.begin(), parts.begin(), parts.end());
}

Descriptor open_start(std::string_view path) {
  return Descriptor(::open(path.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Failure refused(const std::string& path, std::string_view step, int error) {
  return user_error("{}: {}: {}; the cache needs a folder of your own", path, step,
                    std::generic_category().message(error));
}

// The text of a link that is open itself; empty with errno.
std::string target_of(const Descriptor& link) {
  std::string text(PATH_MAX, '\0');
  const ssize_t n = ::readlinkat(link.get(), "", text.data(), text.size());
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

// The entry `name` itself, whatever it is; a folder that is created for this user, if asked.
Descriptor step_to(int folder, const std::string& name, IfMissing if_missing) {
  constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  Descriptor next(::openat(folder, name.c_str(), flags));
  if (next.is_open() || errno != ENOENT || if_missing == IfMissing::leave) return next;
  if (::mkdirat(folder, name.c_str(), 0700) != 0 && errno != EEXIST) return {};
  return Descriptor(::openat(folder, name.c_str(), flags));
}

Status check_owner(const std::string& path, int folder) {
  struct stat info{};
  if (::fstat(folder, &info) != 0) return refused(path, "stat", errno);
  if (info.st_uid != ::geteuid())
    return user_error("{}: belongs to user {}, and this is user {}; name a folder of your own",
                      path, info.st_uid, ::geteuid());
  if (info.st_mode & written_by_others)
    return user_error(
        "{}: other users may write there (mode {:o}); say `chmod go-w {}` if all in it "
        "is yours, or name another folder",
        path, info.st_mode & 07777, path);
  return {};
}

}  // namespace

Result<Descriptor> open_cache_folder(const std::string& path, IfMissing if_missing) {
  if (path.empty()) return user_error("the folder of the cache has no name");
  Names rest;
  prepend(rest, path);
  Descriptor at = open_start(path);
  for (int links = 0; at.is_open() && !rest.empty();) {
    const std::string name = rest.front();
    rest.pop_front();
    Descriptor next = step_to(at.get(), name, if_missing);
    if (!next.is_open() && errno == ENOENT && if_missing == IfMissing::leave) return Descriptor();
    struct stat info{};
    if (!next.is_open() || ::fstat(next.get(), &info) != 0) return refused(path, name, errno);
    if (S_ISDIR(info.st_mode)) {
      at = std::move(next);
      continue;
    }
    if (!S_ISLNK(info.st_mode)) return refused(path, name, ENOTDIR);
    if (rest.empty())
      return user_error("{}: is a symbolic link; name the folder that it leads to", path);
    if (info.st_uid != 0 && info.st_uid != ::geteuid())
      return user_error(
          "{}: `{}` is a symbolic link of user {}; name a folder that no link of "
          "another user leads to",
          path, name, info.st_uid);
    const std::string target = target_of(next);
    if (target.empty()) return refused(path, name, errno);
    if (++links > most_links) return refused(path, name, ELOOP);
    if (target.starts_with('/')) at = open_start(target);
    prepend(rest, target);
  }
  if (!at.is_open()) return refused(path, "open", errno);
  Descriptor folder(::openat(at.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return refused(path, "open", errno);
  CLEAVE_CHECK(check_owner(path, folder.get()));
  return folder;
}

Descriptor open_sub_folder(int folder, const std::string& name, IfMissing if_missing) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor sub(::openat(folder, name.c_str(), flags));
  if (!sub.is_open() && errno == ENOENT && if_missing == IfMissing::create) {
    if (::mkdirat(folder, name.c_str(), 0700) != 0 && errno != EEXIST) return {};
    sub = Descriptor(::openat(folder, name.c_str(), flags));
  }
  struct stat info{};
  if (!sub.is_open() || ::fstat(sub.get(), &info) != 0) return {};
  if (info.st_uid == ::geteuid() && !(info.st_mode & written_by_others)) return sub;
  errno = EPERM;
  return {};
}

}  // namespace cleave::cache
