// fuzz_rewrites [N [SEED]]: N random graphs, every other one with its gradients, as all passes
// leave them and as they were, by the oracle; of half of them the strict passes too, of the other
// half those that run only where they are asked for. Exit status: 0 none differs, 1 some do.
#include <fmt/format.h>

#include <cstdlib>

#include "op/registry.h"
#include "test/sample/check_passes.h"

namespace cleave::random {
namespace {

std::vector<std::string> asked_passes() {
  std::vector<std::string> names;
  for (const PassRow& row : pass_table())
    if (row.asked) names.push_back(row.pass().name);
  return names;
}

int run(int64_t n, uint64_t seed) {
  const OpRegistry ops = value_or_throw(core_ops());
  const PassOptions usual, strict{.strict = true}, all{.on = asked_passes()};
  int64_t rewritten = 0, matches = 0, wrong = 0;
  for (uint64_t k = seed; k < seed + static_cast<uint64_t>(n); ++k)
    for (const PassOptions* options : {&usual, k % 4 < 2 ? &strict : &all}) {
      const Result<PassVerdict> v = check_passes(ops, k, *options);
      const std::string why = v.ok() ? v->wrong : v.failure().message;
      rewritten += v.ok() && v->matches > 0;
      if (v.ok()) matches += v->matches;
      if (!why.empty() && ++wrong <= 5)
        fmt::print("seed {}{}: {}\n", k,
                   options == &strict ? ", strict"
                   : options == &all  ? ", with those asked for"
                                      : "",
                   why);
    }
  fmt::print("{} graphs from seed {}, twice; rewritten {}, by {} matches; {} wrong\n", n, seed,
             rewritten, matches, wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  try {
    return cleave::random::run(argc > 1 ? std::atol(argv[1]) : 1000,
                               argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0);
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
