#include "lower/save_memory.h"

#include "lower/reuse_dead.h"
#include "lower/run_early.h"

namespace cleave {

void save_memory(LoweredProgram& program) {
  run_early(program);
  reuse_dead(program);
}

}  // namespace cleave
