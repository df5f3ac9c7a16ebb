#include "compile/stage_text.h"

#include "ir/text.h"

namespace cleave {
namespace {

StageFiles files_of(const std::vector<loop::Kernel>& kernels) {
  std::string text;
  for (const loop::Kernel& k : kernels) text += loop::print(k) + "\n";
  return {{"loops", std::move(text)}};
}

}  // namespace

StageFiles files_of(const Graph& graph) { return {{"clv", print(graph)}}; }

StageFiles files_of(const LoweredProgram& program) { return files_of(program.kernels); }

StageFiles files_of(const ScheduledProgram& program) {
  const std::vector<loop::Kernel>& functions = program.functions.kernels;
  return files_of(functions.empty() ? program.lowered.kernels : functions);
}

StageFiles files_of(const EmittedCode& code) {
  StageFiles out;
  for (size_t i = 0; i < code.units.size(); ++i)
    out.push_back({fmt::format("unit_{}.{}", i, code.units[i].language), code.units[i].text});
  return out;
}

}  // namespace cleave
