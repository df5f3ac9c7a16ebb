#include "compile/pipeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/write_file.h"
#include "compile/budget_family.h"
#include "compile/plan_program.h"
#include "cut/honor_tags.h"
#include "cut/keep_less.h"
#include "emit/share_functions.h"
#include "ir/edit.h"
#include "ir/result_strides.h"
#include "ir/text.h"
#include "lower/check_devices.h"
#include "lower/drop_copies.h"
#include "lower/fuse.h"
#include "pass/pipeline.h"

namespace cleave {
namespace {

// What the stages hand on.
struct Build {
  Graph& graph;
  const OpRegistry& ops;
  const CompileOptions& options;
  CompileReport& report;
  BuiltProgram program = {};
  std::vector<emit::CKernel> texts = {};
  std::vector<std::string> units = {};  // those of kernels first
  std::vector<size_t> unit_of = {};     // for each kernel
  size_t kernel_units = 0;
  bool is_other_graph = false;  // a stage has put another one in the graph's place
  std::shared_ptr<runtime::Compiler> compiler = nullptr;
};

Status run_dead_code(Build& b) {
  eliminate_dead_code(b.graph);
  return {};
}
Status run_passes(Build& b, PassStage stage, const PassOptions& options) {
  CLEAVE_TRY(std::vector<PassReport> reports, run_stage(stage, b.graph, b.ops, options));
  std::ranges::move(reports, std::back_inserter(b.report.passes));
  return {};
}
Status run_joint(Build& b) {
  return b.options.is_cut ? Status() : run_passes(b, PassStage::joint, b.options.passes);
}
Status run_post_grad(Build& b) {
  return b.options.is_cut ? Status() : run_passes(b, PassStage::post_grad, b.options.passes);
}
// A graph that is cut already computes things twice on purpose.
Status run_decomposed(Build& b) {
  PassOptions options = b.options.passes;
  if (b.options.is_cut) options.off.emplace_back("merge_equal");
  return run_passes(b, PassStage::decomposed, options);
}

Status run_decompose(Build& b) { return decompose_for_lowering(b.graph, b.ops); }
Status run_copies(Build& b) {
  drop_copies(b.graph);
  return {};
}
Status run_verify(Build& b) {
  CLEAVE_CHECK(verify(b.graph));
  return check_devices(b.graph);
}

Status run_tags(Build& b) {
  if (b.options.is_cut) return {};
  CLEAVE_CHECK(honor_tags(b.graph, b.options.forward_results));
  return {};
}

// A budget decides by itself what runs again.
Status run_kept(Build& b) {
  if (b.options.is_cut || b.options.memory_budget.given()) return {};
  CLEAVE_TRY(const KeptLess kept, keep_less(b.graph, {}));
  b.report.recompute_ns = kept.again_ns;
  return {};
}

Status run_fuse(Build& b) { return b.options.fuse ? fuse_calls(b.graph, b.ops) : Status(); }

Status run_cut(Build& b) {
  if (!b.options.memory_budget.given()) return {};
  std::shared_ptr<BudgetFamily> family = b.options.family;
  if (!family) {
    CLEAVE_TRY(BudgetFamily made, BudgetFamily::make(b.graph, b.options.target));
    family = std::make_shared<BudgetFamily>(std::move(made));
  }
  CLEAVE_TRY(const size_t member, family->choose(b.options.memory_budget));
  CLEAVE_TRY(b.graph, family->program(member));
  b.is_other_graph = true;
  b.report.recompute_ns = family->members()[member].recompute_ns;
  return {};
}

Status run_lower(Build& b) {
  CLEAVE_TRY(b.program.lowered, lower_graph(b.graph));
  for (const loop::Kernel& k : b.program.lowered.kernels) CLEAVE_CHECK(loop::verify(k));
  return {};
}

Status run_in_place(Build& b) {
  settle_checks(b.program.lowered);
  update_in_place(b.program.lowered);
  save_memory(b.program.lowered);
  return {};
}

// Whether kernels run as bytecode. C text of the host program is compiled nevertheless.
bool interprets(const Build& b) { return b.options.compiler == runtime::CompilerKind::none; }

// Kernels are spread over units so that the units can be compiled side by side: an even number of
// them, alike in length, about this many bytes of text each. Each unit costs a prelude.
constexpr size_t unit_bytes = 20 << 10, least_bytes = 4 << 10;

void make_units(Build& b) {
  size_t bytes = 0;
  for (const emit::CKernel& kernel : b.texts) bytes += kernel.text.size();
  const size_t pairs = (bytes + 2 * unit_bytes - 1) / (2 * unit_bytes);
  if (bytes > 0) b.units.resize(bytes < least_bytes ? 1 : 2 * pairs);
  std::vector<size_t> order(b.texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t k) { return b.texts[k].text.size(); });
  std::unordered_map<std::string, size_t> unit_with;
  for (const size_t k : order) {  // the longest first, each to the shortest unit
    const emit::CKernel& kernel = b.texts[k];
    if (kernel.text.empty()) continue;
    const auto unit = std::ranges::min_element(b.units, {}, &std::string::size);
    *unit += kernel.text;
    unit_with[kernel.phases[0].symbol] = static_cast<size_t>(unit - b.units.begin());
  }
  for (const emit::CKernel& kernel : b.texts)
    b.unit_of.push_back(kernel.phases.empty() ? 0 : unit_with.at(kernel.phases[0].symbol));
  while (!b.units.empty() && b.units.back().empty()) b.units.pop_back();
  b.kernel_units = b.units.size();
  for (std::string& unit : b.units) unit.insert(0, emit::c_prelude_for(unit));
}

Status run_emit(Build& b) {
  const auto& kernels = b.program.lowered.kernels;
  for (size_t i = 0; i < kernels.size() && !interprets(b); ++i)
    b.texts.push_back(
        emit::emit_c(kernels[i], fmt::format("k{}_{}", i, emit::c_identifier(kernels[i].name))));
  const std::vector<std::vector<int64_t>> arguments = emit::share_functions(b.texts);
  for (Step& s : b.program.lowered.steps)
    if (auto* call = std::get_if<KernelCall>(&s.work); call && !interprets(b))
      call->scalars.insert(call->scalars.end(), arguments[call->kernel].begin(),
                           arguments[call->kernel].end());
  make_units(b);
  for (const Step& s : b.program.lowered.steps)
    if (auto* f = std::get_if<ForeignCall>(&s.work); f && !f->code.c_text.empty()) {
      b.units.push_back(f->code.c_text);  // alone: its names are the host program's
    }
  return {};
}

Status run_products(Build& b) {
  runtime::GemmCache cache(b.options.target);
  CLEAVE_TRY(b.program.products, add_products(b.program.lowered, cache));
  CLEAVE_TRY(b.program.attentions, add_attentions(b.program.lowered, b.options.target));
  CLEAVE_TRY(b.program.convolutions, add_convolutions(b.program.lowered, b.options.target));
  return {};
}

Status run_plan(Build& b) { return plan_memory(b.program.lowered); }

// Pieces of about this many elements: enough to pay for handing one to another thread.
constexpr int64_t piece_elements = 1 << 15;

void cut_into_pieces(BuiltPhase& p, int64_t work) {
  p.pieces = std::clamp<int64_t>(work / piece_elements, 1, most_pieces);
  p.pieces = std::max<int64_t>(1, std::min(p.pieces, p.extent));
}

void write_bytecode(Build& b) {
  for (const loop::Kernel& kernel : b.program.lowered.kernels) {
    emit::BytecodeKernel code = emit::emit_bytecode(kernel);
    BuiltKernel built{{}, std::move(code.checks)};
    for (emit::BytecodePhase& phase : code.phases) {
      built.phases.push_back({nullptr, std::move(phase.code), phase.extent});
      cut_into_pieces(built.phases.back(), kernel.work);
    }
    b.program.kernels.push_back(std::move(built));
  }
}

Status load_kernels(Build& b) {
  for (size_t i = 0; i < b.texts.size(); ++i) {
    BuiltKernel built{{}, b.texts[i].checks};
    for (const emit::Phase& phase : b.texts[i].phases) {
      auto* function = reinterpret_cast<BuiltPhase::Function>(
          b.program.code[b.unit_of[i]]->symbol(phase.symbol));
      if (!function) return bug("build: the compiled unit has no {}", phase.symbol);
      built.phases.push_back({function, nullptr, phase.extent});
      cut_into_pieces(built.phases.back(), b.program.lowered.kernels[i].work);
    }
    b.program.kernels.push_back(std::move(built));
  }
  return {};
}

Status load_foreign(Build& b) {
  size_t unit = b.kernel_units;
  for (const Step& s : b.program.lowered.steps) {
    auto* f = std::get_if<ForeignCall>(&s.work);
    if (!f) continue;
    if (f->code.c_text.empty()) {
      b.program.foreign.push_back(f->code.call);
      continue;
    }
    auto* function = reinterpret_cast<void (*)(void* const*, void* const*)>(
        b.program.code[unit++]->symbol(f->code.symbol));
    if (!function) return user_error("{}: its C text does not define '{}'", s.name, f->code.symbol);
    b.program.foreign.push_back(function);
  }
  return {};
}

Status compile_units(Build& b) {
  if (b.units.empty()) return {};
  CLEAVE_TRY(b.compiler, runtime::make_compiler(
                             interprets(b) ? runtime::CompilerKind::automatic : b.options.compiler,
                             b.options.target));
  std::vector<Result<std::shared_ptr<runtime::LoadedCode>>> loaded(
      b.units.size(), std::shared_ptr<runtime::LoadedCode>());
  struct Context {
    Build& b;
    decltype(loaded)& out;
  } context{b, loaded};
  auto compile_one = [](void* c, long i) {
    auto& [build, out] = *static_cast<Context*>(c);
    const auto unit = static_cast<size_t>(i);
    out[unit] = build.compiler->compile(
        build.units[unit], fmt::format("unit{}", i),
        unit < build.kernel_units ? runtime::TextKind::kernels : runtime::TextKind::any);
  };
  b.options.executor->parallel_for(static_cast<long>(b.units.size()), compile_one, &context);
  for (auto& l : loaded) {
    if (!l.ok()) return std::move(l).failure();
    b.program.code.push_back(*std::move(l));
  }
  return {};
}

Status run_build(Build& b) {
  if (interprets(b)) write_bytecode(b);
  CLEAVE_CHECK(compile_units(b));
  CLEAVE_CHECK(load_kernels(b));
  return load_foreign(b);
}

struct Stage {
  const char* name;
  Status (*run)(Build&);
};

constexpr Stage stages[] = {
    {"verify", run_verify},       {"joint", run_joint},   {"post_grad", run_post_grad},
    {"decompose", run_decompose}, {"copies", run_copies}, {"decomposed", run_decomposed},
    {"dead_code", run_dead_code}, {"tags", run_tags},     {"keep_less", run_kept},
    {"fuse", run_fuse},           {"cut", run_cut},       {"lower", run_lower},
    {"in_place", run_in_place},   {"emit", run_emit},     {"products", run_products},
    {"plan_memory", run_plan},    {"build", run_build},
};

// NN_name.clv and NN_unit_K.c in the dump folder.
Status dump(const Build& b, size_t number, const Stage& stage, std::string& last_graph) {
  const std::filesystem::path folder = b.options.dump_dir;
  auto write = [&](const std::string& name, const std::string& text) {
    std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    return write_file((folder / fmt::format("{:02}_{}", number, name)).string(), {&bytes, 1});
  };
  if (std::string text = print(b.graph); text != last_graph) {
    CLEAVE_CHECK(write(std::string(stage.name) + ".clv", text));
    last_graph = std::move(text);
  }
  if (std::string_view(stage.name) == "lower") {
    std::string text;
    for (const loop::Kernel& k : b.program.lowered.kernels) text += loop::print(k) + "\n";
    CLEAVE_CHECK(write("lower.loops", text));
  }
  if (std::string_view(stage.name) == "emit")
    for (size_t i = 0; i < b.units.size(); ++i)
      CLEAVE_CHECK(write(fmt::format("unit_{}.c", i), b.units[i]));
  return {};
}

}  // namespace

Result<BuiltProgram> build_program(Graph& graph, const OpRegistry& ops,
                                   const CompileOptions& options, CompileReport& report) {
  using Clock = std::chrono::steady_clock;
  Build b{.graph = graph, .ops = ops, .options = options, .report = report};
  std::string last_graph;
  if (!options.dump_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.dump_dir, error);
    if (error) return user_error("dump: {}: {}", options.dump_dir, error.message());
  }
  const ResultStrides strides(graph);
  size_t number = 0;
  for (const Stage& stage : stages) {
    const auto begin = Clock::now();
    const int64_t edits = graph.edits();
    CLEAVE_CHECK(stage.run(b));
    if (b.is_other_graph || graph.edits() != edits) CLEAVE_CHECK(strides.restore(graph, ops));
    const bool is_other = std::exchange(b.is_other_graph, false);
    if (is_other || graph.edits() != edits)
      if (Status s = verify_edited(graph, is_other ? -1 : edits); !s.ok())
        return bug("stage {} made a wrong graph: {}", stage.name, s.failure().message);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    report.stages.push_back({stage.name, ms, graph.node_count()});
    report.compile_ms += ms;
    if (!options.dump_dir.empty()) CLEAVE_CHECK(dump(b, number++, stage, last_graph));
  }
  const LoweredProgram& l = b.program.lowered;
  report.kernels = std::count_if(l.steps.begin(), l.steps.end(), [](const Step& s) {
    return !std::holds_alternative<JumpCall>(s.work);
  });
  report.distinct_kernels = static_cast<int64_t>(l.kernels.size());
  report.arena_bytes = l.arena_bytes;
  report.placeholder_bytes = l.placeholder_bytes;
  report.planned_peak_bytes = l.arena_bytes + l.placeholder_bytes;
  return std::move(b.program);
}

}  // namespace cleave
