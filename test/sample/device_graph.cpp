#include "test/sample/device_graph.h"

#include "ir/move_graph.h"
#include "test/random_inputs.h"

namespace cleave::random {

Result<RandomGraph> with_devices(const RandomGraph& r, Device device) {
  RandomGraph out = r;
  CLEAVE_TRY(out.g, moved_to(r.g, device, test::core()));
  return out;
}

}  // namespace cleave::random
