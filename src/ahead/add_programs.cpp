#include "ahead/add_programs.h"

#include "ahead/entries.h"
#include "backend/make_backend.h"
#include "compile/stages.h"
#include "ir/strides.h"
#include "ir/text.h"

namespace cleave::ahead {
namespace {

using standalone::ProgramFile;
using Kernels = std::vector<loop::Kernel>;

// All that the programs will call: so a function is compiled once, for all its callers. The largest
// come first, as others take their functions from them.
Result<std::shared_ptr<CodePool>> pool_for(const Source& source, StageOptions stages) {
  std::vector<const Source::Program*> programs;
  for (size_t n = source.sized.size(); n-- > 0;) {
    programs.push_back(&source.sized[n].step);
    if (source.sized[n].gather) programs.push_back(&*source.sized[n].gather);
  }
  if (!stages.device.is_cpu())
    return unsupported("build: a library runs on processors, the program is compiled for {}",
                       stages.device.text());
  auto pool = std::make_shared<CodePool>(make_backend(stages.target, stages.compiler), nullptr);
  stages.dump_dir.clear();
  stages.observers.clear();
  struct Context {
    const std::vector<const Source::Program*>& programs;
    const OpRegistry& ops;
    const StageOptions& stages;
    const std::shared_ptr<Backend>& backend;
    std::vector<Result<Kernels>> out;
  } context{programs, *source.ops, stages, pool->backend(), {}};
  context.out.assign(programs.size(), Kernels());
  const auto schedule = [](void* c, long i) {
    auto& [all, ops, options, backend, out] = *static_cast<Context*>(c);
    const auto k = static_cast<size_t>(i);
    out[k] = scheduled_kernels(all[k]->graph, ops, options, backend);
  };
  stages.executor->parallel_for(static_cast<long>(programs.size()), schedule, &context);
  for (Result<Kernels>& made : context.out) {
    CLEAVE_TRY(const Kernels kernels, std::move(made));
    pool->learn(kernels);
  }
  return pool;
}

class Adder {
 public:
  Adder(const Source& source, const StageOptions& stages, ProgramFile& file, PackedCode& packed)
      : source_(source), stages_(stages), file_(file), packed_(packed) {}

  Status run() {
    if (programs_of(source_).size() > 1) {
      compute_each_time(stages_);
      CLEAVE_TRY(stages_.pool, pool_for(source_, stages_));
    }
    file_.sized.reserve(source_.sized.size());  // what folds_ refers to stays where it is
    for (const Source::Sized& from : source_.sized) {
      standalone::SizedEntry& to = file_.sized.emplace_back();
      to.sizes = from.sizes;
      CLEAVE_CHECK(add(from, from.step, to.step));
      if (from.gather) CLEAVE_CHECK(add(from, *from.gather, to.gather.emplace()));
    }
    CLEAVE_CHECK(add_entries(source_, file_));
    add_folded();
    CLEAVE_CHECK(packed_.name_callbacks());
    for (const PackedCode::Callback& c : packed_.callbacks()) file_.callbacks.push_back(c.name);
    return {};
  }

 private:
  Status add(const Source::Sized& sized, const Source::Program& from,
             standalone::ProgramEntry& to) {
    Report report;
    CLEAVE_TRY(const WrittenProgram written,
               write_program(from.graph, *source_.ops, stages_, report));
    if (stages_.pool && !stages_.pool->last_miss().empty())
      return bug("build: {}", stages_.pool->last_miss());
    to.code = packed_.add(written, "", sizes_text(sized.sizes));
    place_entries(source_, from, to);
    if (written.frozen.returns().empty()) return {};
    CLEAVE_TRY(const size_t folding, folding_of(from, written.frozen));
    folds_.push_back({&to, folding, placeholders_of(to.code.thunks)});
    return {};
  }

  // The number of the folding with this graph.
  Result<size_t> folding_of(const Source::Program& from, const Graph& frozen) {
    const auto [at, is_new] = foldings_.try_emplace(print(frozen), file_.foldings.size());
    if (!is_new) return at->second;
    StageOptions part = stages_;
    part.is_frozen_part = true;
    part.forward_results = 0;
    part.partition.reset();
    part.memory_budget = {};
    part.family = nullptr;
    part.pool = nullptr;
    Report report;
    CLEAVE_TRY(const WrittenProgram written, write_program(frozen, *source_.ops, part, report));
    standalone::ProgramEntry& entry = file_.foldings.emplace_back();
    entry.code = packed_.add(written, fmt::format("folding{}_", at->second), "");
    for (const standalone::ForeignEntry& call : entry.code.foreign)
      if (call.is_callback)
        return unsupported("build: %{} calls the host program, and depends on constants alone",
                           packed_.callbacks()[call.number].name);
    place_entries(source_, from, entry);
    frozen_.push_back(frozen);
    return at->second;
  }

  // Entries of the state for the results of foldings, behind those of the source.
  void add_folded() {
    std::vector<std::vector<size_t>> entries(frozen_.size());  // by result
    for (size_t f = 0; f < frozen_.size(); ++f)
      for (size_t k = 0; k < frozen_[f].returns().size(); ++k) {
        const int64_t bytes = memory_bytes(returned_type(frozen_[f], k));
        entries[f].push_back(file_.state.size());
        file_.state.push_back({.name = name_of(f, k),
                               .type = {DType::u8, {bytes}, {1}},
                               .kind = standalone::StateKind::folded,
                               .folding = f,
                               .result = k,
                               .bytes = bytes});
      }
    for (const Fold& fold : folds_)
      for (size_t k = 0; k < entries[fold.folding].size(); ++k) {
        const auto at = fold.placeholders.find(name_of(fold.folding, k));
        if (at == fold.placeholders.end()) continue;
        standalone::Placeholders& state = fold.program->state;
        state.resize(std::max(state.size(), entries[fold.folding][k] + 1));
        state[entries[fold.folding][k]] = at->second;
      }
  }

  std::string name_of(size_t folding, size_t result) const {
    return frozen_[folding].name(frozen_[folding].returns()[result].value);
  }

  std::string sizes_text(const std::vector<int64_t>& sizes) const {
    std::vector<std::string> items;
    for (size_t k = 0; k < sizes.size(); ++k)
      items.push_back(fmt::format("{}={}", source_.sizes[k].name, sizes[k]));
    return fmt::format("{}", fmt::join(items, ","));
  }

  // A program that reads what a folding computes.
  struct Fold {
    standalone::ProgramEntry* program;
    size_t folding;
    std::map<std::string, size_t> placeholders;
  };

  const Source& source_;
  StageOptions stages_;
  ProgramFile& file_;
  PackedCode& packed_;
  std::map<std::string, size_t> foldings_;  // by text
  std::vector<Graph> frozen_;
  std::vector<Fold> folds_;
};

}  // namespace

Status add_programs(const Source& source, const StageOptions& stages, standalone::ProgramFile& file,
                    PackedCode& packed) {
  return Adder(source, stages, file, packed).run();
}

}  // namespace cleave::ahead
