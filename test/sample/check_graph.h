// One random graph by the oracle and compiled.
//
// What agrees to the last digits of its type is right. What doesn't may differ by rounding, and
// what rounding may change is measured, not guessed: the oracle runs again a few times with each
// floating result moved by about one rounding of its type. A compiled element may then be as far
// from the oracle as a small multiple of the largest such change. Where an integer or boolean
// element changes (a comparison of nearly equal numbers), it is not compared.
#pragma once
#include "test/sample/random_graph.h"
#include "test/sample/run_choice.h"

namespace cleave::random {

struct Verdict {
  std::string difference;  // empty: as the oracle says
  int64_t elements = 0;    // compared
  int64_t left_open = 0;   // elements that rounding decides
};

// Bug and compile failures count as differences, Unsupported is an error.
// CompilerChoice::none: the cheap pipeline, which interprets kernels.
Result<Verdict> check_graph(const RandomGraph& r, const OpRegistry& ops,
                            CompilerChoice compiler = CompilerChoice::automatic);
Result<Verdict> check_graph(const RandomGraph& r, const OpRegistry& ops, const RunChoice& choice);

// The oracle's returns, and how far from them each element may be: 0 for integers, inf where
// rounding decides it.
struct Expectation {
  Arrays want, allowed;
};
// Whether a conversion of bf16 or f16 to something wider may read what was there before it was
// rounded to half: passes that round otherwise drop such pairs.
enum class Narrowing : uint8_t { kept, may_be_dropped };
Result<Expectation> expectation_of(const RandomGraph& r, Narrowing narrowing = Narrowing::kept);

// Where the oracle gives other results for `symbolic`, a form of `r` whose symbols have their
// values; empty: nowhere.
Result<std::string> symbolic_difference(const RandomGraph& symbolic, const RandomGraph& r);

}  // namespace cleave::random
