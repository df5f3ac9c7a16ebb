// Families of sample calls.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "ir/op_def.h"

namespace cleave {

inline constexpr std::initializer_list<DType> floating_dtypes = {DType::f64, DType::f32,
                                                                 DType::bf16, DType::f16};
inline constexpr std::initializer_list<DType> all_dtypes = {
    DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64,
    DType::i32, DType::i16, DType::i8,   DType::u8,  DType::boolean};

using SampleAttrs = std::vector<std::pair<std::string, AttrValue>>;

// A tensor whose value range suits its dtype.
inline SampleTensor any_of(DType t, std::vector<int64_t> shape) {
  if (t == DType::boolean) return boolean(std::move(shape));
  const SampleTensor s = sample(t, std::move(shape));
  return t == DType::u8 ? s.range(0, 10) : is_integer(t) ? s.range(-9, 10) : s;
}

inline SampleTensor on_cuda(SampleTensor t) {
  t.type.device = {DeviceKind::cuda, 0};
  return t;
}

// The same call for each dtype of its one operand.
inline std::vector<Sample> over_dtypes(std::initializer_list<DType> dtypes,
                                       const std::vector<int64_t>& shape,
                                       const SampleAttrs& attrs = {}) {
  std::vector<Sample> out;
  for (DType t : dtypes) out.push_back({{any_of(t, shape)}, attrs});
  return out;
}

inline std::vector<Sample> joined(std::initializer_list<std::vector<Sample>> sets) {
  std::vector<Sample> out;
  for (const auto& set : sets) out.insert(out.end(), set.begin(), set.end());
  return out;
}

}  // namespace cleave
