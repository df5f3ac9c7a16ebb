// PytorchOptions as a text: pytorch,budget:0.5,solver:greedy,used_far_apart:false.
#include <algorithm>
#include <array>
#include <span>

#include "compile/option_value.h"

namespace cleave {
namespace {

// In the order of their values.
constexpr std::array<std::string_view, 3> solvers = {"dp", "greedy", "ilp"};
constexpr std::array<std::string_view, 3> estimators = {"flops", "testing", "profile"};

constexpr std::pair<std::string_view, bool PytorchBans::*> flags[] = {
    {"used_far_apart", &PytorchBans::used_far_apart},
    {"long_fusible_chains", &PytorchBans::long_fusible_chains},
    {"materialized_backward", &PytorchBans::materialized_backward},
    {"not_in_allowlist", &PytorchBans::not_in_allowlist},
    {"reductions", &PytorchBans::reductions},
    {"recompute_views", &PytorchBans::recompute_views},
    {"parameters_are_free", &PytorchBans::parameters_are_free},
};

template <class E>
bool read_name(std::string_view text, std::span<const std::string_view> names, E& v) {
  const auto at = std::ranges::find(names, text);
  if (at == names.end()) return false;
  v = static_cast<E>(at - names.begin());
  return true;
}

bool read_field(std::string_view name, std::string_view value, PytorchOptions& o) {
  if (name == "budget") return read_value(value, o.budget).ok() && o.budget >= 0 && o.budget <= 1;
  if (name == "solver") return read_name(value, solvers, o.solver);
  if (name == "estimator") return read_name(value, estimators, o.estimator);
  if (name == "aggressive") return read_value(value, o.aggressive).ok();
  if (name == "max_distance")
    return read_value(value, o.bans.max_distance).ok() && o.bans.max_distance >= 0;
  for (const auto& [flag, field] : flags)
    if (name == flag) return read_value(value, o.bans.*field).ok();
  return false;
}

}  // namespace

std::string text_of(const std::optional<PytorchOptions>& v) {
  if (!v) return "none";
  const PytorchOptions usual;
  std::string out = "pytorch";
  const auto add = [&](std::string_view name, const std::string& value,
                       const std::string& by_default) {
    if (value != by_default) out += fmt::format(",{}:{}", name, value);
  };
  const auto name_of = [](const auto& names, auto e) {
    return std::string(names[static_cast<size_t>(e)]);
  };
  add("budget", text_of(v->budget), text_of(usual.budget));
  add("solver", name_of(solvers, v->solver), name_of(solvers, usual.solver));
  add("estimator", name_of(estimators, v->estimator), name_of(estimators, usual.estimator));
  for (const auto& [name, field] : flags)
    add(name, text_of(v->bans.*field), text_of(usual.bans.*field));
  add("max_distance", text_of(v->bans.max_distance), text_of(usual.bans.max_distance));
  add("aggressive", text_of(v->aggressive), text_of(usual.aggressive));
  return out;
}

Status read_value(std::string_view text, std::optional<PytorchOptions>& v) {
  v.reset();
  if (text == "none") return {};
  const size_t end = std::min(text.find(','), text.size());
  if (text.substr(0, end) != "pytorch") return Failure();
  PytorchOptions read;
  for (text.remove_prefix(end); !text.empty();) {
    text.remove_prefix(1);
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(item.size());
    const size_t colon = item.find(':');
    if (colon == item.npos || !read_field(item.substr(0, colon), item.substr(colon + 1), read))
      return Failure();
  }
  v = read;
  return {};
}

}  // namespace cleave
