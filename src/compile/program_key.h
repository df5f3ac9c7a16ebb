// What a built program depends on, as a digest: programs with equal keys are equal, but for the
// lines of their sources.
//
//   the build of cleave          base/build_identity.h
//   the backend                  its target, rates and compiler: Backend::identity
//   the options                  those that decide on the program, with the caller's own rules
//   own operators                name, signature and version of those that the program may call
//   the graph                    its text, with its subgraphs; sources only by which are equal
//
// In no key: threads, the executor, folders, what is shown, data.
#pragma once
#include <string>

#include "backend/backend.h"
#include "compile/stage_options.h"
#include "ir/text.h"

namespace cleave {

struct ProgramKey {
  std::string digest;  // 64 hexadecimal digits
  std::string id;      // 8 of them, of all but the backend
  SourceLines lines;   // of the graph
  // Why the program can't be kept; empty if it can be.
  std::string refusal;
};

// Options that no key has: the program doesn't depend on them, or by what the backend's identity
// says.
std::span<const std::string_view> options_in_no_key();

ProgramKey program_key(const Graph& graph, const OpRegistry& ops, const StageOptions& options,
                       const std::string& backend_identity);

}  // namespace cleave
