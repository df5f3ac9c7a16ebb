// fuzz_passes [N [SEED [PASS]]]: random instances of the cases of each pass's golden (of PASS
// alone), rewritten and compared with what they were, by the oracle, forward and backward; round by
// round, one of each case, until each rule has matched in N of them, but 20 N rounds at the most.
// Prints in how many each rule matched, ! where in fewer than N. Exit status: 0 none differs, 1
// some do, 2 it can't run.
#include <algorithm>
#include <map>

#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/pass_instance.h"
#include "test/sample/program/main.h"

namespace cleave::random {
namespace {

struct Totals {
  int64_t instances = 0, matched = 0, wrong = 0;
  std::map<std::string, int64_t> rules;  // instances in which each matched
};

void check_instance(const PassRow& row, const Pass& pass, const Graph& golden,
                    const OpRegistry& ops, uint64_t seed, Totals& totals) {
  const RandomGraph r =
      value_or_throw(pass_instance(golden, ops, seed, {.open_rows = pass.assumes_open_rows}));
  const Result<PassVerdict> v = check_pass(row, r, ops, seed);
  ++totals.instances;
  const std::string wrong = v.ok() ? v->wrong : v.failure().message;
  if (v.ok()) {
    totals.matched += v->matches > 0;
    for (const RuleCount& c : v->rules) totals.rules[c.rule] += c.matches > 0;
  }
  if (!wrong.empty() && ++totals.wrong <= 3)
    fmt::print("{}: seed {}: {}\n{}\n", pass.name, seed, wrong, print(r.g));
}

bool is_enough(const Pass& pass, const Totals& totals, int64_t n) {
  if (pass.run) return totals.matched >= n;
  return std::ranges::all_of(pass.rules, [&](const Rule& rule) {
    const auto at = totals.rules.find(rule.name);
    return at != totals.rules.end() && at->second >= n;
  });
}

Totals check_rules(const PassRow& row, const OpRegistry& ops, int64_t n, uint64_t seed) {
  const Pass pass = row.pass();
  std::vector<Graph> cases;
  for (const golden::Case& c : value_or_throw(golden::cases_of(row)))
    cases.push_back(value_or_throw(parse(c.before, pass.name, ops)).main);
  Totals totals;
  for (int64_t round = 0; round < 20 * n && !is_enough(pass, totals, n); ++round, ++seed)
    for (const Graph& g : cases)
      totals.wrong += failures(fmt::format("{}: seed {}", pass.name, seed),
                               [&] { check_instance(row, pass, g, ops, seed, totals); });
  return totals;
}

int run(const Arguments& given) {
  const auto n = static_cast<int64_t>(given.number(1, "N", 100));
  const uint64_t seed = given.number(2, "SEED", 0);
  const std::string only = given.text(3, "");
  const OpRegistry ops = value_or_throw(core_ops());
  int64_t instances = 0, wrong = 0;
  for (const PassRow& row : pass_table()) {
    if (row.again) continue;
    const Pass pass = row.pass();
    if (!only.empty() && only != pass.name) continue;
    const Totals totals = check_rules(row, ops, n, seed);
    fmt::print("{:<28} {:>7} instances, {:>7} matched{}, {} wrong", pass.name, totals.instances,
               totals.matched, totals.matched < n ? "!" : "", totals.wrong);
    for (const auto& [rule, matched] : totals.rules)
      fmt::print("  {} {}{}", rule, matched, matched < n ? "!" : "");
    fmt::print("\n");
    std::fflush(stdout);
    instances += totals.instances;
    wrong += totals.wrong;
  }
  fmt::print("{} instances from seed {}, {} wrong\n", instances, seed, wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
