#include "test/sample/check_passes.h"

#include <cmath>

#include "interp/interpret.h"
#include "ir/strides.h"
#include "ir/text.h"
#include "test/sample/check_graph.h"
#include "test/sample/device_graph.h"
#include "test/sample/strided_graph.h"

namespace cleave::random {
namespace {

// The allowed relative difference of a strict program's floating elements.
constexpr double strict_tolerance = 1e-7;

std::string difference(const Arrays& got, const Expectation& e) {
  for (size_t at = 0; at < e.want.size(); ++at)
    for (int64_t k = 0; k < e.want[at].numel(); ++k) {
      const double a = got[at].number(k), b = e.want[at].number(k),
                   most = e.allowed[at].f[static_cast<size_t>(k)];
      if (a == b || (std::isnan(a) && std::isnan(b)) || std::isinf(most)) continue;
      if (!(std::fabs(a - b) <= most))
        return fmt::format("return {}, element {}: {}, expected {} within {:.2g}", at, k, a, b,
                           most);
    }
  return "";
}

std::string strict_difference(const Arrays& got, const Arrays& want) {
  for (size_t at = 0; at < want.size(); ++at)
    if (std::string why = law::difference(got[at], want[at], strict_tolerance); !why.empty())
      return fmt::format("return {}: {}", at, why);
  return "";
}

// Checks that the passes keep the results' strides.
std::string moved_result(const Graph& before, const Graph& after) {
  for (size_t k = 0; k < before.returns().size(); ++k)
    if (strides_of(returned_type(before, k)) != strides_of(returned_type(after, k)))
      return fmt::format("return {} was {}, is {}", k, returned_type(before, k).text(),
                         returned_type(after, k).text());
  return "";
}

// A result that, after a pass, no longer depends on what is trained has no cotangent: its gradients
// were zeros.
Result<Arrays> computed(const Graph& g, const RandomGraph& r) {
  std::map<std::string, Array> inputs;
  for (size_t k = 0; k < r.inputs.size(); ++k) {
    const std::string& name = r.g.name(r.g.placeholders()[k].value);
    if (g.find(name).valid()) inputs.emplace(name, r.inputs[k]);
  }
  return interpret(g, inputs);
}

Result<int64_t> run_stages(Graph& g, const OpRegistry& ops, const CompileOptions& options,
                           std::span<const PassStage> stages) {
  int64_t matches = 0;
  for (const PassStage stage : stages) {
    CLEAVE_TRY(const std::vector<CompilePass> reports, run_stage(stage, g, ops, options));
    for (const CompilePass& report : reports) matches += report.matches;
    CLEAVE_CHECK(verify(g));
  }
  return matches;
}

}  // namespace

Result<RandomGraph> pass_graph(const OpRegistry& ops, uint64_t seed) {
  CLEAVE_TRY(RandomGraph r, random_graph(ops, seed, {}));
  const Result<bool> is_cast = cast_some(r, ops, seed);
  if (!is_cast.ok()) return Failure(is_cast.failure());
  if (seed % 4 == 2) return with_strides(std::move(r), seed);
  return seed % 7 == 3 ? with_mixed_devices(r, seed) : r;
}

Result<int64_t> run_all_stages(Graph& g, const OpRegistry& ops, const CompileOptions& options) {
  return run_stages(g, ops, options, pass_stages);
}

Result<PassVerdict> check_passes(const OpRegistry& ops, uint64_t seed,
                                 const CompileOptions& options) {
  CLEAVE_TRY(RandomGraph before, pass_graph(ops, seed));
  const bool is_imported = seed % 8 == 5;  // a joint graph from the first pass on
  if (is_imported) { CLEAVE_TRY(before, with_gradients(before, ops, seed)); }
  RandomGraph after = before;
  const std::span<const PassStage> stages(pass_stages);
  PassVerdict verdict;
  CLEAVE_TRY(verdict.matches, run_stages(after.g, ops, options, stages.first(1)));
  if (seed % 2 == 1 && !is_imported) {
    CLEAVE_TRY(before, with_gradients(before, ops, seed));
    CLEAVE_TRY(after, with_gradients(after, ops, seed));
  }
  CLEAVE_TRY(const int64_t more, run_stages(after.g, ops, options, stages.subspan(1)));
  verdict.matches += more;
  if (verdict.matches == 0) return verdict;
  verdict.wrong = moved_result(before.g, after.g);
  if (!verdict.wrong.empty()) return verdict;
  CLEAVE_TRY(const Arrays got, computed(after.g, before));
  if (options.strict) {
    CLEAVE_TRY(const Arrays want, computed(before.g, before));
    verdict.wrong = strict_difference(got, want);
  } else {
    CLEAVE_TRY(const Expectation want, expectation_of(before, Narrowing::may_be_dropped));
    verdict.wrong = difference(got, want);
  }
  if (!verdict.wrong.empty())
    verdict.wrong += fmt::format("\n{}{}", print(before.g), print(after.g));
  return verdict;
}

}  // namespace cleave::random
