// Which values an integer expression can have.
#pragma once
#include <optional>
#include <unordered_map>

#include "loop/expr.h"

namespace cleave::simt {

// Both ends belong to it.
struct Range {
  int64_t low = 0, high = 0;
  bool fits_i32() const { return low >= -2147483648 && high <= 2147483647; }
  friend bool operator==(const Range&, const Range&) = default;
};

class Ranges {
 public:
  void set(const loop::Expr& var, std::optional<Range> range);
  // nullopt: any, or not an i64 or i32.
  std::optional<Range> of(const loop::Expr& e);
  // The largest value, which may be known where the least isn't.
  std::optional<int64_t> most(const loop::Expr& e);
  // The same value in fewer operations, where ranges say which: a constant, or one side of a min or
  // max; else e.
  loop::Expr decided(const loop::Expr& e);

 private:
  std::optional<Range> of_operation(const loop::ExprNode& e);

  std::unordered_map<int64_t, std::optional<Range>> variables_;
  std::unordered_map<loop::Expr, std::optional<Range>> known_;
};

}  // namespace cleave::simt
