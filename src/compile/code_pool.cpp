#include "compile/code_pool.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "loop/phase_extents.h"
#include "pass/passes.h"

namespace cleave {

void compute_each_time(CompileOptions& options) {
  options.passes_off.push_back(compute_once().name);
}

Result<schedule::SharedKernels> CodePool::use(std::span<const loop::Kernel> kernels) {
  last_miss_.clear();
  const bool is_first = !std::exchange(has_learned_, true);
  for (const loop::Kernel& kernel : kernels)
    if (!is_first && last_miss_.empty() && !kernels_.find(kernel))
      last_miss_ = fmt::format("kernel %{}: {}", kernel.name, kernels_.why_not(kernel));
  if (is_first || !last_miss_.empty()) {
    learn(kernels);
    if (samples_) samples_(*this, is_first ? When::first : When::missed);
  }
  schedule::SharedKernels out;
  for (const loop::Kernel& kernel : kernels) {
    auto use = kernels_.find(kernel);
    if (!use) return bug("pool: kernel %{} was learned, and isn't found", kernel.name);
    out.uses.push_back({use->family, std::move(use->scalars)});
  }
  for (size_t k = 0; k < kernels_.size(); ++k) out.kernels.push_back(kernels_.function(k));
  return out;
}

size_t CodePool::host_unit(SourceUnit unit) {
  const auto at = std::ranges::find_if(units_, [&](const SourceUnit& u) {
    return u.from == unit.from && u.host_symbol == unit.host_symbol && u.text == unit.text;
  });
  if (at != units_.end()) return at - units_.begin();
  if (has_emitted_ && last_text_.empty())
    last_text_ = fmt::format(
        "operator {}: its C text is another for these sizes; one that reads "
        "them from NAME_size is compiled once (cleave/op.h)",
        unit.host_symbol.substr(unit.host_symbol.find('_') + 1));
  units_.push_back(std::move(unit));
  return units_.size() - 1;
}

// The functions that are new, or take more scalars than they did, in units of their own.
Status CodePool::emit_new(const schedule::SharedKernels& functions) {
  LoweredProgram apart;  // of these kernels alone
  schedule::SharedKernels changed;
  std::vector<size_t> numbers;
  functions_.resize(functions.kernels.size());
  for (size_t k = 0; k < functions.kernels.size(); ++k) {
    const loop::Kernel& kernel = functions.kernels[k];
    if (functions_[k] && functions_[k]->scalars == kernel.scalars.size()) continue;
    changed.uses.push_back({changed.kernels.size(), {}});
    changed.kernels.push_back(kernel);
    numbers.push_back(k);
  }
  if (numbers.empty()) return {};
  apart.kernels = changed.kernels;
  CLEAVE_TRY(EmittedCode code, backend_->emit(apart, changed));
  for (size_t i = 0; i < numbers.size(); ++i) {
    code.kernels[i].unit += units_.size();
    functions_[numbers[i]] =
        Function{std::move(code.kernels[i]), changed.kernels[i].scalars.size()};
  }
  std::ranges::move(code.units, std::back_inserter(units_));
  for (size_t u = 0; u < units_.size(); ++u)  // of functions that were replaced alone
    if (units_[u].from == SourceUnit::From::kernels &&
        std::ranges::none_of(functions_, [&](const auto& f) { return f->code.unit == u; }))
      units_[u] = {};
  return {};
}

Result<EmittedCode> CodePool::emit(const LoweredProgram& program,
                                   const schedule::SharedKernels& functions) {
  last_text_.clear();
  CLEAVE_CHECK(emit_new(functions));
  CLEAVE_TRY(EmittedCode host, backend_->emit(program, {}));
  EmittedCode out;
  std::map<size_t, size_t> unit_of;  // of the program, by that of the pool
  used_.clear();
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    EmittedKernel kernel = functions_[functions.uses[k].kernel]->code;
    if (!kernel.phases.empty()) {
      const auto [at, is_new] = unit_of.try_emplace(kernel.unit, used_.size());
      if (is_new) used_.push_back(kernel.unit);
      kernel.unit = at->second;
    }
    const std::vector<int64_t> extents = loop::phase_extents(program.kernels[k]);
    for (size_t p = 0; p < extents.size(); ++p) kernel.phases[p].extent = extents[p];
    kernel.work = program.kernels[k].work;
    out.kernels.push_back(std::move(kernel));
  }
  for (SourceUnit& unit : host.units) used_.push_back(host_unit(std::move(unit)));
  has_emitted_ = true;
  for (const size_t u : used_) out.units.push_back(units_[u]);
  return out;
}

Status CodePool::build(EmittedCode& code, Executor& executor, cache::Store* cache) {
  EmittedCode unloaded;
  std::vector<size_t> numbers;
  for (size_t u = 0; u < units_.size(); ++u) {
    if (units_[u].loaded || units_[u].text.empty()) continue;
    unloaded.units.push_back(units_[u]);
    numbers.push_back(u);
  }
  if (!numbers.empty()) {
    CLEAVE_TRY(BuiltCode built, backend_->build({}, unloaded, executor, cache));
    for (size_t i = 0; i < numbers.size(); ++i) {
      SourceUnit& unit = units_[numbers[i]];
      unit.loaded = std::move(built.units[i]);
      unit.key = std::move(built.unit_keys[i]);
    }
  }
  for (size_t u = 0; u < used_.size(); ++u) code.units[u] = units_[used_[u]];
  return {};
}

const std::shared_ptr<CodePool>& CodePool::part() {
  if (!part_) part_ = std::make_shared<CodePool>(backend_, nullptr);
  return part_;
}

}  // namespace cleave
