// The storages that the thunks of a lowered program touch.
#pragma once
#include <functional>

#include "lower/program.h"
#include "run/thunk_storages.h"

namespace cleave {

struct StorageUse {
  size_t storage = 0;
  bool is_written = false;
};
// Every storage that a thunk reads or writes; may repeat.
std::vector<StorageUse> uses_of(const LoweredProgram& program, const Thunk& thunk);
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
