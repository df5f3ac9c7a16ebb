// Saves a graph for which a fuzzer found an error, for `cleave run FOLDER/wrong_SEED.clv --in
// FOLDER/wrong_SEED.safetensors`.
#pragma once
#include "test/sample/random_graph.h"

namespace cleave::random {

// Makes the folder if there is none.
void save_graph(const RandomGraph& r, const std::string& folder, uint64_t seed);

}  // namespace cleave::random
