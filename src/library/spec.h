// What a library call computes, for any library: a value that an operator makes, that a lowered
// program holds, and that the runtime makes a function of (runtime/library.h).
//
// A kind of call is a type with
//
//   sizes, strides in elements, factors   but no memory; equal specs share a function
//   kind                                  its name in reports
//   flops()                               a multiply-add counts as two
#pragma once
#include <variant>

#include "library/attention_spec.h"
#include "library/convolution_spec.h"
#include "library/gemm_spec.h"
#include "library/grouped_product_spec.h"
#include "library/sort_spec.h"

namespace cleave {

using LibrarySpec = std::variant<GemmSpec, AttentionSpec, AttentionBackwardSpec, ConvolutionSpec,
                                 SortSpec, GroupedProductSpec>;

enum class LibraryAccess {
  sizes,  // only its shape matters; isn't read
  read,
  write
};

// The most pointers of a call: operands and results.
constexpr size_t max_library_operands = 13;
static_assert(GemmOperand::c < max_library_operands);
static_assert(AttentionOperand::dmask < max_library_operands);
static_assert(ConvolutionOperand::out < max_library_operands);
static_assert(SortOperand::indices < max_library_operands);
static_assert(GroupedProductOperand::c < max_library_operands);

inline const char* kind_of(const LibrarySpec& spec) {
  return std::visit([](const auto& s) { return s.kind; }, spec);
}
inline int64_t flops_of(const LibrarySpec& spec) {
  return std::visit([](const auto& s) { return s.flops(); }, spec);
}

}  // namespace cleave
