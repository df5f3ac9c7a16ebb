// A random graph with every tensor on another device: rules must infer, differentiate and rewrite
// there what they do on the CPU, and nothing may run it on the CPU instead.
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

// All placeholders but symints on `device`, everything else as inferred from them. Error: that of
// the call that doesn't fit, a constructor's result for one that meets what lies on the device.
Result<RandomGraph> with_devices(const RandomGraph& r, Device device = {DeviceKind::cuda, 0});

// The same, with some constructors, by the seed, on the CPU, and copies of them on the device in
// their place; some values are multiplied by a one or by ones that are made so, too. This is what
// move_constructors moves there; no bit of a result depends on it.
Result<RandomGraph> with_mixed_devices(const RandomGraph& r, uint64_t seed,
                                       Device device = {DeviceKind::cuda, 0});

}  // namespace cleave::random
