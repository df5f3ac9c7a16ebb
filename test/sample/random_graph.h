// Random well-typed graphs, drawn from the operators' entries: each node is a call like one of an
// entry's samples, on earlier values that are converted to the sample's type. So every operator
// with an entry takes part.
//
//   RandomGraph r = value_or_throw(random_graph(ops, 17, {}));     // 17 always gives the same
//
// About half of the calls have other sizes than their sample (sized_sample.h), around the constants
// of the compiler (draw_size.h); some are reductions in a row (reduction_chain.h). Inputs have all
// roles; the values of some are equal, tiny, denormal or large.
//
// Values that aren't finite or are large aren't used further. Values are brought into an operand's
// range by remainder (integers) and by sin (floating).
#pragma once
#include "interp/given_graph.h"
#include "test/sample/sample_call.h"

namespace cleave::random {

struct GraphOptions {
  int min_nodes = 10, max_nodes = 60;
  std::vector<std::string> without = {};  // operators that are not drawn
  bool random = true;                     // operators that read a random state are
  law::Floats floats = law::Floats::own;
  bool sized = true;           // other sizes than the samples', other values than their ranges'
  int64_t elements = 1 << 12;  // of a value with a drawn size, at most
  int64_t flops = 1 << 21;     // of such a call
};

using RandomGraph = GivenGraph;

Result<RandomGraph> random_graph(const OpRegistry& ops, uint64_t seed, const GraphOptions& options);

// Every fifth seed's graph in mixed precision, in bf16 and f16 in turns. Whether it was cast.
Result<bool> cast_some(RandomGraph& r, const OpRegistry& ops, uint64_t seed);

// The joint graph with random cotangents after the inputs, or `r` where nothing in it has a
// gradient; symbols have their values in it.
Result<RandomGraph> with_gradients(const RandomGraph& r, const OpRegistry& ops, uint64_t seed);

}  // namespace cleave::random
