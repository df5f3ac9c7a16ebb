// A sample of an operator's entry with other sizes: entries' samples are small, and don't find
// errors at sizes around the compiler's constants.
#pragma once
#include <random>

#include "ir/op_def.h"

namespace cleave::random {

// Sizes that the sample's operands and attributes agree on stay agreed: each different one becomes
// another, of at most `elements` elements an operand. The entry may refuse the call. Ranges of
// indices follow the size that bounds them.
Sample resized(const OpDef& op, const Sample& sample, std::mt19937_64& rng, int64_t elements);

}  // namespace cleave::random
