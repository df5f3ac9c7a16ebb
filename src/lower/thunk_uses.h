// The storages that the thunks of a lowered program touch.
#pragma once
#include <functional>

#include "lower/program.h"
#include "run/thunk_storages.h"

namespace cleave {

// Calls f(storage, whether it is written) for every storage that a thunk reads or writes, for some
// several times.
template <class F>
void each_use(const LoweredProgram& program, const Thunk& thunk, const F& f) {
  const auto writes = [&](const KernelCall& call, size_t b) {
    return program.kernels[call.kernel].buffers[b].access != loop::Access::read;
  };
  each_storage(thunk, writes, f);
}
bool writes(const LoweredProgram& program, const Thunk& thunk, size_t storage);
// Replaces the storages that the thunk touches.
void rename_storages(Thunk& thunk, const std::function<size_t(size_t)>& renamed);
// Whether the thunk's result may be in `storage`, which the thunk may also read.
bool can_write_over(const Thunk& thunk, size_t result, size_t storage);
// Whether it copies a storage to itself.
bool copies_to_itself(const Thunk& thunk);
// Removes thunks; a jump to one of them goes to the next that stays.
void drop_thunks(LoweredProgram& program, const std::vector<bool>& dropped);

bool has_jumps(const LoweredProgram& program);

}  // namespace cleave
