#include "loop/library_rule.h"

namespace cleave::loop {

Layout LibraryElement::part(Layout whole) const {
  const int64_t stride = whole.strides.empty() ? 0 : whole.strides[0];
  return {{}, {}, whole.offset + index * stride};
}

bool is_without_gaps(const Layout& layout) {
  Layout from_start = layout;
  from_start.offset = 0;
  return from_start.is_contiguous();
}

int64_t stride_from_last(const Layout& layout, size_t from_last) {
  if (from_last > layout.shape.size()) return 0;
  const size_t d = layout.shape.size() - from_last;
  return layout.shape[d] == 1 ? 0 : layout.strides[d];
}

}  // namespace cleave::loop
