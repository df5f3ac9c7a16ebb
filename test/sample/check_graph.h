// Compares a compiled random graph with the oracle.
//
// Elements that agree to about the precision of their type are right. For the others, the effect of
// rounding is measured: the oracle runs again a few times with each floating result perturbed by
// about one rounding of its type. A compiled element may differ from the oracle by a small multiple
// of the largest such change. An integer or boolean element that changes (a comparison of nearly
// equal numbers) isn't compared.
#pragma once
#include "test/sample/random_graph.h"
#include "test/sample/run_choice.h"

namespace cleave::random {

struct Verdict {
  std::string difference;  // empty: equal to the oracle
  int64_t elements = 0;    // compared
  int64_t left_open = 0;   // elements that rounding decides
};

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
// Whether the rounding to bf16 or f16 may be missing before a conversion to a wider type: passes
// that change the rounding drop such pairs of conversions.
enum class Narrowing : uint8_t { kept, may_be_dropped };
Result<Expectation> expectation_of(const RandomGraph& r, Narrowing narrowing = Narrowing::kept);

// Where the oracle's results for `symbolic`, a version of `r` with symbolic sizes, differ from
// those for `r`; empty: nowhere.
Result<std::string> symbolic_difference(const RandomGraph& symbolic, const RandomGraph& r);

}  // namespace cleave::random
