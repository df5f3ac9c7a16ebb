#include "run/last_read.h"

#include <algorithm>

#include "run/thunk_storages.h"

namespace cleave {

std::vector<LastRead> last_reads(const ThunkProgram& program) {
  std::vector<size_t> ends(program.storages.size());
  for (size_t i = 0; i < program.thunks.size(); ++i)
    for (const size_t s : storages_of(program.thunks[i])) ends[s] = i + 1;
  std::vector<ThunkLoop> loops = loops_of(program);
  std::ranges::sort(loops, {}, &ThunkLoop::end);  // inner ones end before outer ones
  std::vector<LastRead> out;
  for (size_t s = 0; s < ends.size(); ++s) {
    const int placeholder = program.storages[s].placeholder;
    if (placeholder < 0 || std::ranges::find(program.returns, s) != program.returns.end()) continue;
    for (const ThunkLoop& loop : loops)
      if (ends[s] > loop.begin && ends[s] <= loop.end) ends[s] = loop.end + 1;
    out.push_back({ends[s], static_cast<size_t>(placeholder)});
  }
  std::ranges::stable_sort(out, {}, &LastRead::end);
  return out;
}

}  // namespace cleave
