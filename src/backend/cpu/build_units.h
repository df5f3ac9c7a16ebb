// Loads units of C text on the executor, and looks up their functions by symbol.
#pragma once
#include "backend/backend.h"
#include "backend/cpu/unit_loader.h"

namespace cleave::cpu {

using LoadedUnits = std::vector<CodePtr>;
using Kernels = std::vector<std::unique_ptr<const KernelFunction>>;

// `keys` becomes those of the units.
Result<LoadedUnits> load_units(const std::vector<SourceUnit>& units, UnitLoader& loader,
                               Executor& executor, cache::Store* cache,
                               std::vector<std::string>& keys);
Result<Kernels> load_kernels(const EmittedCode& code, const LoadedUnits& units);
// Kernels as bytecode, without units. It computes the same bits.
Kernels bytecode_kernels(const std::vector<loop::Kernel>& kernels);
Result<std::vector<ForeignFunction>> load_foreign(const LoweredProgram& program,
                                                  const EmittedCode& code,
                                                  const LoadedUnits& units);

}  // namespace cleave::cpu
