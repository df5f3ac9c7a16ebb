// Graphs from text as they are before lowering, and lowered call by call.
#pragma once
#include "test/random_inputs.h"

#include "lower/decompose.h"
#include "lower/lower_graph.h"

namespace cleave::test {

inline Graph decomposed(const std::string& text) {
  Graph g = parsed(text);
  value_or_throw(decompose_for_lowering(g, core()));
  return g;
}

inline LoweredProgram lowered(const std::string& text) {
  return value_or_throw(lower_graph(decomposed(text)));
}

}  // namespace cleave::test
