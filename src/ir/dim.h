// A size: an integer, or an integer expression over symbols (symint placeholders).
//
//   expression = polynomial with integer coefficients over atoms
//   atom       = symbol | floordiv(a,b) | mod(a,b) | min(a,b) | max(a,b)
//
// An expression is kept canonical: terms sorted by their text, equal terms merged, zero terms
// dropped, constant sub-expressions folded, exact quotients divided. Two Dims that are equal as
// polynomials compare equal. Arithmetic saturates at +-2^62, and an expression that grows too long
// or too deep, or one of whose coefficients saturates, becomes 2^62. Types with dims beyond 2^47
// are refused when a node is made, so a saturated size never reaches a buffer.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave {

struct SymExpr;

class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}
  static Dim symbol(const std::string& name);

  bool is_const() const { return !expr_; }
  // The value of a constant; callers check is_const() first.
  int64_t value() const { return value_; }
  const SymExpr* expr() const { return expr_.get(); }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  // Rounds toward minus infinity; b = 0 gives 0 (the parser and the verifier refuse it).
  static Dim floordiv(const Dim& a, const Dim& b);
  static Dim mod(const Dim& a, const Dim& b);
  static Dim min(const Dim& a, const Dim& b);
  static Dim max(const Dim& a, const Dim& b);

  friend bool operator==(const Dim& a, const Dim& b);
  std::string text() const;

  // Collects the symbols that occur, each once, sorted.
  void collect_symbols(std::vector<std::string>& into) const;
  // Collects the divisors of every floordiv and mod in the expression.
  void collect_divisors(std::vector<Dim>& into) const;
  // The value with each symbol replaced by `value_of(name)`; nullopt if a symbol is unknown.
  std::optional<int64_t> eval(
      const std::function<std::optional<int64_t>(const std::string&)>& value_of) const;
  // The expression with symbols replaced.
  Dim substitute(const std::function<Dim(const std::string&)>& value_of) const;

 private:
  friend struct SymExpr;
  int64_t value_ = 0;
  std::shared_ptr<const SymExpr> expr_;
};

// Bounds of a Dim, both inclusive.
struct DimRange {
  int64_t lo = 0;
  int64_t hi = int64_t{1} << 47;
};

// What is known about one symbol of a graph.
struct SymInfo {
  DimRange range{0, int64_t{1} << 47};
  std::optional<int64_t> hint;
};

class SymEnv {
 public:
  static constexpr int64_t default_hint = 4096;

  SymEnv();
  SymEnv(const SymEnv& from);
  SymEnv(SymEnv&& from) noexcept;
  SymEnv& operator=(const SymEnv& from);
  SymEnv& operator=(SymEnv&& from) noexcept;
  ~SymEnv();

  void declare(const std::string& name, SymInfo info);
  // Records that a tensor has this size, so that it isn't negative where the tensor exists.
  void note_size(const Dim& d);
  const SymInfo* find(const std::string& name) const;
  bool empty() const { return symbols_.empty(); }

  // The interval of the expression over the symbols' ranges.
  DimRange range_of(const Dim& d) const;
  // The value at the symbols' hints; a symbol without a hint counts as 4096.
  int64_t hint_of(const Dim& d) const;
  // `yes` and `no` are proven for every value in range; `unknown` if neither is proven.
  enum class Truth { no, yes, unknown };
  Truth equal(const Dim& a, const Dim& b) const;
  bool provably_equal(const Dim& a, const Dim& b) const { return equal(a, b) == Truth::yes; }

 private:
  DimRange range_without_notes(const Dim& d) const;

  std::map<std::string, SymInfo> symbols_;
  std::set<std::string> sizes_;  // recorded sizes whose range doesn't prove them to be at least 0
};

}  // namespace cleave
