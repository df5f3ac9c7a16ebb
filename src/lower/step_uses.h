// What the steps of a lowered program touch.
#pragma once
#include <functional>

#include "lower/program.h"

namespace cleave {

struct StorageUse {
  size_t storage = 0;
  bool is_written = false;
};
// Every storage that a step reads or writes, some several times.
std::vector<StorageUse> uses_of(const LoweredProgram& program, const Step& step);
std::vector<size_t> storages_of(const Step& step);
bool writes(const LoweredProgram& program, const Step& step, size_t storage);
// Puts other storages in the place of those that the step touches.
void rename_storages(Step& step, const std::function<size_t(size_t)>& renamed);
// Whether the step's result may lie where `storage` does, which the step may also read.
bool can_write_over(const Step& step, size_t result, size_t storage);
// A copy of a storage over itself.
bool copies_to_itself(const Step& step);
// Leaves steps out; jumps to one of them go to the next that stays.
void drop_steps(LoweredProgram& program, const std::vector<bool>& dropped);

struct StepLoop {
  size_t begin, end;  // the first step, the jump back
};
std::vector<StepLoop> loops_of(const LoweredProgram& program);
bool has_jumps(const LoweredProgram& program);

}  // namespace cleave
