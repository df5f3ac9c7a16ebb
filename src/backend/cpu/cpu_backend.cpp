#include "backend/cpu/cpu_backend.h"

#include <algorithm>

#include "backend/cpu/build_units.h"
#include "backend/cpu/emit_units.h"
#include "base/target.h"
#include "base/target_file.h"
#include "runtime/host_arena.h"
#include "schedule/schedule.h"

namespace cleave::cpu {
Result<std::vector<loop::Kernel>> CpuBackend::schedule(
    const std::vector<loop::Kernel>& kernels) const {
  std::vector<loop::Kernel> out;
  for (const loop::Kernel& k : kernels) out.push_back(schedule::schedule(k));
  return out;
}

Result<EmittedCode> CpuBackend::emit(const LoweredProgram& program,
                                     const schedule::SharedKernels& functions) const {
  EmittedCode code;
  if (!interprets()) code = emit_kernels(program.kernels, functions);
  add_host_units(program, code);
  return code;
}

Result<std::string> CpuBackend::identity(cache::Store* cache) {
  std::string compiler = "bytecode";
  if (!interprets()) { CLEAVE_TRY(compiler, units_.identity(cache)); }
  return fmt::format("{} {}\n{}", target_word(target()), static_cast<int>(target().set), compiler);
}

Result<BuiltCode> CpuBackend::build(const LoweredProgram& program, const EmittedCode& code,
                                    Executor& executor, cache::Store* cache) {
  const int64_t compiled = units_.compiled();
  BuiltCode out;
  CLEAVE_TRY(const LoadedUnits units,
             load_units(code.units, units_, executor, cache, out.unit_keys));
  out.compiled_units = units_.compiled() - compiled;
  out.cached_units =
      std::ranges::count(code.units, nullptr, &SourceUnit::loaded) - out.compiled_units;
  if (interprets()) {
    out.kernels = bytecode_kernels(program.kernels);
  } else {
    CLEAVE_TRY(out.kernels, load_kernels(code, units));
  }
  CLEAVE_TRY(out.foreign, load_foreign(program, code, units));
  out.units.assign(units.begin(), units.end());
  return out;
}

Status CpuBackend::check_runs_here() const { return cleave::check_runs_here(target()); }

Result<std::unique_ptr<ArenaMemory>> CpuBackend::make_arena(int64_t bytes) const {
  return runtime::make_host_arena(bytes);
}

}  // namespace cleave::cpu
