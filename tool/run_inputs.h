// The inputs of `cleave run`: from a file, random, or defaults.
#pragma once
#include <map>
#include <string>

#include "ir/array.h"
#include "ir/graph.h"

namespace cleave::tool {

struct InputOptions {
  bool random = false;  // make inputs that aren't given
  int64_t seed = 0;
};

// One array for each placeholder of a static graph, in order. Missing tangents (named tangent.K)
// are `cotangent.K` of the file, or ones; a missing rng state is (seed, 0). Errors (user) name the
// placeholder: it is missing, has another dtype or shape, or has different values for elements at
// the same address (overlapping strides); and names in the file of no placeholder.
Result<Arrays> complete_inputs(const Graph& g, const std::map<std::string, Array>& given,
                               const InputOptions& options);

// Those arrays under their placeholders' names, for write_tensors.
std::map<std::string, Array> named_inputs(const Graph& g, const Arrays& inputs);

}  // namespace cleave::tool
