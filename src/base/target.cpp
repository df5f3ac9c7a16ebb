// See cleave/target.h.
#include "base/target.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cleave {
namespace {

struct Level {
  std::string_view text;
  InstructionSet set;
};
constexpr std::array levels = {
    Level{"x86-64-v2", InstructionSet::plain}, Level{"x86-64-v3", InstructionSet::avx2},
    Level{"x86-64-v4", InstructionSet::avx512}, Level{"x86-64-v4-bf16", InstructionSet::avx512bf16},
    Level{"aarch64", InstructionSet::neon}};

std::string_view level_of(InstructionSet set) {
  return std::ranges::find(levels, set, &Level::set)->text;
}

}  // namespace

std::string_view architecture_of(InstructionSet set) {
  return set == InstructionSet::neon ? "aarch64" : "x86-64";
}

Result<Target> parse_target(std::string_view text) {
  if (text == "native") return Target::here();
  const auto at = std::ranges::find(levels, text, &Level::text);
  if (at != levels.end()) return Target{at->set};
  std::vector<std::string_view> names = {"native"};
  for (const Level& level : levels) names.push_back(level.text);
  return user_error("target {}: expected {}", text.substr(0, 60), fmt::join(names, ", "));
}

Status check_runs_here(const Target& target) {
  if (target.runs_here()) return {};
  const InstructionSet here = Target::here().set;
  if (architecture_of(target.set) != architecture_of(here))
    return unsupported(
        "target {}: this machine is of {}; a program for it can be planned here, not run",
        target.text(), architecture_of(here));
  return unsupported(
      "target {}: this machine has no more than {}; a program for it can be planned and compiled "
      "here, not run",
      target.text(), level_of(here));
}

Target Target::named(std::string_view text) { return value_or_throw(parse_target(text)); }

std::string_view Target::text() const { return is_native ? "native" : level_of(set); }

bool Target::runs_here() const {
  const InstructionSet most = here().set;
  return architecture_of(set) == architecture_of(most) && set <= most;
}

}  // namespace cleave
