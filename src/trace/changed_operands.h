// Operands that an operator of the host program changes, in ATen's notation:
//
//   (Tensor(a!) state, Tensor x) -> Tensor y
//
// In graphs the operator changes nothing: what such an operand becomes is a result behind the
// others, which has its name and type.
//
//   (Tensor state, Tensor x) -> (Tensor y, Tensor state)
#pragma once
#include <string>

#include "base/result.h"

namespace cleave::trace {

struct FunctionalSignature {
  std::string declared;    // without the marks
  std::string functional;  // the same if nothing is marked
};

// Error (user): a mark that isn't (letters!), stands at a result, or is optional.
Result<FunctionalSignature> functional_signature(const std::string& signature);

}  // namespace cleave::trace
