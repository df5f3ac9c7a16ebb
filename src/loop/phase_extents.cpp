#include "loop/phase_extents.h"

namespace cleave::loop {

std::vector<int64_t> phase_extents(const Kernel& kernel) {
  std::vector<int64_t> out;
  bool in_serial = false;
  for (const Stmt& s : kernel.body) {
    auto* loop = std::get_if<For>(&s.node);
    const bool parallel = loop && loop->kind == ForKind::parallel;
    const int64_t* extent = parallel ? loop->loop.extent.as_const_int() : nullptr;
    if (parallel || !in_serial) out.push_back(extent ? *extent : 1);
    in_serial = !parallel;
  }
  return out;
}

}  // namespace cleave::loop
