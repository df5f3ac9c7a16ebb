#include "tool/pytorch_rules.h"

#include <cmath>
#include <cstdlib>

namespace cleave::tool {
namespace {

struct Rule {
  const char* name;
  bool PytorchBans::* on;
};
constexpr Rule rules[] = {
    {"used_far_apart", &PytorchBans::used_far_apart},
    {"long_fusible_chains", &PytorchBans::long_fusible_chains},
    {"materialized_backward", &PytorchBans::materialized_backward},
    {"not_in_allowlist", &PytorchBans::not_in_allowlist},
    {"reductions", &PytorchBans::reductions},
};

// The value that the option names; the first one if the option isn't given.
template <class E>
Result<E> choice(const char* option, const std::string& text,
                 std::initializer_list<std::pair<const char*, E>> all) {
  if (text.empty()) return all.begin()->second;
  std::string names;
  for (const auto& [name, value] : all) {
    if (text == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return user_error("{} {}: expected one of {}", option, text, names);
}

std::string rule_names() {
  std::string names;
  for (const Rule& r : rules) names += fmt::format("{}{}", names.empty() ? "" : ", ", r.name);
  return names;
}

}  // namespace

void PytorchRules::add_to(OptionList& options) {
  options.option("--solver", solver, "pytorch: of the knapsack: dp, greedy, ilp");
  options.option("--estimator", estimator, "pytorch: of time: flops, testing, profile (measured)");
  options.option(
      "--ban", bans,
      "pytorch: NAME=off (or on) for a rule that keeps calls from running again: " + rule_names());
  options.flag("--aggressive", aggressive, "pytorch: all bans off but that on reductions");
  options.flag("--recompute-views", recompute_views,
               "pytorch: views are never saved, and may always run again");
  options.flag("--pay-for-params", pay_for_params,
               "pytorch: saving a parameter costs its bytes (the rule of 2024)");
  options.option("--max-distance", max_distance,
                 "pytorch: calls farther from the backward don't run again");
}

bool PytorchRules::given() const {
  return !solver.empty() || !estimator.empty() || !bans.empty() || aggressive || recompute_views ||
         pay_for_params || max_distance != PytorchBans{}.max_distance;
}

Status PytorchRules::check(std::string_view mode) const {
  if (mode == "pytorch" || !given()) return {};
  return user_error(
      "--solver, --estimator, --ban, --aggressive, --recompute-views, --pay-for-params, "
      "--max-distance: of mode pytorch alone");
}

Result<PytorchOptions> PytorchRules::options(const std::string& budget) const {
  PytorchOptions options;
  if (!budget.empty()) { CLEAVE_TRY(options.budget, pytorch_budget(budget)); }
  CLEAVE_TRY(options.solver, choice<KnapsackSolver>("--solver", solver,
                                                    {{"dp", KnapsackSolver::dp},
                                                     {"greedy", KnapsackSolver::greedy},
                                                     {"ilp", KnapsackSolver::ilp}}));
  CLEAVE_TRY(options.estimator, choice<RuntimeEstimator>("--estimator", estimator,
                                                         {{"flops", RuntimeEstimator::flops},
                                                          {"profile", RuntimeEstimator::profile},
                                                          {"testing", RuntimeEstimator::testing}}));
  for (const std::string& ban : bans) {
    const size_t sign = ban.find('=');
    const std::string name = ban.substr(0, sign);
    const std::string value = sign == std::string::npos ? "" : ban.substr(sign + 1);
    if (value != "on" && value != "off")
      return user_error("--ban {}: expected NAME=on or NAME=off", ban);
    const Rule* rule = std::find_if(std::begin(rules), std::end(rules),
                                    [&](const Rule& r) { return r.name == name; });
    if (rule == std::end(rules))
      return user_error("--ban {}: no such rule; there are {}", ban, rule_names());
    options.bans.*rule->on = value == "on";
  }
  if (max_distance < 0) return user_error("--max-distance {}: expected at least 0", max_distance);
  options.aggressive = aggressive;
  options.bans.recompute_views = recompute_views;
  options.bans.parameters_are_free = !pay_for_params;
  options.bans.max_distance = max_distance;
  return options;
}

Result<double> pytorch_budget(const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string number = percent ? text.substr(0, text.size() - 1) : text;
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !std::isfinite(value))
    return user_error("--budget {}: expected a part such as 0.25 or 25%", text);
  return percent ? value / 100 : value;
}

}  // namespace cleave::tool
