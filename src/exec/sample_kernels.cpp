#include "exec/sample_kernels.h"

#include "runtime/shared_threads.h"
#include "trace/tracing.h"

namespace cleave {
namespace {

using Kernels = std::vector<loop::Kernel>;
using Traced = std::optional<ProgramCode::Parts>;

// What the host program's function throws for these sizes it throws again when they are run.
Traced traced(const InputSizes& sizes, const std::vector<int64_t>& sample,
              const SizedPrograms::Trace& trace, const CompileOptions& options) {
  const std::string text = sizes.text(sample);
  const trace::Within program(&trace::Tracing::sizes, text.c_str());
  try {
    return trace(sizes.at(sample), options);
  } catch (...) { return {}; }
}

Kernels kernels_of(const Traced& parts, const std::shared_ptr<Backend>& backend) {
  if (!parts) return {};
  try {
    Result<Kernels> made = ProgramCode::kernels(*parts, backend);
    return made.ok() ? *std::move(made) : Kernels();
  } catch (...) {  // of a pass of the host program
    return {};
  }
}

}  // namespace

std::vector<Kernels> sample_kernels(const InputSizes& sizes,
                                    std::span<const std::vector<int64_t>> samples,
                                    const SizedPrograms::Trace& trace,
                                    const CompileOptions& options,
                                    const std::shared_ptr<Backend>& backend) {
  CompileOptions plain = options;
  plain.dump_dir.clear();
  plain.observers.clear();
  std::vector<Traced> programs;
  for (const std::vector<int64_t>& sample : samples)
    programs.push_back(traced(sizes, sample, trace, plain));
  std::vector<Kernels> out(programs.size());
  struct Context {
    const std::vector<Traced>& programs;
    const std::shared_ptr<Backend>& backend;
    std::vector<Kernels>& out;
  } context{programs, backend, out};
  const auto run = [](void* c, long i) {
    auto& [programs, backend, out] = *static_cast<Context*>(c);
    const auto k = static_cast<size_t>(i);
    out[k] = kernels_of(programs[k], backend);
  };
  const Result<std::shared_ptr<Executor>> threads =
      options.executor ? options.executor : runtime::shared_threads(options.threads);
  if (threads.ok()) (*threads)->parallel_for(static_cast<long>(out.size()), run, &context);
  return out;
}

}  // namespace cleave
