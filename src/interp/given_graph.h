// A graph with the inputs that it is run on.
#pragma once
#include <map>
#include <string>

#include "ir/array.h"
#include "ir/graph.h"
#include "ir/specialize.h"

namespace cleave {

struct GivenGraph {
  Graph g{"main"};
  Arrays inputs;              // one for each placeholder; none where they aren't known
  SymbolValues symbols = {};  // of symbolic sizes
};

inline bool has_inputs(const GivenGraph& given) {
  return given.inputs.size() == given.g.placeholders().size();
}

// The values of calls by name, as the oracle computes them and memory would hold them: those of
// calls that its rules refuse, and of what reads these, are missing. `given` has inputs.
std::map<std::string, Array> values_of(const GivenGraph& given);

}  // namespace cleave
