// How much memory a program may use at its peak: placeholders (parameters, buffers, optimizer
// state, inputs), results, live values and workspace, each rounded up to 64 bytes.
//
//   CompileOptions options{.memory_budget = 64 << 20};
//   CompileOptions options{.memory_budget = MemoryBudget::percent(60)};
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

namespace cleave {

class MemoryBudget {
 public:
  MemoryBudget() = default;  // none: see CompileOptions::memory_budget
  template <class T>
  MemoryBudget(T bytes) : bytes_(static_cast<int64_t>(bytes)), given_(true) {
    static_assert(std::is_integral_v<T>,
                  "a memory budget is a number of bytes; MemoryBudget::percent(60) is 60% of the "
                  "peak");
  }
  // A percentage, in (0, 100], of the planned peak that the program has without a budget: the one
  // that it reports.
  static MemoryBudget percent(double percent) {
    MemoryBudget b;
    b.percent_ = percent;
    b.given_ = true;
    return b;
  }

  bool given() const { return given_; }
  bool is_percent() const { return percent_ > 0; }
  double percentage() const { return percent_; }  // 0 where the budget is in bytes
  // The budget in bytes, for a program whose peak is `whole` without a budget.
  int64_t bytes(int64_t whole) const {
    return is_percent() ? static_cast<int64_t>(percent_ / 100 * static_cast<double>(whole))
                        : bytes_;
  }
  bool valid() const { return percent_ > 0 ? percent_ <= 100 : bytes_ > 0; }
  std::string text() const {
    if (percent_ <= 0) return std::to_string(bytes_) + " B";
    std::string digits = std::to_string(percent_);
    digits.erase(digits.find_last_not_of('0') + 1);
    return digits + (digits.back() == '.' ? "0%" : "%");
  }

 private:
  int64_t bytes_ = 0;
  double percent_ = 0;
  bool given_ = false;
};

}  // namespace cleave
