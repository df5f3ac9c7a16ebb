// Families of sample calls.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "ir/sample.h"

namespace cleave {

inline constexpr std::initializer_list<DType> floating_dtypes = {DType::f64, DType::f32,
                                                                 DType::bf16, DType::f16};
inline constexpr std::initializer_list<DType> all_dtypes = {
    DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64,
    DType::i32, DType::i16, DType::i8,   DType::u8,  DType::boolean};

using SampleAttrs = std::vector<std::pair<std::string, AttrValue>>;

// A tensor whose value range suits its dtype.
SampleTensor any_of(DType t, std::vector<int64_t> shape);
SampleTensor on_cuda(SampleTensor t);

// The same call for each dtype of its one operand.
std::vector<Sample> over_dtypes(std::initializer_list<DType> dtypes,
                                const std::vector<int64_t>& shape, const SampleAttrs& attrs = {});
std::vector<Sample> joined(std::initializer_list<std::vector<Sample>> sets);

}  // namespace cleave
