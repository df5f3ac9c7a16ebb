#include "standalone/linked_program.h"

#include <algorithm>

#include "run/cpu_kernel.h"

namespace cleave::standalone {

Status LinkedProgram::link_kernels(std::vector<KernelEntry>& kernels, const Functions& functions) {
  for (KernelEntry& kernel : kernels) {
    std::vector<CpuPhase> phases;
    for (const PhaseEntry& phase : kernel.phases) {
      if (phase.function >= functions.phases.size())
        return bug("the library lacks functions of kernels");
      phases.push_back({functions.phases[phase.function], nullptr, phase.extent});
    }
    kernels_.push_back(
        std::make_unique<CpuKernel>(std::move(phases), std::move(kernel.checks), kernel.work));
  }
  return {};
}

Status LinkedProgram::link_foreign(const std::vector<ForeignEntry>& calls,
                                   const Functions& functions) {
  auto thunk = thunks_.thunks.begin();
  for (const ForeignEntry& call : calls) {
    thunk = std::find_if(thunk, thunks_.thunks.end(), [](const Thunk& t) {
      return std::holds_alternative<ForeignCall>(t.work);
    });
    if (thunk == thunks_.thunks.end()) return bug("the library has more operators than calls");
    const std::vector<int64_t>& sizes = std::get<ForeignCall>((thunk++)->work).code.sizes;
    if (call.number >= (call.is_callback ? functions.callbacks.size() : functions.operators.size()))
      return bug("the library lacks operators");
    if (call.is_callback)
      foreign_.push_back(functions.callbacks[call.number]);
    else
      foreign_.push_back(with_sizes(functions.operators[call.number], sizes));
  }
  return {};
}

Status LinkedProgram::link_library(LibraryCall& call, const std::string& name,
                                   runtime::LibraryCache& library) {
  CLEAVE_TRY(call.function, library.get(call.spec));
  const int64_t planned = call.workspace ? thunks_.storages[*call.workspace].bytes : 0;
  if (call.function->scratch_bytes() == planned) return {};
  return bug("{}: its workspace takes {} bytes, {} are planned", name,
             call.function->scratch_bytes(), planned);
}

Result<std::unique_ptr<const LinkedProgram>> LinkedProgram::link(CodeEntry code,
                                                                 const Functions& functions,
                                                                 runtime::LibraryCache& library) {
  std::unique_ptr<LinkedProgram> out(new LinkedProgram);
  out->thunks_ = std::move(code.thunks);
  out->offsets_ = std::move(code.offsets);
  out->arena_bytes_ = code.arena_bytes;
  CLEAVE_CHECK(out->link_kernels(code.kernels, functions));
  CLEAVE_CHECK(out->link_foreign(code.foreign, functions));
  for (Thunk& thunk : out->thunks_.thunks)
    if (auto* call = std::get_if<LibraryCall>(&thunk.work))
      CLEAVE_CHECK(out->link_library(*call, thunk.name, library));
  return std::unique_ptr<const LinkedProgram>(std::move(out));
}

}  // namespace cleave::standalone
