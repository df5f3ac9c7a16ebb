#include "loop/reshape_layout.h"

namespace cleave::loop {

std::vector<Run> merged_runs(const std::vector<Run>& runs) {
  std::vector<Run> out;
  for (const Run& r : runs) {
    if (r.size == 1) continue;
    if (!out.empty() && out.back().stride == r.stride * r.size)
      out.back() = {out.back().size * r.size, r.stride};
    else
      out.push_back(r);
  }
  return out;
}

// Splits each run, from the right, into dims of the new shape.
std::optional<Layout> layout_of_runs(const std::vector<Run>& runs,
                                     const std::vector<int64_t>& shape, int64_t offset) {
  const std::vector<Run> merged = merged_runs(runs);
  Layout out{shape, std::vector<int64_t>(shape.size()), offset};
  size_t next = merged.size();
  int64_t left = 1, stride = 1;  // the part of the current run not used yet
  for (size_t d = shape.size(); d-- > 0;) {
    if (left == 1 && shape[d] != 1 && next > 0) {
      left = merged[--next].size;
      stride = merged[next].stride;
    }
    if (left % shape[d] != 0) return std::nullopt;
    out.strides[d] = stride;
    stride *= shape[d];
    left /= shape[d];
  }
  return out;
}

std::optional<Layout> reshaped(const Layout& in, const std::vector<int64_t>& shape) {
  if (in.numel() == 0) {
    Layout out = Layout::contiguous(shape);
    out.offset = in.offset;
    return out;
  }
  std::vector<Run> runs;
  for (size_t d = 0; d < in.shape.size(); ++d) runs.push_back({in.shape[d], in.strides[d]});
  return layout_of_runs(runs, shape, in.offset);
}

}  // namespace cleave::loop
