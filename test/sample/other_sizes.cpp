#include "test/sample/other_sizes.h"

namespace cleave::random {
namespace {

Array with_shape(const Array& a, const std::vector<int64_t>& shape) {
  Array out(a.dtype, shape);
  for (int64_t i = 0; i < out.numel(); ++i)
    if (is_floating(a.dtype))
      out.f[static_cast<size_t>(i)] = a.numel() > 0 ? a.f[static_cast<size_t>(i % a.numel())] : 0.5;
    else
      out.i[static_cast<size_t>(i)] = a.numel() > 0 ? a.i[static_cast<size_t>(i % a.numel())] : 0;
  return out;
}

}  // namespace

Result<RandomGraph> at_size(const RandomGraph& r, int64_t value) {
  SymbolValues symbols = r.symbols;
  for (auto& [name, size] : symbols) size = value;
  RandomGraph out;
  CLEAVE_TRY(out.g, specialize(r.g, symbols));
  for (size_t k = 0; k < r.inputs.size(); ++k) {
    const Placeholder& p = out.g.placeholders()[k];
    if (p.role == Role::symint) {
      out.inputs.emplace_back(DType::i64, std::vector<int64_t>());
      out.inputs.back().set(0, value);
    } else {
      out.inputs.push_back(with_shape(r.inputs[k], static_shape(out.g.type(p.value))));
    }
  }
  return out;
}

}  // namespace cleave::random
