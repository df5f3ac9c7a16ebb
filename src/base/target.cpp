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
constexpr std::array levels = {Level{"x86-64-v2", InstructionSet::plain},
                               Level{"x86-64-v3", InstructionSet::avx2},
                               Level{"x86-64-v4", InstructionSet::avx512},
                               Level{"x86-64-v4-bf16", InstructionSet::avx512bf16},
                               Level{"x86-64-v4-amx", InstructionSet::amx},
                               Level{"aarch64", InstructionSet::neon}};

struct Architecture {
  std::string_view text;
  int number;
};
constexpr std::array architectures = {
    Architecture{"sm_75", 75},   Architecture{"sm_80", 80},   Architecture{"sm_86", 86},
    Architecture{"sm_87", 87},   Architecture{"sm_88", 88},   Architecture{"sm_89", 89},
    Architecture{"sm_90", 90},   Architecture{"sm_100", 100}, Architecture{"sm_103", 103},
    Architecture{"sm_110", 110}, Architecture{"sm_120", 120}, Architecture{"sm_121", 121}};

// An H200: products of f32 without tf32, copies of HBM3e, its 50 MB of cache.
constexpr MachineRates h200 = {.product_gflops = 50'000,
                               .half_product_gflops = 600'000,
                               .pointwise_gflops = 30'000,
                               .memory_gigabytes = 4300,
                               .cache_gigabytes = 10'000,
                               .call_ns = 2500,
                               .cache_bytes = 50 << 20,
                               .host_gigabytes = 50};

bool is_known(int arch) {
  return std::ranges::find(architectures, arch, &Architecture::number) != architectures.end();
}

Result<Target> cuda_here() {
  const Result<int> arch = detect_cuda_arch();
  if (!arch.ok())
    return unsupported(
        "target cuda: {}; a program for a GPU can be planned and compiled here by its "
        "architecture, such as sm_90",
        arch.failure().message);
  if (!is_known(*arch))
    return unsupported("target cuda: this machine's GPU is an sm_{}, which cleave doesn't know",
                       *arch);
  return Target{.is_native = true, .rates = h200, .cuda_arch = *arch};
}

Status check_cuda_runs_here(const Target& target) {
  const Result<int> here = detect_cuda_arch();
  constexpr std::string_view so = "a program for it can be planned and compiled here, not run";
  if (!here.ok())
    return unsupported("target {}: {}; {}", target.text(), here.failure().message, so);
  if (*here / 10 == target.cuda_arch / 10 && *here >= target.cuda_arch) return {};
  return unsupported("target {}: this machine's GPU is an sm_{}; {}", target.text(), *here, so);
}

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
  if (text == "cuda") return cuda_here();
  const auto arch = std::ranges::find(architectures, text, &Architecture::text);
  if (arch != architectures.end()) return Target{.rates = h200, .cuda_arch = arch->number};
  std::vector<std::string_view> names = {"native"};
  for (const Level& level : levels) names.push_back(level.text);
  return user_error("target {}: expected {}, cuda, or a GPU's architecture such as sm_90",
                    text.substr(0, 60), fmt::join(names, ", "));
}

Target cuda_target(int index) {
  constexpr int of_h200 = 90;
  const Result<int> arch = detect_cuda_arch(index);
  const bool is_here = arch.ok() && is_known(*arch);
  return {.is_native = is_here, .rates = h200, .cuda_arch = is_here ? *arch : of_h200};
}

MachineRates common_rates(const Target& target) {
  return target.cuda_arch != 0 ? h200 : MachineRates();
}

Status check_runs_here(const Target& target) {
  if (target.cuda_arch != 0) return check_cuda_runs_here(target);
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

std::string_view Target::text() const {
  if (cuda_arch == 0) return is_native ? "native" : level_of(set);
  const auto at = std::ranges::find(architectures, cuda_arch, &Architecture::number);
  return is_native ? "cuda" : at == architectures.end() ? "sm_unknown" : at->text;
}

bool Target::runs_here() const {
  if (cuda_arch != 0) return check_cuda_runs_here(*this).ok();
  const InstructionSet most = here().set;
  return architecture_of(set) == architecture_of(most) && set <= most;
}

}  // namespace cleave
