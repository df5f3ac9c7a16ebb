#include "test/sample/check_graph.h"

#include <cmath>

#include "test/sample/run_program.h"
#include "test/sample/sample_call.h"

namespace cleave::random {

Result<Verdict> check_graph(const RandomGraph& r, const OpRegistry& ops, CompilerChoice compiler) {
  return check_graph(r, ops, RunChoice{.compile = {.threads = 2, .compiler = compiler}});
}

Result<Verdict> check_graph(const RandomGraph& r, const OpRegistry& ops, const RunChoice& choice) {
  CLEAVE_TRY(const Arrays want, run_oracle(r.g, r.inputs));
  Verdict verdict;
  const Result<Arrays> got = run_chosen(choice, r.g, ops, r.inputs);
  if (!got.ok()) {
    if (got.failure().kind == ErrorKind::unsupported) return got.failure();
    if (!fails_by_rounding(r.g, r.inputs, got.failure().message)) {
      verdict.difference = got.failure().message;
      return verdict;
    }
    for (const Array& a : want) verdict.left_open += a.numel();
    return verdict;
  }
  // Fused or not, compiled or not, cut or not, on any threads: the same bits, but for the sign of a
  // NaN. Only passes may round otherwise.
  RunChoice plainest{.compile = choice.compile, .fuse = false};
  plainest.compile.threads = 1;
  plainest.compile.compiler = CompilerChoice::none;
  CLEAVE_TRY(const Arrays single, run_chosen(plainest, r.g, ops, r.inputs));
  for (size_t at = 0; at < want.size() && verdict.difference.empty(); ++at)
    if (std::string why = law::difference((*got)[at], single[at], 0); !why.empty())
      verdict.difference = fmt::format("return {}: fused, other than call by call, it {}", at, why);
  if (!verdict.difference.empty()) return verdict;
  CLEAVE_TRY(verdict, compare_with_oracle(
                          r.g, r.inputs, *got,
                          choice.compile.strict ? Narrowing::kept : Narrowing::may_be_dropped));
  if (!verdict.difference.empty())
    verdict.difference = fmt::format("return {}, {}", verdict.at, verdict.difference);
  return verdict;
}

Result<Expectation> expectation_of(const RandomGraph& r, Narrowing narrowing) {
  Expectation out;
  CLEAVE_TRY(out.want, run_oracle(r.g, r.inputs));
  const std::vector<Arrays> moved = moved_oracles(r.g, r.inputs, narrowing);
  for (size_t at = 0; at < out.want.size(); ++at) {
    std::vector<const Array*> others;
    for (const Arrays& m : moved) others.push_back(&m[at]);
    const Allowance c(out.want[at], others);
    Array allowed(DType::f64, out.want[at].shape);
    for (int64_t k = 0; k < allowed.numel(); ++k)
      allowed.f[k] = c.is_open(k) ? INFINITY : c.error(k);
    out.allowed.push_back(std::move(allowed));
  }
  return out;
}

Result<std::string> symbolic_difference(const RandomGraph& symbolic, const RandomGraph& r) {
  CLEAVE_TRY(const Arrays got, run_oracle(symbolic.g, symbolic.inputs));
  CLEAVE_TRY(const Arrays want, run_oracle(r.g, r.inputs));
  if (got.size() != want.size())
    return fmt::format("with a symbol, {} results; with its value, {}", got.size(), want.size());
  for (size_t at = 0; at < want.size(); ++at)
    if (std::string why = law::difference(got[at], want[at], 2 * base_error_of(want[at].dtype));
        !why.empty())
      return fmt::format("with a symbol, return {} {}", at, why);
  return std::string();
}

}  // namespace cleave::random
