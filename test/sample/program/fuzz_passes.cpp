// fuzz_passes [N [SEED [PASS]]]: N random instances of each case of each pass's golden (of PASS
// alone), rewritten and compared with what they were, by the oracle, forward and backward. Prints
// for each rule how often it matched. Exit status: 0 none differs, 1 some do.
#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/pass_instance.h"

namespace cleave::random {
namespace {

struct Totals {
  int64_t instances = 0, matched = 0, wrong = 0;
  std::map<std::string, int64_t> rules;
};

void check_case(const PassRow& row, const Graph& golden, const OpRegistry& ops, uint64_t seed,
                int64_t n, Totals& totals) {
  const Pass pass = row.pass();
  for (int64_t k = 0; k < n; ++k, ++seed) {
    const RandomGraph r =
        value_or_throw(pass_instance(golden, ops, seed, {.open_rows = pass.assumes_open_rows}));
    const Result<PassVerdict> v = check_pass(row, r, ops, seed);
    ++totals.instances;
    const std::string wrong = v.ok() ? v->wrong : v.failure().message;
    if (v.ok()) {
      totals.matched += v->matches > 0;
      for (const RuleCount& c : v->rules) totals.rules[c.rule] += c.matches;
    }
    if (wrong.empty()) continue;
    if (++totals.wrong <= 3)
      fmt::print("{}: seed {}: {}\n{}\n", pass.name, seed, wrong, print(r.g));
  }
}

int run(int64_t n, uint64_t seed, const std::string& only) {
  const OpRegistry ops = value_or_throw(core_ops());
  int64_t instances = 0, wrong = 0;
  for (const PassRow& row : pass_table()) {
    const Pass pass = row.pass();
    if (!only.empty() && only != pass.name) continue;
    Totals totals;
    for (const golden::Case& c : value_or_throw(golden::cases_of(row))) {
      const Graph g = value_or_throw(parse(c.before, pass.name, ops)).main;
      check_case(row, g, ops, seed, n, totals);
    }
    fmt::print("{:<28} {:>7} instances, {:>7} matched, {} wrong", pass.name, totals.instances,
               totals.matched, totals.wrong);
    for (const auto& [rule, matches] : totals.rules) fmt::print("  {} {}", rule, matches);
    fmt::print("\n");
    instances += totals.instances;
    wrong += totals.wrong;
  }
  fmt::print("{} instances from seed {}, {} wrong\n", instances, seed, wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  try {
    return cleave::random::run(argc > 1 ? std::atol(argv[1]) : 100,
                               argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0,
                               argc > 3 ? argv[3] : "");
  } catch (const cleave::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
