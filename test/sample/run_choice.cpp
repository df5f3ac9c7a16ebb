#include "test/sample/run_choice.h"

#include <map>
#include <random>

#include "cleave/executor.h"
#include "compile/stages.h"
#include "pass/pipeline.h"
#include "test/sample/kept_program.h"
#include "test/sample/run_program.h"
#include "test/targets.h"

namespace cleave::random {
namespace {

std::vector<std::string> pass_names(bool asked) {
  std::vector<std::string> out;
  for (const PassRow& row : pass_table())
    if (row.asked == asked) out.push_back(row.pass().name);
  return out;
}

}  // namespace

std::string RunChoice::text() const {
  std::string out = fmt::format("threads {}", compile.threads);
  if (compile.target != Target::here()) out += fmt::format(", target {}", compile.target.text());
  if (compile.compiler == CompilerChoice::none) out += ", interpreted";
  if (!fuse) out += ", fuse off";
  if (compile.strict) out += ", strict";
  for (const std::string& name : compile.passes_off) out += ", without " + name;
  if (!compile.passes_on.empty()) out += ", all passes";
  if (pytorch_budget >= 0) out += fmt::format(", mode pytorch at {}", pytorch_budget);
  if (kept) out += ", kept";
  if (pooled) out += ", pooled";
  return out;
}

RunChoice draw_choice(uint64_t seed, bool ships) {
  std::mt19937_64 rng(seed ^ 0x5eed);
  RunChoice out;
  if (ships) out.compile.compiler = CompilerChoice::automatic;
  constexpr int threads[] = {1, 2, 3, 16};
  out.compile.threads = threads[rng() % 4];
  out.fuse = rng() % 5 != 0;
  out.compile.target = test::target_of(rng());
  switch (rng() % 6) {
    case 0: out.compile.passes_off = {"all"}; break;
    case 1: out.compile.strict = true; break;
    case 2: {
      const std::vector<std::string> usual = pass_names(false);
      out.compile.passes_off = {usual[rng() % usual.size()]};
      break;
    }
    case 3: out.compile.passes_on = pass_names(true); break;
    default: break;
  }
  if (rng() % 6 == 0) out.pytorch_budget = static_cast<double>(rng() % 5) / 4;
  out.kept = rng() % 2 == 0;
  out.pooled = ships && rng() % 2 == 0;
  return out;
}

namespace {

// One for all graphs with this backend.
std::shared_ptr<CodePool> pool_for(const CompileOptions& options) {
  static std::map<std::string, std::shared_ptr<CodePool>> pools;
  auto& pool =
      pools[fmt::format("{} {}", static_cast<int>(options.compiler), options.target.text())];
  if (!pool) pool = std::make_shared<CodePool>(backend_for(options), nullptr);
  return pool;
}

Result<Arrays> run_pooled(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                          StageOptions options) {
  CLEAVE_TRY(const auto alone, CompiledProgram::compile(g, ops, options));
  options.pool = pool_for(options);
  CLEAVE_TRY(const auto pooled, CompiledProgram::compile(g, ops, options));
  const Result<law::Memory> want = law::run_program(alone, inputs, options.threads);
  const Result<law::Memory> got = law::run_program(pooled, inputs, options.threads);
  if (want.ok() != got.ok() || (!want.ok() && want.failure().message != got.failure().message))
    return bug("with functions of other graphs, the run says '{}', without '{}'",
               got.ok() ? "" : got.failure().message, want.ok() ? "" : want.failure().message);
  if (!got.ok()) return Failure(got.failure());
  if (*got != *want) return bug("with functions of other graphs, the results have other bits");
  return law::result_arrays(g, *got);
}

Result<Arrays> run_kept(const Graph& g, const OpRegistry& ops, const Arrays& inputs,
                        const StageOptions& options) {
  CLEAVE_TRY(const law::KeptProgram program, law::build_and_find(g, ops, options));
  const Result<law::Memory> built = law::run_program(program.built, inputs, options.threads);
  const Result<law::Memory> found = law::run_program(program.found, inputs, options.threads);
  if (built.ok() != found.ok() ||
      (!built.ok() && built.failure().message != found.failure().message))
    return bug("from the cache, the run says '{}', as it is built '{}'",
               found.ok() ? "" : found.failure().message,
               built.ok() ? "" : built.failure().message);
  if (!found.ok()) return Failure(found.failure());
  if (*found != *built) return bug("from the cache, the results have other bits");
  return law::result_arrays(g, *found);
}

}  // namespace

Result<Arrays> run_chosen(const RunChoice& choice, const Graph& g, const OpRegistry& ops,
                          const Arrays& inputs) {
  StageOptions options{choice.compile};
  options.fuse = choice.fuse;
  options.executor = make_thread_pool(options.threads);
  if (choice.pytorch_budget >= 0 && g.is_joint())
    options.partition = PytorchOptions{.budget = choice.pytorch_budget};
  if (choice.pooled) return run_pooled(g, ops, inputs, options);
  if (choice.kept) return run_kept(g, ops, inputs, options);
  return law::run_graph(g, ops, inputs, options, options.threads);
}

}  // namespace cleave::random
