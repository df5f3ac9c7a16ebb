// GET and PUT by libcurl, which is opened at the first use: a host program that has no remote cache
// loads nothing.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::cache {

class Http {
 public:
  // Error (unsupported): there is no libcurl, with the package that has it.
  static Result<std::unique_ptr<Http>> open();
  virtual ~Http() = default;

  struct Answer {
    long code = 0;  // 200, 404, ...
    std::vector<std::byte> body;
  };
  // Errors (user): no connection within 250 ms, no answer within 10 s or of more than
  // largest_body. Redirections aren't followed, proxies not asked. Any number of threads.
  virtual Result<Answer> get(const std::string& url) = 0;
  virtual Result<Answer> put(const std::string& url, std::span<const std::byte> body) = 0;

  static constexpr size_t largest_body = size_t{1} << 30;
};

}  // namespace cleave::cache
