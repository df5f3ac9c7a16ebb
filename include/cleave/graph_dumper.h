// Graphs and inputs of a function as files, to be read, sent, run and compiled elsewhere.
//
//   AotFunction f = aot_function(model, specs, graph_dumper("net", "dumped"));
//   f.forward({x});          // dumped/net/net_joint_0/net_joint_0.clv, .input
//   f.backward({dy});        //       .../net_forward_0/..., .../net_backward_0/...
//
//   cleave run dumped/net/net_forward_0/net_forward_0.clv --random
//   HostTensors in = get_inputs("dumped/net/net_forward_0/net_forward_0.input");
//
// Source: graph_dumper_aot and get_inputs, torch/_functorch/compilers.py.
#pragma once
#include <string>

#include "cleave/aot.h"

namespace cleave {

// Options by which a function writes each of its graphs and goes on running: the halves by cleave,
// cut as the default partition does, after Decompositions::defaults(). In
// `folder/name/name_KIND_I/`, KIND being joint, forward or backward, lie name_KIND_I.clv, the types
// of its inputs as name_KIND_I.input, and, with `examples`, the inputs that it first ran with as
// name_KIND_I.safetensors, under their names. I counts from 0 and grows behind each backward, or
// behind a forward that has none. A graph without calls is a warning, and isn't written.
//
// An .input file is JSON: one object for each input, in order, {"kind": "tensor", "shape": [2, 3],
// "stride": [3, 1], "dtype": "f32", "device": "cpu"} or, for a symint, {"kind": "int"}; of a joint
// graph two lists of them, the tangents being the second. Errors (user): a folder that can't be
// made or written; they are thrown where the graph would run.
CLEAVE_API AotOptions graph_dumper(const std::string& name, const std::string& folder,
                                   bool examples = false);

// Inputs as an .input file describes them, tangents last: floating numbers in [0, 1), integers and
// booleans 0, strides as they are written. {"kind": "float"} and {"kind": "bool"} are tensors of 0
// dims of f64 and bool. Errors (user): a file that isn't there or isn't such a one, with the place.
CLEAVE_API HostTensors get_inputs(const std::string& path, uint64_t seed = 0);

// A compiler that leaves a folder behind by which a run can be repeated: graph.clv,
// inputs.safetensors (the examples), options.txt and a line `cleave run ...`, which it prints, in
// repeat.txt, as CompileOptions::repro does of a defect. Runs as script() does. Source:
// debug_compile.
CLEAVE_API GraphCompiler debug_compile(const std::string& folder);

}  // namespace cleave
