// What a size is made of, for code that writes it in another language.
//
//   s0*4 + floordiv(s1,2) - 1  ->  4 [symbol s0]   1 [floordiv s1 2]   -1 []
#pragma once
#include <string>
#include <vector>

#include "ir/dim.h"

namespace cleave {

struct DimAtom {
  enum class Kind : uint8_t { symbol, floordiv, mod, min, max };
  Kind kind = Kind::symbol;
  std::string symbol;  // of a symbol
  Dim a, b;            // operands of the others
};

// factor * product of atoms; an atom occurs once for each power.
struct DimTerm {
  int64_t factor = 1;
  std::vector<DimAtom> atoms;
};

// The terms of the sum; none of 0.
std::vector<DimTerm> terms_of(const Dim& d);

}  // namespace cleave
