// Index arithmetic in one normal form, so that equal indices are the same expression and views of
// views cost nothing.
//
//   math.declare(p, 256); math.declare(j, 768);
//   math.divide(p * 768 + j, 768)     p            j is below 768
//   math.modulo(p * 768 + j, 64)      j % 64
//   p / 4 * 4 + p % 4                 p
//   (max(j - 4, 0) + 8) / 1024        0            max(j - 4, 0) is below 764
//   min(max((j - 1) / 2, 0), 383)     (j - 1) / 2  is from 0 to 383
//   (2 * j + 1 - i) / 2               j            1 - i is below 2
//
// An index is a constant and a sum of atoms times numbers; an atom is a variable, a quotient, a
// remainder, the larger or smaller of two indices, or an expression that isn't looked into (a
// loaded index). Indices are not negative, unless a number is subtracted, and divisors are positive
// numbers.
#pragma once
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "loop/expr.h"
#include "loop/linear_index.h"

namespace cleave::loop {

class IndexMath {
 public:
  // A variable, or a constant in its place, with values in [0, extent).
  void declare(const Expr& var, int64_t extent);
  // The sum of a * factor + b, both declared, lies in [0, extent), which is less than their ranges
  // say: the last of several parts is shorter. b is declared for this sum alone.
  void declare_sum(const Expr& a, int64_t factor, const Expr& b, int64_t extent);
  // The normal form: the same object for equal indices.
  Expr simplify(const Expr& e);
  Expr divide(const Expr& e, int64_t divisor);
  Expr modulo(const Expr& e, int64_t divisor);
  // The multi-index in a row-major shape of the element with this row-major number.
  Exprs delinearise(const Expr& number, const std::vector<int64_t>& shape);
  Expr dot(const Exprs& index, const std::vector<int64_t>& factors);

  LinearIndex linear(const Expr& e);
  // The variables in it, each once; those inside quotients and opaque parts too.
  const std::vector<int64_t>& variables(const Expr& e);
  // Whether the variable stands anywhere but as factor * variable.
  bool is_nested(const LinearIndex& index, int64_t variable);
  int32_t atom_of(const Expr& e);

 private:
  enum class Kind : uint8_t { opaque, variable, quotient, remainder };
  struct Atom {
    Expr expr;
    Kind kind = Kind::opaque;
    int64_t largest = -1;  // -1: unknown, and so is the smallest
    int64_t smallest = 0;  // at most 0
    LinearIndex inner = {};
    int64_t divisor = 1;
    // Of a sum that is known to be smaller than its parts tell: this atom + factor * other.
    int32_t other = -1;
    int64_t factor = 0, largest_sum = 0;
  };
  struct Range {
    int64_t low, high;
  };
  struct Split {
    LinearIndex quotient, remainder;
  };
  int32_t part(Kind kind, const LinearIndex& inner, int64_t divisor);
  LinearIndex chosen(Op op, const LinearIndex& a, const LinearIndex& b);
  void join_parts(LinearIndex& x);
  Split split(const LinearIndex& x, int64_t divisor);
  int64_t largest(const LinearIndex& x) const;  // -1: unknown, or x may be negative
  LinearIndex of_negative(const Expr& e, const LinearIndex& a, int64_t divisor);
  // How much less than its terms' own largest values the index reaches.
  int64_t less_by_sums(const LinearIndex& x) const;
  std::optional<Range> range(const LinearIndex& x) const;
  Expr expr_of(const LinearIndex& x);

  std::deque<Atom> atoms_;  // in the order in which they were first seen
  std::unordered_map<Expr, int32_t> atom_of_;
  std::unordered_map<LinearIndex, Expr, LinearIndex::Hash> known_;
  std::unordered_map<Expr, LinearIndex> linear_;  // of normal forms
  std::unordered_map<Expr, std::vector<int64_t>> variables_;
};

}  // namespace cleave::loop
