// A run of `cleave train`.
#pragma once
#include "tool/train/arguments.h"

namespace cleave::tool {

// Checks, reads, trains, validates, samples. Throws Interrupted after SIGINT or SIGTERM, when what
// is left behind is written.
Status train(TrainArguments arguments);

}  // namespace cleave::tool
