// Functions of matrices that stand on a factorization: what torch.export.export leaves of
// torch.linalg in its graphs. What raises an error in PyTorch ends the run with its first words:
//
//   linalg_cholesky(x)  ->  L, info = linalg_cholesky_ex(x)
//                           _functional_assert_async(all(info == 0), L)
#include <cmath>

#include "import/exported/factor_errors.h"
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

V matrix_of(Call& c) { return c.tensor(c.find("A") ? "A" : "self"); }

// y, once info is known to be 0 for each matrix.
V checked(Call& c, V y, V info, const std::string& message) {
  const V holds = c.op("all", {c.op("eq", {info, 0})});
  return c.op("_functional_assert_async", {holds, y}, {{"assert_msg", message}});
}

Values made(Call& c, const std::string& op, std::vector<CallOperand> operands,
            NamedAttrs attrs = {}) {
  Values out = c.ops(op, std::move(operands), std::move(attrs));
  if (out.empty()) out.resize(4);  // after a failure
  return out;
}

Values cholesky(Call& c, const char* error) {
  const Values both =
      made(c, "linalg_cholesky_ex", {c.tensor("self")}, {{"upper", c.flag("upper", false)}});
  return {checked(c, both[0], both[1], error)};
}

Values inverse(Call& c) { return {inverse_of(c, matrix_of(c))}; }

Values solved(Call& c) {
  return made(c, "_linalg_solve_ex", {c.tensor("A"), c.tensor("B")},
              {{"left", c.flag("left", true)}});
}

Values solve(Call& c) {
  const Values all = solved(c);
  return {checked(c, all[0], all[3], no_solution)};
}

Values solve_ex(Call& c) {
  const Values all = solved(c);
  const bool checks = c.flag("check_errors", false);
  return {checks ? checked(c, all[0], all[3], no_solution) : all[0], all[3]};
}

Values factored(Call& c) {
  const Values all =
      made(c, "linalg_lu_factor_ex", {matrix_of(c)}, {{"pivot", c.flag("pivot", true)}});
  return {checked(c, all[0], all[2], zero_on_diagonal), all[1]};
}

Values lu(Call& c) {
  const Values all =
      made(c, "linalg_lu_factor_ex", {matrix_of(c)}, {{"pivot", c.flag("pivot", true)}});
  return made(c, "lu_unpack", {all[0], all[1]});
}

Values lu_solve(Call& c) {
  return {c.op("linalg_lu_solve", {c.tensor("LU_data"), c.tensor("LU_pivots"), c.tensor("self")})};
}

Values det(Call& c) { return {made(c, "_linalg_det", {matrix_of(c)})[0]}; }

Values slogdet(Call& c) {
  Values all = made(c, "_linalg_slogdet", {matrix_of(c)});
  all.resize(2);
  return all;
}

Values logdet(Call& c) {
  const Values both = slogdet(c);
  return {c.op("where", {c.op("eq", {both[0], -1.0}), NAN, both[1]})};
}

}  // namespace

ValueId inverse_of(Call& c, ValueId x) {
  const Values both = made(c, "linalg_inv_ex", {x});
  return checked(c, both[0], both[1], singular);
}

std::span<const RuleRow> factor_rules() {
  static constexpr RuleRow rows[] = {
      {"linalg_cholesky", [](Call& c) { return cholesky(c, linalg_not_positive); }},
      {"cholesky", [](Call& c) { return cholesky(c, not_positive); }},
      {"linalg_inv", inverse},
      {"inverse", inverse},
      {"linalg_solve", solve},
      {"linalg_solve_ex", solve_ex},
      {"linalg_lu_factor", factored},
      {"linalg_lu", lu},
      {"lu_solve", lu_solve},
      {"linalg_det", det},
      {"det", det},
      {"linalg_slogdet", slogdet},
      {"slogdet", slogdet},
      {"logdet", logdet},
  };
  return rows;
}

}  // namespace cleave::exported
