#include "lower/kernel_thunk.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

namespace {

bool has_check(const Block& b) {
  return std::ranges::any_of(b, [](const Stmt& s) {
    if (std::holds_alternative<Check>(s.node)) return true;
    if (auto* f = std::get_if<For>(&s.node)) return has_check(f->body);
    if (auto* i = std::get_if<If>(&s.node)) return has_check(i->then);
    if (auto* r = std::get_if<Reduce>(&s.node)) return has_check(r->body);
    return false;
  });
}

}  // namespace

Bound KernelThunk::bind(const LoweredProgram& program, const MemRef& at, DType dtype,
                        Access access) {
  size_t b = 0;
  while (b < call.storages.size() && call.storages[b] != at.storage) ++b;
  if (b == call.storages.size()) {
    call.storages.push_back(at.storage);
    const Storage& s = program.storages[at.storage];
    kernel.buffers.push_back({s.name, dtype, s.elements, access});
  } else if (kernel.buffers[b].access != access) {
    kernel.buffers[b].access = Access::update;
  }
  return {static_cast<int64_t>(b), dtype, at.layout};
}

bool may_fail(const Kernel& kernel) { return has_check(kernel.body); }

void add_thunk(Lowering& l, KernelThunk thunk, const std::string& name) {
  const bool fails = may_fail(thunk.kernel);
  thunk.call.kernel = l.kernels.add(std::move(thunk.kernel));
  l.program.thunks.push_back({name, std::move(thunk.call), fails});
}

}  // namespace cleave
