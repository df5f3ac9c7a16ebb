#include "test/sample/run_choice.h"

#include <random>

#include "cleave/executor.h"
#include "compile/pytorch_program.h"
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
  return out;
}

namespace {

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
  std::optional<Graph> cut;
  if (choice.pytorch_budget >= 0 && g.is_joint()) {
    CLEAVE_TRY(cut, pytorch_program(g, ops, choice.compile, {.budget = choice.pytorch_budget}));
    options.is_cut = true;
  }
  if (choice.kept) return run_kept(cut ? *cut : g, ops, inputs, options);
  return law::run_graph(cut ? *cut : g, ops, inputs, options, options.threads);
}

}  // namespace cleave::random
