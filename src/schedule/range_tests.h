// Tests of a loop's variable j that change at one iteration: comparisons, min and max of
// factor * j + constant.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loop/kernel.h"

namespace cleave::schedule {

class RangeTests {
 public:
  explicit RangeTests(const loop::Expr& var) : var_(var) {}

  const loop::Expr& var() const { return var_; }
  // A variable of the body, with the value that it is given.
  void define(const loop::Expr& var, const loop::Expr& value);
  // The iterations before which a test of `e` changes, added to `out`.
  void changes_of(const loop::Expr& e, int64_t iterations, std::set<int64_t>& out);
  // What a comparison gives in the first iterations; whether the first operand of a min or max is
  // its value. Nothing: it isn't a test, or changes there.
  std::optional<bool> result_in_first(const loop::Expr& e, int64_t iterations);

 private:
  struct Linear {
    int64_t factor = 0, constant = 0;
    int64_t at(int64_t j) const { return factor * j + constant; }
    Linear operator-(const Linear& b) const { return {factor - b.factor, constant - b.constant}; }
  };
  std::optional<Linear> linear(const loop::Expr& e);
  std::optional<Linear> linear_anew(const loop::Expr& e);
  // The values that it may have: of a min or max, those of both operands. Empty: others too.
  std::vector<Linear> values_of(const loop::Expr& e);

  loop::Expr var_;
  std::unordered_map<int64_t, Linear> known_;                    // of variables
  std::unordered_map<loop::Expr, std::optional<Linear>> found_;  // parts are shared
  std::unordered_set<loop::Expr> seen_;
};

}  // namespace cleave::schedule
