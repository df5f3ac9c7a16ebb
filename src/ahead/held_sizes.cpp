#include "ahead/held_sizes.h"

#include <algorithm>

namespace cleave::ahead {
namespace {

using standalone::SizeEntry;

constexpr size_t most_told = 1'000'000;

std::string bounds_text(const SizeEntry& s) {
  return s.most ? fmt::format("{} to {}", s.least, *s.most) : std::string("0 or more");
}

Status check(const SizeEntry& s, const std::vector<int64_t>& asked) {
  if (asked.empty()) return user_error("build: {} is asked for without a size", s.name);
  for (const int64_t size : asked)
    if (size < (s.most ? s.least : 0) || (s.most && size > *s.most))
      return user_error("build: {}={} is asked for, expected {}", s.name, size, bounds_text(s));
  return {};
}

// How many sizes it is, up to a number that no library holds.
size_t count_of(const SizeEntry& s, const AskedSizes& asked) {
  if (const auto own = asked.sizes.find(s.name); own != asked.sizes.end())
    return own->second.size();
  return s.most ? static_cast<size_t>(*s.most - s.least) + 1 : 1;
}

std::vector<int64_t> list_of(const SizeEntry& s, const AskedSizes& asked) {
  std::vector<int64_t> out;
  if (const auto own = asked.sizes.find(s.name); own != asked.sizes.end())
    out = own->second;
  else
    for (int64_t size = s.least; size <= s.most.value_or(s.least); ++size) out.push_back(size);
  std::ranges::sort(out);
  const auto rest = std::ranges::unique(out);
  out.erase(rest.begin(), rest.end());
  return out;
}

Status check_count(const std::vector<SizeEntry>& sizes, const AskedSizes& asked) {
  bool is_asked = true;  // for all of them
  size_t count = 1;
  std::vector<std::string> texts;
  for (const SizeEntry& s : sizes) {
    const bool own = asked.sizes.contains(s.name);
    is_asked = is_asked && own;
    if (__builtin_mul_overflow(count, count_of(s, asked), &count)) count = SIZE_MAX;
    if (!own && s.most) texts.push_back(fmt::format("{} is {}", s.name, bounds_text(s)));
  }
  if (is_asked || count <= asked.most) return {};
  return user_error(
      "build: {}: these are {} sizes, and a library holds at most {} that aren't named; give those "
      "that it is to hold: {}",
      fmt::join(texts, ", "),
      count > most_told ? fmt::format("more than {}", most_told) : std::to_string(count),
      asked.most, asked.option);
}

}  // namespace

Result<std::vector<std::vector<int64_t>>> held_sizes(const std::vector<SizeEntry>& sizes,
                                                     const AskedSizes& asked) {
  for (const auto& [name, list] : asked.sizes) {
    const auto s = std::ranges::find(sizes, name, &SizeEntry::name);
    if (s == sizes.end())
      return user_error(
          "build: {} is asked for, and no size of the inputs that varies has the name", name);
    CLEAVE_CHECK(check(*s, list));
  }
  CLEAVE_CHECK(check_count(sizes, asked));
  std::vector<std::vector<int64_t>> out = {{}};
  for (const SizeEntry& s : sizes) {
    const std::vector<int64_t> list = list_of(s, asked);
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& start : out)
      for (const int64_t size : list) {
        longer.push_back(start);
        longer.back().push_back(size);
      }
    out = std::move(longer);
  }
  return out;
}

}  // namespace cleave::ahead
