#include "op/sample_sets.h"

namespace cleave {

SampleTensor any_of(DType t, std::vector<int64_t> shape) {
  if (t == DType::boolean) return boolean(std::move(shape));
  const SampleTensor s = sample(t, std::move(shape));
  return t == DType::u8 ? s.range(0, 10) : is_integer(t) ? s.range(-9, 10) : s;
}

SampleTensor on_cuda(SampleTensor t) {
  t.type.device = {DeviceKind::cuda, 0};
  return t;
}

std::vector<Sample> over_dtypes(std::initializer_list<DType> dtypes,
                                const std::vector<int64_t>& shape, const SampleAttrs& attrs) {
  std::vector<Sample> out;
  for (DType t : dtypes) out.push_back({{any_of(t, shape)}, attrs});
  return out;
}

std::vector<Sample> joined(std::initializer_list<std::vector<Sample>> sets) {
  std::vector<Sample> out;
  for (const auto& set : sets) out.insert(out.end(), set.begin(), set.end());
  return out;
}

}  // namespace cleave
