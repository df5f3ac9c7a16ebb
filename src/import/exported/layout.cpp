#include "import/exported/layout.h"

#include <algorithm>

#include "import/exported/expression.h"

namespace cleave::exported {
namespace {

bool is_same(const SymValue& a, const SymValue& b) {
  const Result<Dim> x = dim_of(a), y = dim_of(b);
  return x.ok() && y.ok() && *x == *y;
}

bool is_number(const SymValue& v) { return v.number.has_value(); }

}  // namespace

bool is_row_major(const TensorMeta& m) {
  Dim step = 1;
  if (m.strides.size() != m.sizes.size()) return false;
  for (size_t k = m.sizes.size(); k-- > 0;) {
    const Result<Dim> size = dim_of(m.sizes[k]), stride = dim_of(m.strides[k]);
    if (!size.ok() || !stride.ok()) return false;
    if (!(*size == Dim(1)) && !(*stride == step)) return false;
    step = step * *size;
  }
  return true;
}

bool has_same_layout(const TensorMeta& a, const TensorMeta& b) {
  return std::ranges::equal(a.sizes, b.sizes, is_same) &&
         std::ranges::equal(a.strides, b.strides, is_same);
}

bool is_known_layout(const TensorMeta& m) {
  return m.sizes.size() == m.strides.size() && std::ranges::all_of(m.sizes, is_number) &&
         std::ranges::all_of(m.strides, is_number);
}

}  // namespace cleave::exported
