// fuzz_rewrites [N [SEED]]: N random graphs, every other one with its gradients, as all passes
// leave them and as they were, by the oracle; of half of the graphs the strict passes too. Exit
// status: 0 none differs, 1 some do.
#include <fmt/format.h>

#include <cstdlib>

#include "op/registry.h"
#include "test/sample/check_passes.h"

namespace cleave::random {
namespace {

int run(int64_t n, uint64_t seed) {
  const OpRegistry ops = value_or_throw(core_ops());
  int64_t rewritten = 0, matches = 0, wrong = 0, strict = 0;
  for (uint64_t k = seed; k < seed + static_cast<uint64_t>(n); ++k)
    for (const bool is_strict : {false, true}) {
      if (is_strict && k % 4 >= 2) continue;
      const Result<PassVerdict> v = check_passes(ops, k, {.strict = is_strict});
      const std::string why = v.ok() ? v->wrong : v.failure().message;
      if (v.ok() && v->matches > 0) {
        (is_strict ? strict : rewritten) += 1;
        if (!is_strict) matches += v->matches;
      }
      if (!why.empty() && ++wrong <= 5)
        fmt::print("seed {}{}: {}\n", k, is_strict ? ", strict" : "", why);
    }
  fmt::print("{} graphs from seed {}, {} of them rewritten, {} times; {} strictly; {} wrong\n", n,
             seed, rewritten, matches, strict, wrong);
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
