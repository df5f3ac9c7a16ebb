// Consecutive reductions, over any dims, with views and elementwise calls between them: whether
// they fuse into one kernel depends on the sizes and dims.
#pragma once
#include <functional>
#include <random>

#include "ir/builder.h"

namespace cleave::random {

// A call that is added and computed; an invalid id where it is refused.
using Call = std::function<ValueId(const std::string& op, std::vector<CallOperand>, NamedAttrs)>;

// One to three reductions on the floating value x. The last value, or an invalid id.
ValueId reduction_chain(const Graph& g, ValueId x, std::mt19937_64& rng, const Call& call);

}  // namespace cleave::random
