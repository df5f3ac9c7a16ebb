#include "exec/sized_graphs.h"

#include <algorithm>

#include "compile/stages.h"
#include "runtime/shared_threads.h"

namespace cleave {
namespace {

using Kernels = std::vector<loop::Kernel>;

// The stages in front of kernels, as SizedGraph::make has them; none where one of them fails: that
// is told when these sizes are run.
Result<Kernels> kernels_of(const Graph& graph, const Operators& ops, const CompileOptions& options,
                           const SymbolValues& symbols, const std::shared_ptr<Backend>& backend) {
  CLEAVE_TRY(Graph g, specialize(graph, symbols));
  StageOptions stages{options};
  compute_each_time(stages);
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::pre_grad, g, ops.registry(), stages));
  return scheduled_kernels(g, ops.registry(), stages, backend);
}

}  // namespace

std::vector<SymbolValues> sizes_around(const Graph& g, const SymbolValues& symbols) {
  std::vector<SymbolValues> out;
  const auto add = [&](SymbolValues values) {
    for (const Placeholder& p : g.placeholders())
      if (const auto at = values.find(g.name(p.value)); at != values.end())
        at->second = std::clamp(at->second, std::max<int64_t>(p.sym.range.lo, 1), p.sym.range.hi);
    if (values != symbols && std::ranges::find(out, values) == out.end()) out.push_back(values);
  };
  const auto add_all = [&](auto&& change) {
    SymbolValues all = symbols;
    for (auto& [name, value] : all) value = change(value);
    add(all);
    if (symbols.size() < 2) return;
    for (const auto& [name, value] : symbols) {
      SymbolValues one = symbols;
      one[name] = change(value);
      add(one);
    }
  };
  add_all([](int64_t v) { return v + 1; });
  add_all([](int64_t v) { return v - 1; });
  add_all([](int64_t v) { return 2 * v; });
  add_all([](int64_t v) { return v / 2; });
  add_all([](int64_t) { return int64_t{1}; });
  return out;
}

SizedGraphs::SizedGraphs(Graph graph, Operators ops, CompileOptions options)
    : graph_(std::move(graph)), ops_(std::move(ops)), options_(std::move(options)) {}

void SizedGraphs::learn(CodePool& pool, CodePool::When when) {
  CompileOptions plain = options_;
  plain.dump_dir.clear();
  plain.observers.clear();
  std::vector<SymbolValues> samples = sizes_around(graph_, current_);
  if (when == CodePool::When::first) {
    samples.push_back(first_);
    std::ranges::copy(sizes_around(graph_, first_), std::back_inserter(samples));
  }
  std::vector<Kernels> kernels(samples.size());
  struct Context {
    const SizedGraphs& self;
    const CompileOptions& options;
    const std::vector<SymbolValues>& samples;
    const std::shared_ptr<Backend>& backend;
    std::vector<Kernels>& out;
  } context{*this, plain, samples, pool.backend(), kernels};
  const auto run = [](void* c, long i) {
    auto& [self, options, samples, backend, out] = *static_cast<Context*>(c);
    const auto k = static_cast<size_t>(i);
    Result<Kernels> made = kernels_of(self.graph_, self.ops_, options, samples[k], backend);
    if (made.ok()) out[k] = *std::move(made);
  };
  const Result<std::shared_ptr<Executor>> threads =
      options_.executor ? options_.executor : runtime::shared_threads(options_.threads);
  if (threads.ok()) (*threads)->parallel_for(static_cast<long>(samples.size()), run, &context);
  for (const Kernels& k : kernels) pool.learn(k);
}

Result<SizedGraph> SizedGraphs::made(const SymbolValues& symbols) {
  current_ = symbols;
  if (count_ == 0) first_ = symbols;
  if (count_ > 0 && pool_ == nullptr) {
    // Functions of a GPU have sizes in them, and are those of one program.
    std::shared_ptr<Backend> backend = backend_for(options_);
    if (backend->target().cuda_arch == 0)
      pool_ = std::make_shared<CodePool>(
          std::move(backend), [this](CodePool& pool, CodePool::When when) { learn(pool, when); });
  }
  CLEAVE_TRY(SizedGraph out, SizedGraph::make(graph_, ops_, options_, symbols, pool_));
  ++count_;
  if (!out.report.recompiled.empty()) ++recompiles_;
  return out;
}

}  // namespace cleave
