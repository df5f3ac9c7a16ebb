#include "plan/offsets_core.h"

#include <algorithm>

#include "plan/offsets_search.h"

namespace cleave::plan {
namespace {

struct Window {
  int32_t begin, end;
};

// Grows the window to the side of the larger total.
Window find_window(const OffsetProblem& p, size_t most) {
  std::vector<size_t> begins(p.total.size() + 1), ends(p.total.size() + 1);
  for (const OffsetProblem::Buffer& b : p.buffers) {
    ++begins[static_cast<size_t>(b.first)];
    ++ends[static_cast<size_t>(b.last)];
  }
  const auto peak = std::max_element(p.total.begin(), p.total.end()) - p.total.begin();
  Window w{static_cast<int32_t>(peak), static_cast<int32_t>(peak) + 1};
  size_t count = 0;
  while (w.begin > 0 || w.end < p.sections()) {
    const bool right =
        w.begin == 0 || (w.end < p.sections() && p.total[static_cast<size_t>(w.end)] >
                                                     p.total[static_cast<size_t>(w.begin) - 1]);
    const auto border = static_cast<size_t>(right ? w.end : w.begin);
    count += begins[border] + ends[border];
    if (count > most) break;
    (right ? ++w.end : --w.begin);
  }
  return w;
}

}  // namespace

Placement place_core(const OffsetProblem& p, int64_t height, size_t most, int64_t& work) {
  const Window w = find_window(p, most);
  std::vector<Lifetime> core;
  std::vector<size_t> owner;
  int64_t capacity = height;
  for (size_t i = 0; i < p.size(); ++i) {
    const OffsetProblem::Buffer& b = p.buffers[i];
    if (b.last <= w.begin || w.end <= b.first) continue;
    if (b.first <= w.begin && w.end <= b.last) {
      capacity -= b.size;
      continue;
    }
    core.push_back({std::max(b.first, w.begin), std::min(b.last, w.end), b.size});
    owner.push_back(i);
  }
  work -= static_cast<int64_t>(4 * p.size());
  const OffsetProblem part = make_offset_problem(core, 1);
  const SearchResult r = search_placement(part, capacity / part.unit, work);
  if (r.end != SearchEnd::found) return {};
  Placement fixed(p.size(), -1);
  for (size_t k = 0; k < part.size(); ++k)
    fixed[owner[part.buffers[k].index]] = r.at[k] * part.unit;
  return fixed;
}

}  // namespace cleave::plan
