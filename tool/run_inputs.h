// The inputs of `cleave run`: from a file, made up, or filled in.
#pragma once
#include <map>
#include <string>

#include "ir/array.h"
#include "ir/graph.h"

namespace cleave::tool {

struct InputOptions {
  bool random = false;  // make what is not given
  int64_t seed = 0;
};

// One array for each placeholder of a static graph, in order. Missing tangents (named tangent.K)
// take `cotangent.K` of the file, or ones; a missing rng state is (seed, 0). Errors (user) name the
// placeholder: missing, another dtype or shape, elements that share a place in memory (strides that
// overlap) and differ; and names in the file that are no placeholder's.
Result<Arrays> complete_inputs(const Graph& g, const std::map<std::string, Array>& given,
                               const InputOptions& options);

}  // namespace cleave::tool
