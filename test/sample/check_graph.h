// Compares a compiled random graph with the oracle.
//
// Elements that agree to about the precision of their type are right. For the others, the effect of
// rounding is measured (interp/moved_oracle.h).
#pragma once
#include "interp/moved_oracle.h"
#include "test/sample/random_graph.h"
#include "test/sample/run_choice.h"

namespace cleave::random {

// Its difference is that of the oracle, or of a failure that the oracle hasn't.
using Verdict = Agreement;

// Bug and compile failures count as differences, Unsupported is an error.
// CompilerChoice::none: the cheap pipeline, which interprets kernels.
Result<Verdict> check_graph(const RandomGraph& r, const OpRegistry& ops,
                            CompilerChoice compiler = CompilerChoice::automatic);
Result<Verdict> check_graph(const RandomGraph& r, const OpRegistry& ops, const RunChoice& choice);

// The oracle's returns, and the allowed difference of each element: 0 for integers, inf if rounding
// decides the element.
struct Expectation {
  Arrays want, allowed;
};
Result<Expectation> expectation_of(const RandomGraph& r, Narrowing narrowing = Narrowing::kept);

// Where the oracle's results for `symbolic`, a version of `r` with symbolic sizes, differ from
// those for `r`; empty: nowhere.
Result<std::string> symbolic_difference(const RandomGraph& symbolic, const RandomGraph& r);

}  // namespace cleave::random
