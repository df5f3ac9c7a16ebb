// Reduces a graph that fails to a small one that still fails.
//
//   GivenGraph small = reduced(given, [&](const GivenGraph& g) { return !runs(g); });
//
// Of its returns, calls, inputs and sizes halves are left out, then quarters, ..., then each alone,
// until no single step leaves a graph that fails (1-minimal). The steps:
//
//   a return       goes, if it isn't the last one
//   a call         becomes an input that holds its result; or that, and its operands are returned;
//                  or what reads it reads an operand of the same type
//   an input       goes, where nothing reads it; its role and its mark for a gradient go
//   a symbol       becomes its value
//   a size         becomes 1, or half of what it is, wherever it occurs, or in one place
//
// A call goes as a whole, with its subgraphs. Names stay. What a smaller graph has to fail by is
// for `fails` to say: if it asks for the same failure, reduction doesn't slip to another one.
// Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002 (ddmin).
#pragma once
#include <functional>

#include "interp/given_graph.h"

namespace cleave {

// Whether a graph, which verify() has passed, fails. It isn't asked twice about the same one.
using Fails = std::function<bool(const GivenGraph&)>;
// Told of each graph that is smaller than the best so far, and fails.
using Smaller = std::function<void(const GivenGraph&)>;

// `given` fails; a copy that is as small as single steps make it. Without inputs only graphs are
// reduced. With them calls become inputs that hold their values (interp/given_graph.h); calls whose
// values the oracle can't compute don't. What `fails` throws passes through.
GivenGraph reduced(GivenGraph given, const Fails& fails, const Smaller& smaller = {});

}  // namespace cleave
