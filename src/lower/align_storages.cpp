#include "lower/align_storages.h"

#include "base/device_alignment.h"

namespace cleave {

void align_storages(LoweredProgram& program) {
  for (Storage& s : program.storages)
    if (s.placeholder < 0) s.bytes = rounded_for_device(s.bytes);
}

}  // namespace cleave
