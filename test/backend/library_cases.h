// Library calls of random sizes, layouts and options, with operands: what a backend computes of
// them is compared with what the CPU's library does.
#pragma once
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "cleave/dtype.h"
#include "library/spec.h"

namespace cleave::test {

using Random = std::mt19937;

// Memory of one operand: all of its bytes, gaps too. The call's pointer is at `offset`.
struct CaseOperand {
  DType dtype = DType::f32;
  std::vector<std::byte> bytes;
  int64_t offset = 0;  // bytes
  bool is_there = false, is_written = false;
};

struct LibraryCase {
  LibrarySpec spec;
  std::array<CaseOperand, max_library_operands> operands;
  double tolerance = 0;  // of the largest number that is expected, at least 1
  std::string text;      // for messages
};

LibraryCase gemm_case(Random& random);
// Of halves whose lines begin at multiples of 16 bytes, while their sizes are any.
LibraryCase odd_gemm_case(Random& random);
LibraryCase attention_case(Random& random);
// With operands that a forward on the CPU gave.
LibraryCase attention_gradient_case(Random& random);
LibraryCase convolution_case(Random& random);
// Of one channel a group, channels last, as kernels of our own take it, most of them aligned.
LibraryCase depthwise_case(Random& random);
LibraryCase sort_case(Random& random);

// All of its elements are the value.
void fill(CaseOperand& x, DType dtype, double value);
bool is_finite(const CaseOperand& x, DType dtype);

// The operands after the CPU's library has run.
std::array<CaseOperand, max_library_operands> expected(const LibraryCase& c);

// The difference of what is written from what is expected that is larger than the tolerance, as
// text; "" if there is none. Gaps must be untouched.
std::string difference(const LibraryCase& c,
                       const std::array<CaseOperand, max_library_operands>& got,
                       const std::array<CaseOperand, max_library_operands>& want);

}  // namespace cleave::test
