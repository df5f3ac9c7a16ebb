#include "schedule/access_log.h"

#include <algorithm>

namespace cleave {

std::vector<GroupCode::InPlace> AccessLog::in_place(const loop::Kernel& kernel) const {
  struct Accesses {
    bool any = false, of_element = true;
    int64_t shift = 0;
    size_t first = ~size_t{0}, last = 0;  // passes over the row
  };
  const auto by_buffer = [&](const std::vector<Access>& list) {
    std::vector<Accesses> out(kernel.buffers.size());
    for (const Access& x : list) {
      Accesses& a = out[static_cast<size_t>(x.buffer)];
      a.of_element &= x.shift.has_value() && (!a.any || *x.shift == a.shift);
      a.any = true, a.shift = x.shift.value_or(0);
      a.first = std::min(a.first, x.pass), a.last = std::max(a.last, x.pass);
    }
    return out;
  };
  const auto size = [&](size_t b) { return size_of(kernel.buffers[b].dtype); };
  const std::vector<Accesses> read = by_buffer(reads_), written = by_buffer(writes_);
  std::vector<GroupCode::InPlace> out;
  for (size_t r = 0; r < read.size(); ++r) {
    if (!read[r].any || !read[r].of_element || written[r].any) continue;
    if (kernel.buffers[r].access == loop::Access::local) continue;  // has no storage
    for (size_t w = 0; w < written.size(); ++w)
      if (written[w].any && written[w].of_element && size(r) == size(w) &&
          read[r].shift == written[w].shift && read[r].last <= written[w].first)
        out.push_back({static_cast<int64_t>(r), static_cast<int64_t>(w)});
  }
  return out;
}

}  // namespace cleave
