// build() of public programs: what their placeholders are, from their Variables and inputs.
#include "cleave/build.h"

#include <set>

#include "ahead/build_library.h"
#include "exec/program_access.h"
#include "ir/text.h"
#include "trace/variable_state.h"
#include "train/step_trace.h"

namespace cleave {
namespace {

using ahead::Source;
using standalone::StateKind;

std::string_view role_of(VariableKind kind) {
  constexpr std::string_view names[] = {"parameter", "buffer", "const", "state", "random"};
  return names[static_cast<size_t>(kind)];
}

// All but state.
Result<Source> source_of(const SizedPrograms& programs, const ProgramCode& code) {
  if (programs.sizes().vary())
    return unsupported("build: sizes of the inputs vary; build a program of one size");
  Source out{.graph = code.traced,
             .ops = &code.options.ops.registry(),
             .options = StageOptions{code.options}};
  out.options.executor = code.executor;
  out.options.forward_results = code.forward_results;
  for (const InputSpec& spec : code.specs) out.inputs.push_back({spec.name, spec.name});
  for (size_t k = 0; k < code.results; ++k) out.outputs.push_back({k, fmt::format("out.{}", k)});
  return out;
}

void add_output(Source& source, const std::string& name, size_t result) {
  source.outputs.push_back({result, name});
}

// The Variables, by the names that they have in the program; of a frozen one those that it doesn't
// write are constants.
Status add_variables(const ProgramCode& code, Source& source) {
  std::set<std::string> known;
  if (code.folded) {
    CLEAVE_TRY(const auto frozen, code.folded->values());
    for (const auto& [name, value] : frozen) {
      known.insert(name);
      source.state.push_back({name, name, "const", StateKind::constant, value});
    }
  }
  for (const ProgramCode::PlacedVariable& v : code.variables) {
    if (!known.insert(v.name).second) continue;
    const VariableKind kind = trace::Access::state(v.variable)->kind;
    source.state.push_back({v.name, v.name, std::string(role_of(kind)),
                            kind == VariableKind::constant ? StateKind::constant : StateKind::state,
                            trace::Access::memory(v.variable)});
  }
  return {};
}

Result<BuiltLibrary> build_function(const CompiledFunction& program, const std::string& path,
                                    const BuildOptions& options) {
  const SizedPrograms& programs = ProgramAccess::programs(program);
  const ProgramCode& code = programs.last().code();
  CLEAVE_TRY(Source source, source_of(programs, code));
  CLEAVE_CHECK(add_variables(code, source));
  for (const auto& [name, at] : code.marks.watched_at) add_output(source, name, at);
  return ahead::build_library(source, path, options);
}

Result<BuiltLibrary> build_step(const TrainStep& step, const std::string& path,
                                const BuildOptions& options) {
  const ProgramAccess::Step parts = ProgramAccess::step(step);
  if (parts.accumulate > 1)
    return unsupported("build: accumulate is {}: a step of several runs can't be built yet",
                       parts.accumulate);
  const ProgramCode& code = parts.programs.last().code();
  CLEAVE_TRY(Source source, source_of(parts.programs, code));
  CLEAVE_CHECK(add_variables(code, source));
  for (size_t k = 0; k < parts.learning_rates.size() && k < code.own.size(); ++k) {
    const auto& [name, rate] = parts.learning_rates[k];
    source.state.push_back({code.program->placeholders()[code.own[k].first], name, "state",
                            StateKind::state, trace::Access::memory(rate)});
  }
  if (parts.on_nonfinite == NonFinite::skip_step) source.skip_text = not_finite;
  if (code.marks.norm_at) add_output(source, "grad_norm", *code.marks.norm_at);
  for (const auto& [name, at] : code.marks.watched_at) add_output(source, name, at);
  return ahead::build_library(source, path, options);
}

}  // namespace

BuiltLibrary build(const CompiledFunction& program, const std::string& path,
                   const BuildOptions& options) {
  return value_or_throw(build_function(program, path, options));
}

BuiltLibrary build(const TrainStep& step, const std::string& path, const BuildOptions& options) {
  return value_or_throw(build_step(step, path, options));
}

}  // namespace cleave
