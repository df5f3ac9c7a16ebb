// Programs ahead of time: a shared library that runs without cleave.
//
//   BuiltLibrary built = build(step, "out/step.so");     // step.so, step.h, step.json
//
// The library needs libc and libm alone; its code is the program's, its products, attention,
// convolutions and threads are cleave's. A program in C, or any language that calls C, opens it
// through the header (doc/ahead_of_time.md): the inputs in the order of the specs, the function's
// results, and the state by the model's own names: parameters, buffers, optimizer.*, ema.*, rng, a
// tied weight once. The values are those that the Variables have when it is built. Runs have the
// bits of the program's own.
//
// Where sizes of inputs vary (dyn()), the library has a program for each that it holds, which is
// found by the shapes of a run's inputs; a step with TrainOptions::accumulate counts its micro
// steps in its state. Programs of one library share the functions of their kernels.
//
// Files are the same bytes whenever, wherever and by whomever they are built, by one build of
// cleave and one system's compiler, which links them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cleave/train.h"
#include "cleave/weight_place.h"

namespace cleave {

struct BuildOptions {
  // Of the functions, NAME_open and so on, an identifier of C; empty: from the file's name.
  std::string name = {};
  WeightPlace weights = WeightPlace::inside;
  // The processor; nothing: the program's own target. To open the library on one that lacks what
  // the target names is refused.
  std::optional<Target> target = {};
  // The sizes that it holds, by the name of each that varies, in all combinations: {"B", {1, 8}}.
  // One that isn't named has its whole range; then there can be at most CompileOptions::kept_sizes
  // combinations. With OtherSizes::grow a number is named by input and dim, "x.0", and is the
  // spec's if it isn't named. Errors (user): a name that no size has, a size outside its bounds.
  std::map<std::string, std::vector<int64_t>> sizes = {};
};

struct BuiltLibrary {
  std::string path, header, description;  // files
  std::string weights = {};               // a file, of WeightPlace::beside
  std::string key = {};                   // of the program: 64 hexadecimal digits
  int64_t bytes = 0;                      // of the library
  int64_t code_bytes = 0;                 // of the program's own code in it
  int64_t weight_bytes = 0;               // in it, or in the file
};

// Compiles the program again, and links it; seconds for large programs. `path` is the library's; a
// folder, with a slash behind it: KEY.so in it. Errors: user for a path that can't be written, a
// name that C doesn't have, a Variable that is gone, more sizes than a library holds that aren't
// named; those of the function, which is called for each size; unsupported, with what to install,
// where the system's compiler or libcleave_rt.a is missing, and for sizes that the shapes of inputs
// don't tell apart. Not while the program runs.
CLEAVE_API BuiltLibrary build(const CompiledFunction& program, const std::string& path,
                              const BuildOptions& options = {});
CLEAVE_API BuiltLibrary build(const TrainStep& step, const std::string& path,
                              const BuildOptions& options = {});

}  // namespace cleave
