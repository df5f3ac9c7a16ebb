// A matrix product as a call of the library.
#pragma once
#include "loop/lower_rule.h"

namespace cleave {

// Where operands stand; -1 is none. Factors of rank 2, or of rank 3 with a batch; what is added to
// the product and what scales its sums broadcast to it.
struct ProductOperands {
  int a = 0, b = 1, c = -1;
  std::array<int, 2> scales = {-1, -1};
};

// What is known of `spec` beforehand is alpha, beta, and how the sums are scaled or b is packed;
// with b_packed also n. A term times 0 is not read at all: it may hold NaN.
loop::LibraryForm product_form(const OpView& op, const ProductOperands& at,
                               const GemmSpec& spec = {});

}  // namespace cleave
