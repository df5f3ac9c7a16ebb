// c + the sum of factor * atom.
//
//   x.add(row, 768);  x.add(column, 1);        768*row + column
//
// Atoms are numbers that somebody else gives a meaning (index_math.h). They stand in order, each
// once, and none with a factor of 0: equal sums compare equal. Overflow is not looked for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave::loop {

struct LinearIndex {
  struct Term {
    int32_t atom;
    int64_t factor;
    friend bool operator==(const Term&, const Term&) = default;
  };
  int64_t constant = 0;
  std::vector<Term> terms = {};
  friend bool operator==(const LinearIndex&, const LinearIndex&) = default;

  // 0: the atom doesn't stand in it.
  int64_t factor_of(int32_t atom) const;
  void add(int32_t atom, int64_t factor);
  void add(const LinearIndex& x, int64_t factor = 1);
  // The part whose factors the divisor divides, divided by it. What stays has a constant in
  // [0, divisor):   before = divisor * result + after
  LinearIndex take_multiples(int64_t divisor);

  struct Hash {
    size_t operator()(const LinearIndex& x) const;
  };
};

}  // namespace cleave::loop
