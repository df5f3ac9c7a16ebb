#include "backend/cpu/build_units.h"

#include <algorithm>

#include "backend/unit_key.h"
#include "emit/bytecode.h"
#include "run/cpu_kernel.h"

namespace cleave::cpu {
namespace {

// N of the first "FILE:N:"; 0 if there is none.
int line_number(const std::string& messages, const std::string& file) {
  const std::string mark = file + ":";
  for (size_t at = messages.find(mark); at != std::string::npos; at = messages.find(mark, at + 1))
    if (const int line = std::atoi(messages.c_str() + at + mark.size()); line > 0) return line;
  return 0;
}

// A compiler's refusal of an operator's C text, which is the host program's error: its messages,
// and the line of the first one where they don't show it ("kernel of NAME:LINE:...").
Failure refused_kernel(const SourceUnit& unit, const std::string& what) {
  const std::string name = unit.host_symbol.substr(unit.host_symbol.find('_') + 1);
  const std::string file = "kernel of " + name;
  std::string text =
      fmt::format("operator {}: its kernel doesn't compile:\n{}", name,
                  what.substr(what.find('\n') == std::string::npos ? 0 : what.find('\n') + 1));
  while (text.ends_with('\n')) text.pop_back();
  size_t from = unit.text.find(file + "\"\n");
  int number = line_number(what, file);
  if (from == std::string::npos || number == 0) return user_error("{}", text);
  for (; number > 0; --number)
    from = std::min(unit.text.find('\n', from), unit.text.size() - 1) + 1;
  const std::string line = unit.text.substr(from, unit.text.find('\n', from) - from);
  if (text.find(line) == std::string::npos) text += "\n  in the line: " + line;
  return user_error("{}", text);
}

// Code that this backend made for another program.
CodePtr loaded_code(const SourceUnit& unit) {
  return std::const_pointer_cast<runtime::LoadedCode>(
      std::static_pointer_cast<const runtime::LoadedCode>(unit.loaded));
}

}  // namespace

Result<LoadedUnits> load_units(const std::vector<SourceUnit>& units, UnitLoader& loader,
                               Executor& executor, cache::Store* cache,
                               std::vector<std::string>& keys) {
  const auto load = [&](size_t i) -> Result<LoadedUnit> {
    const SourceUnit& unit = units[i];
    if (unit.loaded) return LoadedUnit{loaded_code(unit), unit.key};
    Result<LoadedUnit> loaded = loader.load(unit, unit_name(i), cache);
    if (!loaded.ok() && loaded.failure().kind == ErrorKind::bug &&
        unit.from == SourceUnit::From::host_program)
      return refused_kernel(unit, loaded.failure().message);
    return loaded;
  };
  CLEAVE_TRY(std::vector<LoadedUnit> loaded,
             load_in_parallel<LoadedUnit>(units.size(), executor, load));
  LoadedUnits out;
  for (LoadedUnit& unit : loaded) {
    out.push_back(std::move(unit.code));
    keys.push_back(std::move(unit.key));
  }
  return out;
}

Result<Kernels> load_kernels(const EmittedCode& code, const LoadedUnits& units) {
  Kernels out;
  for (const EmittedKernel& kernel : code.kernels) {
    std::vector<CpuPhase> phases;
    for (const KernelPhase& phase : kernel.phases) {
      auto* function =
          reinterpret_cast<CpuPhase::Function>(units[kernel.unit]->symbol(phase.symbol));
      if (!function) return bug("build: the compiled unit has no {}", phase.symbol);
      phases.push_back({function, nullptr, phase.extent});
    }
    out.push_back(std::make_unique<CpuKernel>(std::move(phases), kernel.checks, kernel.work));
  }
  return out;
}

Kernels bytecode_kernels(const std::vector<loop::Kernel>& kernels) {
  Kernels out;
  for (const loop::Kernel& kernel : kernels) {
    emit::BytecodeKernel code = emit::emit_bytecode(kernel);
    std::vector<CpuPhase> phases;
    for (emit::BytecodePhase& phase : code.phases)
      phases.push_back({nullptr, std::move(phase.code), phase.extent});
    out.push_back(
        std::make_unique<CpuKernel>(std::move(phases), std::move(code.checks), kernel.work));
  }
  return out;
}

Result<std::vector<ForeignFunction>> load_foreign(const LoweredProgram& program,
                                                  const EmittedCode& code,
                                                  const LoadedUnits& units) {
  std::vector<ForeignFunction> out;
  auto unit = static_cast<size_t>(
      std::ranges::find(code.units, SourceUnit::From::host_program, &SourceUnit::from) -
      code.units.begin());
  for (const Thunk& s : program.thunks) {
    auto* f = std::get_if<ForeignCall>(&s.work);
    if (!f) continue;
    if (f->code.c_text.empty()) {
      out.push_back(f->code.call);
      continue;
    }
    auto* function = reinterpret_cast<HostFunction*>(units[unit++]->symbol(f->code.symbol));
    if (!function) return user_error("{}: its C text does not define '{}'", s.name, f->code.symbol);
    out.push_back(with_sizes(function, f->code.sizes));
  }
  return out;
}

}  // namespace cleave::cpu
