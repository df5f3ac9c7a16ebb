// Compares one random graph whose placeholders and results have strides with the same one without.
//
//   the oracle, the compiled program and the one with a kernel for each call give the same bits for
//   both; a text read back gives the same graph; nothing is written between the elements
#pragma once
#include "runtime/compiler.h"
#include "test/sample/random_graph.h"

namespace cleave::random {

// Where that doesn't hold; empty: it does. `r` is as with_strides gives it. Unsupported and what
// the oracle refuses are errors. A program that fails in a run (rounding takes an index out of its
// range) must fail with and without strides.
Result<std::string> stride_difference(const RandomGraph& r, const OpRegistry& ops,
                                      CompilerChoice compiler = CompilerChoice::none);

}  // namespace cleave::random
