// A failing graph with smaller sizes: one number becomes another wherever it is a size of an input,
// or in one place alone.
//
//   %x: input f32[64,32]                 %x: input f32[8,32]
//   %y = view(%x; size=[4,16,32])        %y = view(%x; size=[4,2,32])      64 to 8, multiples too
//   %z = expand(%v; size=[64])           %z = expand(%v; size=[8])
//
// Types are inferred anew (ir/rebuild.h); where a rule refuses a size, there is no such graph.
// Values are the leading ones; integers that are indices of the larger size are taken modulo the
// smaller.
#pragma once
#include <optional>

#include "interp/given_graph.h"

namespace cleave {

// Which sizes change along with those of the inputs.
enum class AlongWith : uint8_t {
  nothing,    // attributes stay
  equal,      // equal numbers in attributes that hold sizes
  multiples,  // multiples of it, in inputs and attributes
};

// The sizes above 1 of the inputs of a graph, each once, largest first.
std::vector<int64_t> sizes_of_inputs(const Graph& g);
// Sizes `from` of the inputs as `to`; none if a rule refuses it.
std::optional<GivenGraph> with_size(const GivenGraph& given, int64_t from, int64_t to,
                                    AlongWith with);

// Dim `dim` of placeholder `k`, a number, as `to`, and nothing else.
std::optional<GivenGraph> with_dim(const GivenGraph& given, size_t k, size_t dim, int64_t to);

}  // namespace cleave
