// fuzz_rewrites [N [SEED]]: N random graphs, every other one with its gradients, as all passes
// leave them and as they were, by the oracle; of half of them the strict passes too, of the other
// half those that run only where they are asked for. Exit status: 0 none differs, 1 some do, 2 it
// can't run.
#include "op/registry.h"
#include "test/sample/check_passes.h"
#include "test/sample/program/main.h"

namespace cleave::random {
namespace {

std::vector<std::string> asked_passes() {
  std::vector<std::string> names;
  for (const PassRow& row : pass_table())
    if (row.asked) names.push_back(row.pass().name);
  return names;
}

int run(const Arguments& given) {
  const uint64_t n = given.number(1, "N", 1000), seed = given.number(2, "SEED", 0);
  const OpRegistry ops = value_or_throw(core_ops());
  const CompileOptions usual, strict{.strict = true}, all{.passes_on = asked_passes()};
  int64_t rewritten = 0, matches = 0, wrong = 0;
  for (uint64_t k = seed; k < seed + n; ++k)
    for (const CompileOptions* options : {&usual, k % 4 < 2 ? &strict : &all}) {
      const std::string at = fmt::format("seed {}{}", k,
                                         options == &strict ? ", strict"
                                         : options == &all  ? ", with those asked for"
                                                            : "");
      wrong += failures(at, [&] {
        const PassVerdict v = value_or_throw(check_passes(ops, k, *options));
        rewritten += v.matches > 0;
        matches += v.matches;
        if (!v.wrong.empty() && ++wrong <= 5) fmt::print("{}: {}\n", at, v.wrong);
      });
    }
  fmt::print("{} graphs from seed {}, twice; rewritten {}, by {} matches; {} wrong\n", n, seed,
             rewritten, matches, wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
