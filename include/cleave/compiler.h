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

// Prints the graph's text to stdout, and runs it as `then` does. Source: print_compile.
CLEAVE_API GraphCompiler print_compile(GraphCompiler then = nop());

// What TorchScript is for PyTorch's users: native, after the graph was put into one form. Devices
// have their index, `_to_copy` of what it changes nothing is gone, one of a dtype alone has nothing
// else, updates are results; it is verified, what depends on no input is computed once, and the
// program has run once on the examples when this returns. Source: ts_compile.
CLEAVE_API GraphCompiler script(CompileOptions options = {});
// Only that: what depends on no input is computed once. Source: simple_ts_compile.
CLEAVE_API GraphCompiler simple_script(CompileOptions options = {});

// Holds each call of the graph against the oracle, one after the other.
struct DebugOptions {
  // Runs each call by itself, as a graph of one call.
  GraphCompiler calls = native();
  // Of the largest element of a result, in its dtype's roundings, beside what the roundings of the
  // operands explain.
  double roundings = 64;
};
// A callable whose results are the calls' own. Error (bug), at the first call that differs: what
// differs, `output 1 of %y where {s0: 8}: dtype f64, expected f32`. Checked are: how many results,
// dtype, sizes, strides where the type has them (dims of size 1 aside), values: those of integers
// and booleans exactly, those of floating numbers within `roundings`, NaNs where the oracle has
// them. Source: DebugInterpreter, torch/_functorch/compilers.py.
CLEAVE_API GraphCompiler debug_nop(DebugOptions options = {});

}  // namespace cleave
