#include "lower/save_memory.h"

#include "lower/order_thunks.h"
#include "lower/reuse_dead.h"
#include "lower/run_early.h"

namespace cleave {

Status save_memory(LoweredProgram& program) {
  run_early(program);
  CLEAVE_CHECK(order_thunks(program));
  reuse_dead(program);
  return order_thunks(program);
}

}  // namespace cleave
