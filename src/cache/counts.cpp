#include "cache/counts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "base/descriptor.h"

namespace cleave::cache {
namespace {

constexpr const char* totals_file = "totals";
constexpr size_t block_bytes = 4096;
constexpr std::string_view first_line = "cleave-cache-totals 1";
constexpr size_t longest_reason = 60;
constexpr size_t most_reasons = 40;  // of 60 characters fit the block
constexpr int lock_tries = 20;       // a millisecond apart

constexpr std::array<std::pair<std::string_view, int64_t Counts::*>, 5> plain_counts = {
    {{"hits", &Counts::hits},
     {"misses", &Counts::misses},
     {"writes", &Counts::writes},
     {"corrupt", &Counts::corrupt},
     {"failures", &Counts::failures}}};

// The sum, at most the largest number: the file may say anything.
int64_t sum(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

std::string_view take_until(std::string_view& text, char end) {
  const size_t n = std::min(text.find(end), text.size());
  const std::string_view out = text.substr(0, n);
  text.remove_prefix(std::min(n + 1, text.size()));
  return out;
}

std::optional<int64_t> count_of(std::string_view text) {
  int64_t n = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || stop != text.data() + text.size() || n < 0) return std::nullopt;
  return n;
}

void add_reason(Counts& counts, const std::string& reason, int64_t n) {
  const bool known = counts.bypasses.contains(reason);
  int64_t& count =
      counts.bypasses[known || counts.bypasses.size() < most_reasons - 1 ? reason : "other"];
  count = sum(count, n);
}

Descriptor open_totals(int folder, int flags) {
  Descriptor out(
      ::openat(folder, totals_file, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  struct stat info{};
  if (!out.is_open() || ::fstat(out.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != ::geteuid())
    return {};
  return out;
}

Counts read_block(const Descriptor& in) {
  std::string text(block_bytes, '\0');
  const ssize_t n = ::pread(in.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return parse_counts(text);
}

bool lock(const Descriptor& file) {
  for (int n = 0; n < lock_tries; ++n) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
    ::usleep(1000);
  }
  return false;
}

}  // namespace

Counts& operator+=(Counts& a, const Counts& b) {
  for (const auto& [name, count] : plain_counts) a.*count = sum(a.*count, b.*count);
  for (const auto& [reason, n] : b.bypasses) add_reason(a, reason, n);
  return a;
}

std::string bypass_reason(std::string_view text) {
  std::string out(text.substr(0, longest_reason));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

std::string print_counts(const Counts& counts) {
  std::string out = fmt::format("{}\n", first_line);
  for (const auto& [name, count] : plain_counts) out += fmt::format("{} {}\n", name, counts.*count);
  for (const auto& [reason, n] : counts.bypasses) out += fmt::format("bypass {} {}\n", n, reason);
  return out;
}

Counts parse_counts(std::string_view text) {
  Counts out;
  if (take_until(text, '\n') != first_line) return out;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string_view name = take_until(line, ' ');
    const auto n = count_of(take_until(line, ' '));
    if (!n) continue;
    if (name == "bypass") add_reason(out, bypass_reason(line), *n);
    const auto plain = std::ranges::find(plain_counts, name, [](const auto& p) { return p.first; });
    if (plain != plain_counts.end()) out.*plain->second = *n;
  }
  return out;
}

Counts read_totals(int folder) {
  const Descriptor in = open_totals(folder, O_RDONLY);
  return in.is_open() ? read_block(in) : Counts();
}

bool add_to_totals(int folder, const Counts& counts) {
  if (largest_file_bytes() < block_bytes) return false;
  const Descriptor file = open_totals(folder, O_RDWR | O_CREAT);
  if (!file.is_open() || !lock(file)) return false;
  Counts all = read_block(file);
  all += counts;
  std::string text = print_counts(all);
  text.resize(block_bytes, '\n');
  return ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

void clear_totals(int folder) { ::unlinkat(folder, totals_file, 0); }

}  // namespace cleave::cache
