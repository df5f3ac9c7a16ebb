#include "schedule/expr_extent.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

ExprExtents::Extent ExprExtents::of(const Expr& e) {
  constexpr size_t most = 1 << 16;
  if (const auto it = extents_.find(&*e); it != extents_.end()) return it->second;
  Extent all{1, e->op == Op::load};
  for (const Expr& a : e->args) {
    const Extent part = of(a);
    all = {std::min(all.operations + part.operations, most), all.reads_memory || part.reads_memory};
  }
  kept_alive_.push_back(e);
  return extents_[&*e] = all;
}

}  // namespace cleave
