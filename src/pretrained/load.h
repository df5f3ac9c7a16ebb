// A checkpoint's tensors into a model.
#pragma once
#include "cleave/weights.h"
#include "pretrained/architecture.h"

namespace cleave::pretrained {

// Errors (user): those of open_checkpoint; what doesn't fit, with every name. Nothing is copied
// then.
Result<LoadReport> load_checkpoint(const std::string& path, const nn::Module& model,
                                   const Facts& facts, const LoadOptions& options);

}  // namespace cleave::pretrained
