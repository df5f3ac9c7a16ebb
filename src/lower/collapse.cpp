#include "lower/collapse.h"

#include <algorithm>

namespace cleave {

void collapse(StridedDims& dims) {
  StridedDims out;
  out.strides.resize(dims.strides.size());
  for (size_t d = 0; d < dims.shape.size(); ++d) {
    const int64_t n = dims.shape[d];
    if (n == 1) continue;
    bool merges = !out.shape.empty();
    for (size_t k = 0; merges && k < dims.strides.size(); ++k)
      merges = out.strides[k].back() == dims.strides[k][d] * n;
    if (merges) {
      out.shape.back() *= n;
      for (size_t k = 0; k < dims.strides.size(); ++k) out.strides[k].back() = dims.strides[k][d];
    } else {
      out.shape.push_back(n);
      for (size_t k = 0; k < dims.strides.size(); ++k) out.strides[k].push_back(dims.strides[k][d]);
    }
  }
  dims = std::move(out);
}

}  // namespace cleave
