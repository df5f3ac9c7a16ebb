// What a defect leaves behind, so that it can be repeated elsewhere:
//
//   FOLDER/main_0/graph.clv            the graph as it was given to what failed
//   FOLDER/main_0/inputs.safetensors   what it ran on, where that is known
//   FOLDER/main_0/options.txt          CompileOptions, as text
//   FOLDER/main_0/repeat.txt           the command: cleave run FOLDER/main_0/graph.clv ...
//
// Operators, rules and passes of the host program are in no file: repeat.txt says so in a comment.
//
// Written by the stages where CompileOptions::repro names a folder, by `cleave run --compare`, and
// by debug_compile.
#pragma once
#include <functional>
#include <string>

#include "compile/stage_options.h"
#include "ir/graph.h"

namespace cleave {

struct Repro {
  std::string graph_text;
  std::string options_text = {};
  // Writes the inputs to a file; empty: they aren't known, and the command makes some.
  std::function<Status(const std::string& path)> write_inputs = {};
  bool runs = true;          // else it is only compiled: cleave compile
  std::string flags = {};    // of the command, behind the files
  std::string missing = {};  // what the files lack of the host program: "operator mine"
};

// Writes the files into the folder, which is made. The command of repeat.txt. Errors (user): those
// of the file system.
Result<std::string> write_repro(const std::string& folder, const Repro& repro);
// A new folder NAME_K in `folder`, which is made, K being the first that is free. Errors (user).
Result<std::string> new_repro_folder(const std::string& folder, const std::string& name);

// Around what compiles: keeps the graph as it is now, if a folder for defects is named.
class ReproOf {
 public:
  // `options` are those of what is ahead of the graph; `flags` of the command, besides.
  ReproOf(const Graph& graph, const StageOptions& options, const std::string& flags = "");

  // A defect is written down, and its message says where. Other failures are left as they are.
  Failure told(Failure failure) const;

 private:
  const std::string folder_, name_;
  Repro repro_;
};

}  // namespace cleave
