#include "standalone/linked_program.h"

#include "run/cpu_kernel.h"

namespace cleave::standalone {

Status LinkedProgram::link_thunk(Thunk& thunk, Functions& functions,
                                 runtime::LibraryCache& library) {
  if (auto* call = std::get_if<LibraryCall>(&thunk.work)) {
    CLEAVE_TRY(call->function, library.get(call->spec));
    const int64_t planned = call->workspace ? thunks_.storages[*call->workspace].bytes : 0;
    if (call->function->scratch_bytes() != planned)
      return bug("{}: its workspace takes {} bytes, {} are planned", thunk.name,
                 call->function->scratch_bytes(), planned);
  }
  auto* call = std::get_if<ForeignCall>(&thunk.work);
  if (!call) return {};
  if (call->code.symbol.empty()) {
    if (functions.callbacks.empty()) return bug("{}: no callback is left", thunk.name);
    foreign_.push_back(functions.callbacks.front());
    functions.callbacks = functions.callbacks.subspan(1);
  } else {
    if (functions.operators.empty()) return bug("{}: no operator is left", thunk.name);
    foreign_.emplace_back(functions.operators.front());
    functions.operators = functions.operators.subspan(1);
  }
  return {};
}

Result<std::unique_ptr<const LinkedProgram>> LinkedProgram::link(ProgramEntry entry,
                                                                 Functions& functions,
                                                                 runtime::LibraryCache& library) {
  std::unique_ptr<LinkedProgram> out(new LinkedProgram);
  out->thunks_ = std::move(entry.thunks);
  out->offsets_ = std::move(entry.offsets);
  out->arena_bytes_ = entry.arena_bytes;
  for (KernelEntry& kernel : entry.kernels) {
    std::vector<CpuPhase> phases;
    for (const KernelPhase& phase : kernel.phases) {
      if (functions.phases.empty()) return bug("the library lacks functions of kernels");
      phases.push_back({functions.phases.front(), nullptr, phase.extent});
      functions.phases = functions.phases.subspan(1);
    }
    out->kernels_.push_back(
        std::make_unique<CpuKernel>(std::move(phases), std::move(kernel.checks), kernel.work));
  }
  for (Thunk& thunk : out->thunks_.thunks) CLEAVE_CHECK(out->link_thunk(thunk, functions, library));
  return std::unique_ptr<const LinkedProgram>(std::move(out));
}

}  // namespace cleave::standalone
