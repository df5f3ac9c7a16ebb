// Activation functions under transformers' names.
#pragma once
#include <string>

#include "base/result.h"
#include "cleave/function.h"

namespace cleave::pretrained {

using Activation = Tensor (*)(const Tensor& x, Location at);

// Error (unsupported): another name. `field` names where it stands.
Result<Activation> activation_named(const std::string& name, const std::string& field);

}  // namespace cleave::pretrained
