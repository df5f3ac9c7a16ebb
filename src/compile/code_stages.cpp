#include "compile/code_stages.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "compile/plan_program.h"
#include "schedule/schedule.h"

namespace cleave {
namespace {

Status run_lower(CodeWork& w) {
  CLEAVE_TRY(w.program.lowered, lower_graph(w.graph));
  for (const loop::Kernel& k : w.program.lowered.kernels) CLEAVE_CHECK(loop::verify(k));
  return {};
}

Status run_in_place(CodeWork& w) {
  drop_redundant_checks(w.program.lowered);
  update_in_place(w.program.lowered);
  save_memory(w.program.lowered);
  return {};
}

// Whether kernels run as bytecode. C text of the host program is compiled nevertheless.
bool interprets(const CodeWork& w) { return w.options.compiler == CompilerChoice::none; }

// Kernels are spread over units so that the units can be compiled side by side: an even number of
// them, alike in length, about this many bytes of text each. Each unit costs a prelude.
constexpr size_t unit_bytes = 20 << 10, min_bytes = 4 << 10;

void make_units(CodeWork& w) {
  size_t bytes = 0;
  for (const emit::CKernel& kernel : w.texts) bytes += kernel.text.size();
  const size_t pairs = (bytes + 2 * unit_bytes - 1) / (2 * unit_bytes);
  if (bytes > 0) w.units.resize(bytes < min_bytes ? 1 : 2 * pairs);
  std::vector<size_t> order(w.texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t k) { return w.texts[k].text.size(); });
  std::unordered_map<std::string, size_t> unit_with;
  for (const size_t k : order) {  // the longest first, each to the shortest unit
    const emit::CKernel& kernel = w.texts[k];
    if (kernel.text.empty()) continue;
    const auto unit = std::ranges::min_element(w.units, {}, &std::string::size);
    *unit += kernel.text;
    unit_with[kernel.phases[0].symbol] = static_cast<size_t>(unit - w.units.begin());
  }
  for (const emit::CKernel& kernel : w.texts)
    w.unit_of.push_back(kernel.phases.empty() ? 0 : unit_with.at(kernel.phases[0].symbol));
  while (!w.units.empty() && w.units.back().empty()) w.units.pop_back();
  w.kernel_units = w.units.size();
  for (std::string& unit : w.units) unit.insert(0, emit::c_prelude_for(unit));
}

Status run_schedule(CodeWork& w) {
  LoweredProgram& lowered = w.program.lowered;
  for (loop::Kernel& k : lowered.kernels) {
    k = schedule::schedule(k);
    CLEAVE_CHECK(loop::verify(k));
  }
  if (interprets(w)) return {};
  w.shared = schedule::share_kernels(lowered.kernels);
  for (const loop::Kernel& k : w.shared.kernels) CLEAVE_CHECK(loop::verify(k));
  for (Step& s : lowered.steps) {
    auto* call = std::get_if<KernelCall>(&s.work);
    if (!call) continue;
    const std::vector<int64_t>& numbers = w.shared.uses[call->kernel].scalars;
    call->scalars.insert(call->scalars.end(), numbers.begin(), numbers.end());
  }
  return {};
}

// The C text of each kernel; those that share one have the first one's symbols.
void write_texts(CodeWork& w) {
  const std::vector<loop::Kernel>& kernels = w.program.lowered.kernels;
  std::vector<std::optional<size_t>> first(w.shared.kernels.size());
  for (size_t k = 0; k < w.shared.uses.size(); ++k) {
    const size_t shared = w.shared.uses[k].kernel;
    if (first[shared]) {
      emit::CKernel& text = w.texts.emplace_back(w.texts[*first[shared]]);
      text.text.clear();
      const std::vector<int64_t> extents = emit::phase_extents(kernels[k]);
      for (size_t p = 0; p < extents.size(); ++p) text.phases[p].extent = extents[p];
    } else {
      first[shared] = k;
      w.texts.push_back(emit::emit_c(
          w.shared.kernels[shared], fmt::format("k{}_{}", k, emit::c_identifier(kernels[k].name))));
    }
  }
}

Status run_emit(CodeWork& w) {
  write_texts(w);
  make_units(w);
  for (const Step& s : w.program.lowered.steps)
    if (auto* f = std::get_if<ForeignCall>(&s.work); f && !f->code.c_text.empty()) {
      w.units.push_back(f->code.c_text);  // alone: its names are the host program's
    }
  return {};
}

Status run_products(CodeWork& w) {
  runtime::LibraryCache cache(w.options.target);
  CLEAVE_TRY(w.program.library, add_library(w.program.lowered, cache));
  return {};
}

Status run_plan(CodeWork& w) { return plan_memory(w.program.lowered); }

// Pieces of about this many elements: enough to pay for handing one to another thread.
constexpr int64_t piece_elements = 1 << 15;

void cut_into_pieces(BuiltPhase& p, int64_t work) {
  p.pieces = std::clamp<int64_t>(work / piece_elements, 1, max_pieces);
  p.pieces = std::max<int64_t>(1, std::min(p.pieces, p.extent));
}

void write_bytecode(CodeWork& w) {
  for (const loop::Kernel& kernel : w.program.lowered.kernels) {
    emit::BytecodeKernel code = emit::emit_bytecode(kernel);
    BuiltKernel built{{}, std::move(code.checks)};
    for (emit::BytecodePhase& phase : code.phases) {
      built.phases.push_back({nullptr, std::move(phase.code), phase.extent});
      cut_into_pieces(built.phases.back(), kernel.work);
    }
    w.program.kernels.push_back(std::move(built));
  }
}

Status load_kernels(CodeWork& w) {
  for (size_t i = 0; i < w.texts.size(); ++i) {
    BuiltKernel built{{}, w.texts[i].checks};
    for (const emit::Phase& phase : w.texts[i].phases) {
      auto* function = reinterpret_cast<BuiltPhase::Function>(
          w.program.code[w.unit_of[i]]->symbol(phase.symbol));
      if (!function) return bug("build: the compiled unit has no {}", phase.symbol);
      built.phases.push_back({function, nullptr, phase.extent});
      cut_into_pieces(built.phases.back(), w.program.lowered.kernels[i].work);
    }
    w.program.kernels.push_back(std::move(built));
  }
  return {};
}

Status load_foreign(CodeWork& w) {
  size_t unit = w.kernel_units;
  for (const Step& s : w.program.lowered.steps) {
    auto* f = std::get_if<ForeignCall>(&s.work);
    if (!f) continue;
    if (f->code.c_text.empty()) {
      w.program.foreign.push_back(f->code.call);
      continue;
    }
    auto* function = reinterpret_cast<void (*)(void* const*, void* const*)>(
        w.program.code[unit++]->symbol(f->code.symbol));
    if (!function) return user_error("{}: its C text does not define '{}'", s.name, f->code.symbol);
    w.program.foreign.push_back(function);
  }
  return {};
}

Status compile_units(CodeWork& w) {
  if (w.units.empty()) return {};
  CLEAVE_TRY(w.compiler,
             runtime::make_compiler(interprets(w) ? CompilerChoice::automatic : w.options.compiler,
                                    w.options.target));
  std::vector<Result<std::shared_ptr<runtime::LoadedCode>>> loaded(
      w.units.size(), std::shared_ptr<runtime::LoadedCode>());
  struct Context {
    CodeWork& work;
    decltype(loaded)& out;
  } context{w, loaded};
  auto compile_one = [](void* c, long i) {
    auto& [work, out] = *static_cast<Context*>(c);
    const auto unit = static_cast<size_t>(i);
    out[unit] = work.compiler->compile(
        work.units[unit], fmt::format("unit{}", i),
        unit < work.kernel_units ? runtime::TextKind::kernels : runtime::TextKind::any);
  };
  w.options.executor->parallel_for(static_cast<long>(w.units.size()), compile_one, &context);
  for (auto& l : loaded) {
    if (!l.ok()) return std::move(l).failure();
    w.program.code.push_back(*std::move(l));
  }
  return {};
}

Status run_build(CodeWork& w) {
  if (interprets(w)) write_bytecode(w);
  CLEAVE_CHECK(compile_units(w));
  CLEAVE_CHECK(load_kernels(w));
  return load_foreign(w);
}

}  // namespace

const std::vector<CodeStage>& code_stages() {
  static const std::vector<CodeStage> all = {
      {Stage::lower, run_lower}, {Stage::in_place, run_in_place}, {Stage::schedule, run_schedule},
      {Stage::emit, run_emit},   {Stage::products, run_products}, {Stage::plan_memory, run_plan},
      {Stage::build, run_build},
  };
  return all;
}

}  // namespace cleave
