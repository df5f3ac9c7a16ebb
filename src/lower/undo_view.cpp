#include "lower/undo_view.h"

#include <algorithm>
#include <numeric>

#include "loop/reshape_layout.h"

namespace cleave {

using namespace cleave::loop;

bool same_elements(const Layout& a, const Layout& b) {
  if (a.shape != b.shape || a.offset != b.offset) return false;
  for (size_t d = 0; d < a.shape.size(); ++d)
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

// For a row-major operand, the strides of the view give the order in which the result's dims run
// through it. In that order the result's dims are the operand's elements in row-major order.
std::optional<Layout> undo_view(const OpView& op, const ViewRule& rule, const Layout& result) {
  const std::vector<int64_t> shape = static_shape(op.in_type(0));
  if (numel_of(shape) != result.numel() || result.numel() == 0) return std::nullopt;
  const std::optional<Layout> plain = rule.layout(op, Layout::contiguous(shape), 0);
  if (!plain || plain->shape != result.shape) return std::nullopt;
  std::vector<size_t> order(result.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t d) { return result.shape[d] == 1; });
  std::ranges::stable_sort(order, std::greater(), [&](size_t d) { return plain->strides[d]; });
  std::vector<Run> runs;
  for (const size_t d : order) runs.push_back({result.shape[d], result.strides[d]});
  std::optional<Layout> in = layout_of_runs(runs, shape, result.offset);
  if (!in) return std::nullopt;
  const std::optional<Layout> again = rule.layout(op, *in, 0);
  return again && same_elements(*again, result) ? in : std::nullopt;
}

}  // namespace cleave
