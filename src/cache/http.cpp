#include "cache/http.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace cleave::cache {
namespace {

// Of curl/curl.h, where numbers never change: 10000 + a pointer, 20000 + a function, 30000 + a
// curl_off_t, else a long.
enum Option : int {
  upload = 46,
  no_signal = 99,
  timeout_ms = 155,
  connect_timeout_ms = 156,
  protocols = 181,
  write_data = 10001,
  url_text = 10002,
  proxy = 10004,
  read_data = 10009,
  write_function = 20011,
  read_function = 20012,
  body_size = 30115,
};
constexpr int response_code = 0x200002;
constexpr long http_and_https = 3, all_subsystems = 3;

struct Curl {
  int (*global_init)(long) = nullptr;
  void* (*easy_init)() = nullptr;
  int (*easy_setopt)(void*, int, ...) = nullptr;
  int (*easy_perform)(void*) = nullptr;
  int (*easy_getinfo)(void*, int, ...) = nullptr;
  void (*easy_cleanup)(void*) = nullptr;
  const char* (*easy_strerror)(int) = nullptr;
};

template <class F>
bool find(void* library, const char* name, F*& out) {
  out = reinterpret_cast<F*>(dlsym(library, name));
  return out != nullptr;
}

// Opened once and never closed, as libcurl may have threads and exit handlers.
const Curl* curl() {
  static const Curl* const opened = []() -> const Curl* {
    static Curl c;
    void* library = nullptr;
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
      if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library || !find(library, "curl_global_init", c.global_init) ||
        !find(library, "curl_easy_init", c.easy_init) ||
        !find(library, "curl_easy_setopt", c.easy_setopt) ||
        !find(library, "curl_easy_perform", c.easy_perform) ||
        !find(library, "curl_easy_getinfo", c.easy_getinfo) ||
        !find(library, "curl_easy_cleanup", c.easy_cleanup) ||
        !find(library, "curl_easy_strerror", c.easy_strerror) || c.global_init(all_subsystems) != 0)
      return nullptr;
    return &c;
  }();
  return opened;
}

struct Received {
  std::vector<std::byte>& body;
};
size_t receive(char* data, size_t size, size_t count, void* to) {
  std::vector<std::byte>& body = static_cast<Received*>(to)->body;
  const size_t n = size * count;
  if (n > Http::largest_body - body.size()) return 0;  // ends the transfer
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  body.insert(body.end(), bytes, bytes + n);
  return n;
}

struct Sent {
  std::span<const std::byte> left;
};
size_t send(char* data, size_t size, size_t count, void* from) {
  std::span<const std::byte>& left = static_cast<Sent*>(from)->left;
  const size_t n = std::min(size * count, left.size());
  std::memcpy(data, left.data(), n);
  left = left.subspan(n);
  return n;
}

class CurlHttp final : public Http {
 public:
  explicit CurlHttp(const Curl& curl) : curl_(curl) {}

  Result<Answer> get(const std::string& url) override { return run(url, nullptr); }
  Result<Answer> put(const std::string& url, std::span<const std::byte> body) override {
    return run(url, &body);
  }

 private:
  Result<Answer> run(const std::string& url, const std::span<const std::byte>* body) {
    const std::unique_ptr<void, void (*)(void*)> easy(curl_.easy_init(), curl_.easy_cleanup);
    if (!easy) return user_error("{}: the system has not enough memory", url);
    Answer answer;
    Received received{answer.body};
    Sent sent{body ? *body : std::span<const std::byte>()};
    const auto set = [&](Option option, auto value) {
      return curl_.easy_setopt(easy.get(), option, value) == 0;
    };
    bool ok = set(url_text, url.c_str()) && set(no_signal, 1L) && set(protocols, http_and_https) &&
              set(proxy, "") && set(connect_timeout_ms, 250L) && set(timeout_ms, 10000L) &&
              set(write_function, receive) && set(write_data, static_cast<void*>(&received));
    if (body)
      ok = ok && set(upload, 1L) && set(read_function, send) &&
           set(read_data, static_cast<void*>(&sent)) &&
           set(body_size, static_cast<int64_t>(body->size()));
    if (!ok) return bug("{}: libcurl refuses an option", url);
    if (const int error = curl_.easy_perform(easy.get()))
      return user_error("{}: {}", url, curl_.easy_strerror(error));
    curl_.easy_getinfo(easy.get(), response_code, &answer.code);
    return answer;
  }

  const Curl& curl_;
};

}  // namespace

Result<std::unique_ptr<Http>> Http::open() {
  const Curl* found = curl();
  if (!found)
    return unsupported("a remote cache over HTTP needs libcurl.so.4; Debian's libcurl4 has it");
  return std::unique_ptr<Http>(std::make_unique<CurlHttp>(*found));
}

}  // namespace cleave::cache
