// The stages from a graph as it is to run to code: kernels, their text, memory, functions.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compile/stages.h"
#include "schedule/share_kernels.h"

namespace cleave {

struct CodeWork {
  const Graph& graph;
  const CompileOptions& options;
  BuiltProgram program = {};
  schedule::SharedKernels shared = {};    // none for bytecode
  std::vector<emit::CKernel> texts = {};  // for each kernel; of those that share one the first's
  std::vector<std::string> units = {};    // those of kernels first
  std::vector<size_t> unit_of = {};       // for each kernel
  size_t kernel_units = 0;
  std::shared_ptr<runtime::Compiler> compiler = nullptr;
};

struct CodeStage {
  Stage stage;
  Status (*run)(CodeWork&);
};
// In the order of Stage.
const std::vector<CodeStage>& code_stages();

}  // namespace cleave
