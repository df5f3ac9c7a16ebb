#include "import/exported/types.h"

#include "import/exported/expression.h"

namespace cleave::exported {

Result<Type> type_of(const TensorMeta& meta) {
  if (!meta.foreign_dtype.empty()) return unsupported("the dtype {}", meta.foreign_dtype);
  if (!meta.is_strided) return unsupported("a tensor with a sparse layout");
  Shape shape;
  for (const SymValue& v : meta.sizes) {
    CLEAVE_TRY(Dim d, dim_of(v));
    shape.push_back(std::move(d));
  }
  if (meta.is_complex) shape.emplace_back(2);
  Type t(meta.dtype, std::move(shape));
  CLEAVE_CHECK(check_type_limits(t));
  return t;
}

}  // namespace cleave::exported
