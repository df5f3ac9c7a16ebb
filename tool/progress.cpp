#include "tool/progress.h"

#include <fmt/format.h>
#include <unistd.h>
#include <cmath>

#include <chrono>
#include <cstdio>

namespace cleave::tool {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Progress::Progress(int64_t total) : total_(total), terminal_(isatty(STDERR_FILENO)) {}

Progress::~Progress() { clear(); }

void Progress::show(int64_t done, const std::string& text) {
  if (!terminal_ || (done < total_ && now() - last_ < 0.1)) return;
  last_ = now();
  constexpr int64_t width = 20;
  const int64_t filled = total_ ? width * done / total_ : width;
  fmt::print(stderr, "\r\033[K[{}{}] {}/{}  {}", std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(width - filled), '.'), done, total_, text);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

std::string clock_text(double seconds) {
  const auto s = std::llround(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string grouped(int64_t n) {
  std::string s = std::to_string(n);
  for (int64_t i = static_cast<int64_t>(s.size()) - 3; i > (n < 0 ? 1 : 0); i -= 3)
    s.insert(static_cast<size_t>(i), ",");
  return s;
}

}  // namespace cleave::tool
