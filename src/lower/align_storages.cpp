#include "lower/align_storages.h"

namespace cleave {

void align_storages(LoweredProgram& program) {
  for (Storage& s : program.storages)
    if (s.placeholder < 0)
      s.bytes = (s.bytes + device_alignment - 1) / device_alignment * device_alignment;
}

}  // namespace cleave
