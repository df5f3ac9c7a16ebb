// The places of remote_cache.h.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/descriptor.h"
#include "base/write_file.h"
#include "cache/http.h"
#include "cache/remote_cache.h"

namespace cleave::cache {
namespace {

using Bytes = std::vector<std::byte>;

Result<std::optional<Bytes>> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) {
    if (errno == ENOENT) return std::optional<Bytes>();
    return user_error("{}: {}", path, std::strerror(errno));
  }
  struct stat about{};
  if (fstat(file.get(), &about) != 0) return user_error("{}: {}", path, std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return user_error("{}: it is no file", path);
  if (about.st_size > static_cast<int64_t>(Http::largest_body))
    return user_error("{}: it has {} bytes", path, about.st_size);
  Bytes out(static_cast<size_t>(about.st_size));
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::read(file.get(), out.data() + done, out.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return user_error("{}: {}", path, std::strerror(errno));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  out.resize(done);
  return std::optional(std::move(out));
}

class FolderPlace final : public RemotePlace {
 public:
  explicit FolderPlace(std::string folder) : folder_(std::move(folder)) {}
  Result<std::optional<Bytes>> get(const std::string& name) override {
    return read_file(folder_ + "/" + name);
  }
  Status put(const std::string& name, std::span<const std::byte> bytes) override {
    const std::filesystem::path path = folder_ + "/" + name;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return user_error("{}: {}", path.parent_path().string(), error.message());
    return write_file(path.string(), {&bytes, 1});
  }

 private:
  const std::string folder_;
};

class HttpPlace final : public RemotePlace {
 public:
  HttpPlace(std::string url, std::unique_ptr<Http> http)
      : url_(std::move(url)), http_(std::move(http)) {}
  Result<std::optional<Bytes>> get(const std::string& name) override {
    const std::string url = url_ + "/" + name;
    CLEAVE_TRY(Http::Answer answer, http_->get(url));
    if (answer.code == 404) return std::optional<Bytes>();
    if (answer.code != 200) return user_error("{}: it answers {}", url, answer.code);
    return std::optional(std::move(answer.body));
  }
  Status put(const std::string& name, std::span<const std::byte> bytes) override {
    const std::string url = url_ + "/" + name;
    CLEAVE_TRY(const Http::Answer answer, http_->put(url, bytes));
    if (answer.code < 200 || answer.code > 299)
      return user_error("{}: it answers {}", url, answer.code);
    return {};
  }

 private:
  const std::string url_;
  const std::unique_ptr<Http> http_;
};

}  // namespace

Result<std::unique_ptr<RemotePlace>> open_remote_place(const std::string& place) {
  if (place.starts_with("http://") || place.starts_with("https://")) {
    CLEAVE_TRY(auto http, Http::open());
    std::string url = place;
    while (url.ends_with('/')) url.pop_back();
    return std::unique_ptr<RemotePlace>(
        std::make_unique<HttpPlace>(std::move(url), std::move(http)));
  }
  std::error_code error;
  if (!std::filesystem::is_directory(place, error))
    return user_error("remote cache: '{}' is no folder, and doesn't begin with http://", place);
  return std::unique_ptr<RemotePlace>(std::make_unique<FolderPlace>(place));
}

Result<UserKey> read_common_key(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0)
    return user_error("remote cache: key {}: {}", path, std::strerror(errno));
  if ((about.st_mode & 077) != 0)
    return user_error("remote cache: key {}: other users can read it; chmod 600 it", path);
  CLEAVE_TRY(const std::optional<Bytes> secret, read_file(path));
  if (!secret || secret->size() < 32)
    return user_error("remote cache: key {}: it has {} bytes, expected 32 or more", path,
                      secret ? secret->size() : 0);
  Sha256 sum;
  sum.update(*secret);
  return sum.finish();
}

}  // namespace cleave::cache
