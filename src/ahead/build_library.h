// From a source to step.so, step.h and step.json.
//
//   source ► add_programs (write_program, pack_program) ► compile_units ─┐
//   values ► weights ────────────────────────────────────────────────────┴► link_library
#pragma once
#include "ahead/source.h"
#include "cleave/build.h"

namespace cleave::ahead {

// The files are written when all of them are made. Errors: user for values that are missing, names
// and paths; unsupported for what isn't covered and for what this machine lacks; those of stages.
Result<BuiltLibrary> build_library(const Source& source, const std::string& path,
                                   const BuildOptions& options);

}  // namespace cleave::ahead
