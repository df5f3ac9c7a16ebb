#include "cleave/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cleave {

ProgressLine::ProgressLine(int64_t total, int64_t done)
    : total_(total), begin_(done), is_terminal_(isatty(STDERR_FILENO)), started_(Clock::now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(int64_t done, const std::string& text) {
  const Clock::time_point now = Clock::now();
  if (!is_terminal_ || (done < total_ && now - shown_ < std::chrono::milliseconds(100))) return;
  shown_ = now;
  constexpr int64_t width = 20;
  const int64_t filled = total_ > 0 ? std::clamp<int64_t>(width * done / total_, 0, width) : width;
  fmt::print(stderr, "\r\033[K[{}{}] {}/{}  {}{}", std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(width - filled), '.'), done, total_, text, left(done));
  std::fflush(stderr);
  is_drawn_ = true;
}

std::string ProgressLine::left(int64_t done) const {
  if (done <= begin_ || done >= total_) return {};
  const double seconds = std::chrono::duration<double>(shown_ - started_).count();
  const double each = seconds / static_cast<double>(done - begin_);
  return fmt::format("  {} left", clock_text(each * static_cast<double>(total_ - done)));
}

void ProgressLine::clear() {
  if (!is_drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  is_drawn_ = false;
}

std::string clock_text(double seconds) {
  const auto s = std::llround(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace cleave
