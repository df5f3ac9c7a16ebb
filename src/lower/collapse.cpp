#include "lower/collapse.h"

#include <algorithm>

namespace cleave {

void collapse(StridedDims& dims, std::vector<int>* groups) {
  StridedDims out;
  out.strides.resize(dims.strides.size());
  std::vector<int> out_groups;
  for (size_t d = 0; d < dims.shape.size(); ++d) {
    const int64_t n = dims.shape[d];
    if (n == 1) continue;
    const int group = groups ? (*groups)[d] : 0;
    bool merges = !out.shape.empty() && out_groups.back() == group;
    for (size_t k = 0; merges && k < dims.strides.size(); ++k)
      merges = out.strides[k].back() == dims.strides[k][d] * n;
    if (merges) {
      out.shape.back() *= n;
      for (size_t k = 0; k < dims.strides.size(); ++k) out.strides[k].back() = dims.strides[k][d];
    } else {
      out.shape.push_back(n);
      out_groups.push_back(group);
      for (size_t k = 0; k < dims.strides.size(); ++k) out.strides[k].push_back(dims.strides[k][d]);
    }
  }
  dims = std::move(out);
  if (groups) *groups = std::move(out_groups);
}

}  // namespace cleave
