// What is kept of a built program: what its runs and reports read, and how its code is found.
//
//   std::string bytes = entry.bytes();
//   CLEAVE_TRY(ProgramEntry again, ProgramEntry::parse(bytes));
//
// The lowered graph is a text whose source lines are numbers. The first lines are those of the
// graph that the key was made of, so a hit has the present program's; `lines` has the rest.
#pragma once
#include "cleave/report.h"
#include "compile/build.h"
#include "ir/text.h"

namespace cleave {

// What a program's code is made from, where it isn't compiled again.
struct KeptCode {
  std::vector<EmittedKernel> kernels;  // as in EmittedCode
  std::vector<std::string> loops;      // the text of each kernel, where they are interpreted

  static KeptCode of(const PlacedProgram& placed);
};

struct ProgramEntry {
  PlannedProgram planned;  // without kernels; nodes by their position in the graph
  std::vector<std::string> unit_keys;
  KeptCode code;
  std::vector<KernelTraffic> traffic;
  std::string graph;
  size_t known_lines = 0;
  std::vector<std::string> lines;
  std::vector<CompilePass> passes;
  int64_t recompute_ns = 0, distinct_kernels = 0;
  FrozenReport frozen_report;
  std::string frozen;  // the graph of that name, as `graph`; empty: it computes nothing

  std::string bytes() const;
  // Error (bug): these bytes aren't an entry's.
  static Result<ProgramEntry> parse(std::span<const std::byte> bytes);
};

}  // namespace cleave
