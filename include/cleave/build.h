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
// Files are the same bytes whenever, wherever and by whomever they are built, by one build of
// cleave and one system's compiler, which links them.
#pragma once
#include <optional>
#include <string>

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
// name that C doesn't have, a Variable that is gone; unsupported, with what to install, where the
// system's compiler or libcleave_rt.a is missing, and for programs whose sizes vary and with
// TrainOptions::accumulate. Not while the program runs.
CLEAVE_API BuiltLibrary build(const CompiledFunction& program, const std::string& path,
                              const BuildOptions& options = {});
CLEAVE_API BuiltLibrary build(const TrainStep& step, const std::string& path,
                              const BuildOptions& options = {});

}  // namespace cleave
