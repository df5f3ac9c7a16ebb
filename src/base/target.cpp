// See cleave/target.h.
#include "base/target.h"

#include <array>

namespace cleave {
namespace {

constexpr std::array<std::string_view, 4> levels = {"x86-64-v2", "x86-64-v3", "x86-64-v4",
                                                    "x86-64-v4-bf16"};

std::string_view level_of(InstructionSet set) { return levels[static_cast<size_t>(set)]; }

}  // namespace

Result<Target> parse_target(std::string_view text) {
  if (text == "native") return Target::here();
  for (size_t k = 0; k < levels.size(); ++k)
    if (text == levels[k]) return Target{static_cast<InstructionSet>(k)};
  if (text == "aarch64")
    return unsupported(
        "target aarch64: kernels of products and attention are written for x86-64 alone "
        "(src/runtime/vec_*.h); name native or one of {}",
        fmt::join(levels, ", "));
  return user_error("target {}: expected native, {}", text.substr(0, 60), fmt::join(levels, ", "));
}

Status check_runs_here(const Target& target) {
  if (target.runs_here()) return {};
  return unsupported(
      "target {}: this machine has no more than {}; a program for it can be planned and compiled "
      "here, not run",
      target.text(), level_of(Target::here().set));
}

Target Target::named(std::string_view text) { return value_or_throw(parse_target(text)); }

std::string_view Target::text() const { return is_native ? "native" : level_of(set); }

bool Target::runs_here() const { return set <= here().set; }

}  // namespace cleave
