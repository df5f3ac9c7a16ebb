// Compilers of graphs: functions from a graph to something that runs it.
//
//   GraphCompiler mine = [](const TracedGraph& graph, const HostTensors& examples) {
//     std::cout << graph.text();
//     return native()(graph, examples);
//   };
//   AotFunction f = aot_function(model, specs, {.forward = mine, .backward = native()});
//
// A callable takes one tensor for each input of the graph, in order, a symint as an i64 of 0 dims,
// and returns one for each entry of `return`: what the graph would write to an input (an update) is
// a result like the others. It is boxed: it empties the list that it is given, and frees a tensor
// that owns its memory behind its last reader. Tensors that borrow their memory, from
// HostTensor::borrow, are never written and never kept.
#pragma once
#include <functional>
#include <string>

#include "cleave/options.h"
#include "cleave/traced_graph.h"

namespace cleave {

using GraphCallable = std::function<HostTensors(HostTensors&& inputs)>;
// `examples` are inputs as the callable will be given: the first ones. They are only read. What it
// throws is thrown where the callable is asked for.
using GraphCompiler =
    std::function<GraphCallable(const TracedGraph& graph, const HostTensors& examples)>;

// Compiled by cleave for the sizes of the inputs that come, each once (CompileOptions::kept_sizes).
// Callables may run on several threads; each one alone runs once at a time, others wait. Errors
// (user): another number of inputs, dtypes, sizes or strides than the graph's; those of
// compilation.
CLEAVE_API GraphCompiler native(CompileOptions options = {});

// Runs the graph call by call in float64 (the oracle), and rounds results to their types: slow, and
// nothing in common with compiled code. Source: nop, torch/_functorch/compilers.py.
CLEAVE_API GraphCompiler nop();

// Prints the graph's text to stdout, and runs it as `then` does. Error (user), here and below: it
// is given an empty compiler. Source: print_compile.
CLEAVE_API GraphCompiler print_compile(GraphCompiler then = nop());

// Prints the graph's text, and draws it: to PATH.svg, beyond 200 calls to PATH.dot, in Graphviz's
// language. `clear_meta` leaves types and source lines out. Error (user): the file can't be
// written. Source: draw_graph_compile.
CLEAVE_API GraphCompiler draw_compile(const std::string& path, bool clear_meta = false,
                                      GraphCompiler then = nop());

// What TorchScript is for PyTorch's users: native, after the graph was put into one form. A
// `_to_copy` that changes nothing is gone, one that changes the dtype says nothing else, updates
// are results; the graph is verified, what depends on no input is computed once, and the program
// has run once on the examples when this returns. Source: ts_compile.
CLEAVE_API GraphCompiler script(CompileOptions options = {});
// Only that: what depends on no input is computed once. Source: simple_ts_compile.
CLEAVE_API GraphCompiler simple_script(CompileOptions options = {});

// Holds each call of the graph against the oracle, one after the other, for the operands that the
// calls before it gave. `calls` runs each by itself, as a graph of one call; the results are its
// own. Error (bug) of a run, at the first call that differs: `output 1 of %y where {s0: 8}: f64[8],
// expected f32[8]`, with the call's line. Checked are how many results there are, their dtypes,
// sizes, strides (dims of size 1 and tensors without elements aside) and values: integers,
// booleans and NaNs exactly, floating numbers as far as rounding explains.
// Source: DebugInterpreter, torch/_functorch/compilers.py.
CLEAVE_API GraphCompiler debug_nop(GraphCompiler calls = native());

}  // namespace cleave
