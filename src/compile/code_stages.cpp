#include "compile/code_stages.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "compile/plan_program.h"
#include "emit/share_functions.h"

namespace cleave {
namespace {

// Whether kernels run as bytecode. C text of the host program is compiled nevertheless.
bool interprets(const CompileOptions& options) { return options.compiler == CompilerChoice::none; }

// Kernels are spread over units so that the units can be compiled side by side: an even number of
// them, alike in length, about this many bytes of text each. Each unit costs a prelude.
constexpr size_t unit_bytes = 20 << 10, min_bytes = 4 << 10;

EmittedCode make_units(std::vector<emit::CKernel> kernels) {
  EmittedCode out;
  size_t bytes = 0;
  for (const emit::CKernel& kernel : kernels) bytes += kernel.text.size();
  const size_t pairs = (bytes + 2 * unit_bytes - 1) / (2 * unit_bytes);
  if (bytes > 0) out.units.resize(bytes < min_bytes ? 1 : 2 * pairs);
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t k) { return kernels[k].text.size(); });
  std::unordered_map<std::string, size_t> unit_with;
  for (const size_t k : order) {  // the longest first, each to the shortest unit
    const emit::CKernel& kernel = kernels[k];
    if (kernel.text.empty()) continue;
    const auto unit = std::ranges::min_element(out.units, {}, &std::string::size);
    *unit += kernel.text;
    unit_with[kernel.phases[0].symbol] = static_cast<size_t>(unit - out.units.begin());
  }
  for (emit::CKernel& kernel : kernels) {
    out.unit_of.push_back(kernel.phases.empty() ? 0 : unit_with.at(kernel.phases[0].symbol));
    kernel.text.clear();
  }
  while (!out.units.empty() && out.units.back().empty()) out.units.pop_back();
  out.kernel_units = out.units.size();
  for (std::string& unit : out.units) unit.insert(0, emit::c_prelude_for(unit));
  out.kernels = std::move(kernels);
  return out;
}

// Pieces of about this many elements: enough to pay for handing one to another thread.
constexpr int64_t piece_elements = 1 << 15;

void cut_into_pieces(BuiltPhase& p, int64_t work) {
  p.pieces = std::clamp<int64_t>(work / piece_elements, 1, max_pieces);
  p.pieces = std::max<int64_t>(1, std::min(p.pieces, p.extent));
}

void write_bytecode(const LoweredProgram& program, BuiltCode& out) {
  for (const loop::Kernel& kernel : program.kernels) {
    emit::BytecodeKernel code = emit::emit_bytecode(kernel);
    BuiltKernel built{{}, std::move(code.checks)};
    for (emit::BytecodePhase& phase : code.phases) {
      built.phases.push_back({nullptr, std::move(phase.code), phase.extent});
      cut_into_pieces(built.phases.back(), kernel.work);
    }
    out.kernels.push_back(std::move(built));
  }
}

Status load_kernels(const LoweredProgram& program, const EmittedCode& emitted, BuiltCode& out) {
  for (size_t i = 0; i < emitted.kernels.size(); ++i) {
    BuiltKernel built{{}, emitted.kernels[i].checks};
    for (const emit::Phase& phase : emitted.kernels[i].phases) {
      auto* function = reinterpret_cast<BuiltPhase::Function>(
          out.code[emitted.unit_of[i]]->symbol(phase.symbol));
      if (!function) return bug("build: the compiled unit has no {}", phase.symbol);
      built.phases.push_back({function, nullptr, phase.extent});
      cut_into_pieces(built.phases.back(), program.kernels[i].work);
    }
    out.kernels.push_back(std::move(built));
  }
  return {};
}

Status load_foreign(const LoweredProgram& program, const EmittedCode& emitted, BuiltCode& out) {
  size_t unit = emitted.kernel_units;
  for (const Step& s : program.steps) {
    auto* f = std::get_if<ForeignCall>(&s.work);
    if (!f) continue;
    if (f->code.c_text.empty()) {
      out.foreign.push_back(f->code.call);
      continue;
    }
    auto* function = reinterpret_cast<void (*)(void* const*, void* const*)>(
        out.code[unit++]->symbol(f->code.symbol));
    if (!function) return user_error("{}: its C text does not define '{}'", s.name, f->code.symbol);
    out.foreign.push_back(function);
  }
  return {};
}

Status compile_units(const EmittedCode& emitted, const CompileOptions& options, BuiltCode& out) {
  if (emitted.units.empty()) return {};
  CLEAVE_TRY(
      const std::shared_ptr<runtime::Compiler> compiler,
      runtime::make_compiler(interprets(options) ? CompilerChoice::automatic : options.compiler,
                             options.target));
  std::vector<Result<std::shared_ptr<runtime::LoadedCode>>> loaded(
      emitted.units.size(), std::shared_ptr<runtime::LoadedCode>());
  struct Context {
    const EmittedCode& emitted;
    runtime::Compiler& compiler;
    decltype(loaded)& out;
  } context{emitted, *compiler, loaded};
  auto compile_one = [](void* c, long i) {
    auto& [emitted, compiler, out] = *static_cast<Context*>(c);
    const auto unit = static_cast<size_t>(i);
    out[unit] = compiler.compile(
        emitted.units[unit], fmt::format("unit{}", i),
        unit < emitted.kernel_units ? runtime::TextKind::kernels : runtime::TextKind::any);
  };
  options.executor->parallel_for(static_cast<long>(emitted.units.size()), compile_one, &context);
  for (auto& l : loaded) {
    if (!l.ok()) return std::move(l).failure();
    out.code.push_back(*std::move(l));
  }
  return {};
}

}  // namespace

Result<LoweredProgram> lower(const Graph& graph) {
  CLEAVE_TRY(LoweredProgram out, lower_graph(graph));
  for (const loop::Kernel& k : out.kernels) CLEAVE_CHECK(loop::verify(k));
  return out;
}

Result<LoweredProgram> lay_in_place(LoweredProgram program) {
  drop_redundant_checks(program);
  update_in_place(program);
  save_memory(program);
  return program;
}

Result<EmittedProgram> emit_kernels(LoweredProgram program, const CompileOptions& options) {
  std::vector<emit::CKernel> texts;
  for (size_t i = 0; i < program.kernels.size() && !interprets(options); ++i) {
    const loop::Kernel& kernel = program.kernels[i];
    texts.push_back(
        emit::emit_c(kernel, fmt::format("k{}_{}", i, emit::c_identifier(kernel.name))));
  }
  const std::vector<std::vector<int64_t>> arguments = emit::share_functions(texts);
  for (Step& s : program.steps)
    if (auto* call = std::get_if<KernelCall>(&s.work); call && !interprets(options))
      call->scalars.insert(call->scalars.end(), arguments[call->kernel].begin(),
                           arguments[call->kernel].end());
  EmittedCode code = make_units(std::move(texts));
  for (const Step& s : program.steps)
    if (auto* f = std::get_if<ForeignCall>(&s.work); f && !f->code.c_text.empty())
      code.units.push_back(f->code.c_text);  // alone: its names are the host program's
  return EmittedProgram{std::move(program), std::move(code)};
}

Result<LinkedProgram> link_library(EmittedProgram program, const Target& target) {
  runtime::LibraryCache cache(target);
  CLEAVE_TRY(LibraryFunctions library, add_library(program.lowered, cache));
  return LinkedProgram{std::move(program.lowered), std::move(program.code), std::move(library)};
}

Result<PlacedProgram> place_storages(LinkedProgram program) {
  CLEAVE_TRY(PlannedProgram planned, plan_memory(std::move(program.lowered)));
  return PlacedProgram{std::move(planned), std::move(program.code), std::move(program.library)};
}

Result<BuiltProgram> build_code(PlacedProgram program, const CompileOptions& options) {
  const LoweredProgram& lowered = program.planned.lowered;
  BuiltCode code;
  if (interprets(options)) write_bytecode(lowered, code);
  CLEAVE_CHECK(compile_units(program.code, options, code));
  CLEAVE_CHECK(load_kernels(lowered, program.code, code));
  CLEAVE_CHECK(load_foreign(lowered, program.code, code));
  return BuiltProgram{std::move(program.planned), std::move(program.library), std::move(code)};
}

}  // namespace cleave
