#include "exec/notices.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>

namespace cleave {
namespace {

// A process says each text once.
void warn_on_stderr(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::scoped_lock lock(mutex);
  if (said.insert(text).second) std::fprintf(stderr, "cleave: warning: %s\n", text.c_str());
}

std::string for_sizes(const std::string& sizes) {
  return sizes.empty() ? "" : fmt::format(", for {}", sizes);
}

}  // namespace

void Notices::begins(const std::string& what, const std::string& sizes) const {
  if (log_) log_(LogLevel::info, fmt::format("{}: begins{}", what, for_sizes(sizes)));
}

void Notices::is_ready(const std::string& what, const std::string& sizes, const Report& report) {
  warn(report.warnings);
  if (!log_) return;
  const std::string reason =
      report.cache_reason.empty() ? "" : fmt::format(" ({})", report.cache_reason);
  log_(LogLevel::info, fmt::format("{}: ready after {:.1f} ms (trace {:.1f} ms){}, cache: {}{}",
                                   what, report.trace_ms + report.compile_ms, report.trace_ms,
                                   for_sizes(sizes), report.cache, reason));
}

void Notices::warn(std::span<const Warning> warnings) {
  for (const Warning& w : warnings)
    if (!log_)
      warn_on_stderr(w.text);
    else if (said_.insert(w.text).second)
      log_(LogLevel::warning, w.text);
}

}  // namespace cleave
