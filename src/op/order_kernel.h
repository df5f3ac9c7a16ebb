// Kernels that sort lines: a heap in the buffers of the results.
//
//   slots   0 1 2 | 3 4 5 6      the line, of which the first `count` in order are needed
//           heap    one by one   a heap of the needed ones, the last in order on top; each further
//                                element that comes before the top replaces it
//
// Then the top is moved to the end, the heap shrinks, and so on. A slot is an index (result 1), or
// an element itself (result 0) if the indices have no use. Equal elements keep their order; NaN is
// greater than any number. n log(count) comparisons a line.
#pragma once
#include "loop/kernel_builder.h"

namespace cleave {

// Whether greater elements come first.
enum class Order { ascending, descending };

// result 0 = the first elements along `dim` of operand 0 in order, as many as result 0 has there;
// result 1 = their original positions.
void lower_ordered(loop::KernelBuilder& k, int64_t dim, Order order);

}  // namespace cleave
