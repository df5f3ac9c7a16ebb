// A random graph with every tensor on another device: rules must infer, differentiate and rewrite
// there what they do on the CPU, and nothing may run it on the CPU instead.
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

// All placeholders but symints on `device`, everything else as inferred from them. Error: that of
// the call that doesn't fit, a constructor's result for one that meets what lies on the device.
Result<RandomGraph> with_devices(const RandomGraph& r, Device device = {DeviceKind::cuda, 0});

}  // namespace cleave::random
