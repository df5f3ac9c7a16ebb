// build() of public programs.
#include "cleave/build.h"

#include "ahead/build_library.h"
#include "ahead/held_sizes.h"
#include "ahead/trace_source.h"
#include "exec/program_access.h"
#include "trace/variable_state.h"
#include "train/step_trace.h"

namespace cleave {
namespace {

using ahead::Source;
using ahead::TraceSource;

// Begins the source; its sizes.
Result<std::vector<std::vector<int64_t>>> begin(const SizedPrograms& programs,
                                                const BuildOptions& options, Source& source) {
  const ProgramCode& code = programs.last().code();
  source.ops = &code.options.ops.registry();
  source.options = StageOptions{code.options};
  source.options.executor = code.executor;
  source.options.forward_results = code.forward_results;
  source.options.dump_dir.clear();
  for (const InputSpec& spec : code.specs) source.inputs.push_back(spec.name);
  for (size_t k = 0; k < code.results; ++k) source.outputs.push_back(fmt::format("out.{}", k));
  std::string example;
  for (const InputSizes::Range& r : programs.sizes().ranges()) {
    source.sizes.push_back({r.name, r.least, r.most});
    if (example.empty() && r.most)
      example = fmt::format("BuildOptions::sizes, such as {{\"{}\", {{{}, {}}}}}", r.name, r.least,
                            *r.most);
  }
  return ahead::held_sizes(
      source.sizes,
      {options.sizes, static_cast<size_t>(code.options.kept_sizes), std::move(example)});
}

Result<BuiltLibrary> build_function(const CompiledFunction& program, const std::string& path,
                                    const BuildOptions& options) {
  const SizedPrograms& programs = ProgramAccess::programs(program);
  Source source;
  CLEAVE_TRY(const auto held, begin(programs, options, source));
  for (const auto& [name, at] : programs.last().marks().watched_at) source.outputs.push_back(name);
  TraceSource trace(source);
  for (const std::vector<int64_t>& sizes : held) {
    CLEAVE_TRY(Source::Program made, trace.program(programs, sizes));
    source.sized.push_back({sizes, std::move(made)});
  }
  return ahead::build_library(source, path, options);
}

Result<BuiltLibrary> build_step(const TrainStep& step, const std::string& path,
                                const BuildOptions& options) {
  const ProgramAccess::Step parts = ProgramAccess::step(step);
  Source source;
  CLEAVE_TRY(const auto held, begin(parts.programs, options, source));
  const ProgramCode::Marks& marks = parts.programs.last().marks();
  for (const auto& [name, at] : ahead::numbers_of(marks)) source.outputs.push_back(name);
  for (const auto& [name, at] : marks.watched_at) source.outputs.push_back(name);
  if (parts.on_nonfinite == NonFinite::skip_step) source.skip_text = not_finite;
  TraceSource trace(source, parts.learning_rates);
  for (const std::vector<int64_t>& sizes : held) {
    CLEAVE_TRY(Source::Program whole, trace.program(parts.programs, sizes));
    Source::Sized& sized = source.sized.emplace_back(Source::Sized{sizes, std::move(whole)});
    if (parts.gather) { CLEAVE_TRY(sized.gather, trace.program(*parts.gather, sizes)); }
  }
  source.accumulate = parts.accumulate;
  if (parts.gather) source.micro_step = trace.entry_of(parts.micro_steps);
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
