#include "base/byte_size.h"

#include <charconv>
#include <string_view>

namespace cleave {

Result<int64_t> parse_byte_size(const std::string& text, const std::string& option) {
  constexpr std::pair<std::string_view, int64_t> units[] = {
      {"", 1},      {"B", 1},        {"KiB", int64_t{1} << 10}, {"MiB", int64_t{1} << 20},
      {"KB", 1000}, {"MB", 1000000}, {"GiB", int64_t{1} << 30}, {"GB", 1000000000}};
  const auto wrong = [&] {
    return user_error("{} {}: expected a size such as 1048576, 64MiB or 1.5GB", option,
                      text.substr(0, 60));
  };
  const size_t letters = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = std::string_view(text).substr(letters);
  for (const auto& [name, bytes] : units) {
    if (unit != name) continue;
    int64_t whole = 0;
    const char *begin = text.data(), *end = begin + letters;
    if (const auto r = std::from_chars(begin, end, whole); r.ec == std::errc{} && r.ptr == end) {
      if (whole > (int64_t{1} << 62) / bytes) return wrong();
      return whole * bytes;
    }
    double parts = 0;
    const auto r = std::from_chars(begin, end, parts);
    if (r.ec != std::errc{} || r.ptr != end || bytes == 1) return wrong();
    const double product = parts * static_cast<double>(bytes);
    if (product > 4e18) return wrong();
    return static_cast<int64_t>(product);
  }
  return wrong();
}

}  // namespace cleave
