// In which order the elements of one value are those of another: a permutation of dims, maybe of
// parts of them.
//
//   y = permute(x[4,6]; dims=[1,0])      the element with number n = 4*i + j of y has number
//                                        6*j + i in x:
//     digit   extent  in y  in x         i = n div 4 mod 6,  j = n div 1 mod 4
//       i       6      4     1
//       j       4      1     6
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/layout.h"

namespace cleave {

class Reorder {
 public:
  // Each number is itself.
  explicit Reorder(int64_t elements);
  // From the row-major number of a view's element to its number in memory. nullopt: some elements
  // of the memory, which has `elements`, are in no view or in several.
  static std::optional<Reorder> of(const Layout& view, int64_t elements);

  struct Digit {
    int64_t extent, from, to;  // weights in the two numbers
    friend bool operator==(const Digit&, const Digit&) = default;
  };
  // By falling weights in the first number; neighbours that are so in both are one digit.
  const std::vector<Digit>& digits() const { return digits_; }
  bool is_same() const { return digits_.size() <= 1; }
  Reorder inverse() const;
  // First this one, then the other. nullopt: their digits overlap.
  std::optional<Reorder> then(const Reorder& other) const;
  friend bool operator==(const Reorder&, const Reorder&) = default;

 private:
  explicit Reorder(std::vector<Digit> digits);
  std::vector<Digit> digits_;
};

}  // namespace cleave
