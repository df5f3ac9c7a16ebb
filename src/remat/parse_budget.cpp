#include "remat/parse_budget.h"

#include <charconv>

#include "base/byte_size.h"

namespace cleave {

Status check_budget(const MemoryBudget& budget) {
  if (!budget.given() || budget.valid()) return {};
  return user_error(
      "a memory budget of {}: expected more than 0 bytes, or more than 0% and at most 100% of the "
      "peak without a budget",
      budget.text());
}

Result<MemoryBudget> parse_budget(const std::string& text) {
  if (text.ends_with('%')) {
    double percent = 0;
    const char* end = text.data() + text.size() - 1;
    const auto read = std::from_chars(text.data(), end, percent);
    if (read.ec != std::errc{} || read.ptr != end || !(percent > 0 && percent <= 100))
      return user_error(
          "--budget {}: expected more than 0% and at most 100% of the peak without a budget",
          text.substr(0, 60));
    return MemoryBudget::percent(percent);
  }
  CLEAVE_TRY(const int64_t bytes, parse_byte_size(text, "--budget"));
  if (bytes == 0) return user_error("--budget {}: expected more than 0 bytes", text);
  return MemoryBudget(bytes);
}

}  // namespace cleave
