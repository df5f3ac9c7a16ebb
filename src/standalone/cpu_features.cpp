#include "standalone/cpu_features.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/target.h"

namespace cleave::standalone {
namespace {

// The levels of the x86-64 psABI, and what a native target may use beyond them.
constexpr std::array<std::string_view, 5> level_2 = {"popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"};
constexpr std::array<std::string_view, 6> level_3 = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma"};
constexpr std::array<std::string_view, 5> level_4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq",
                                                     "avx512vl"};

struct Feature {
  std::string_view name;
  bool is_here;
};

std::vector<Feature> all_features() {
  std::vector<Feature> out;
#if defined(__x86_64__)
  __builtin_cpu_init();
#define CLEAVE_FEATURE(name) out.push_back({name, __builtin_cpu_supports(name) != 0})
  CLEAVE_FEATURE("popcnt");
  CLEAVE_FEATURE("sse3");
  CLEAVE_FEATURE("ssse3");
  CLEAVE_FEATURE("sse4.1");
  CLEAVE_FEATURE("sse4.2");
  CLEAVE_FEATURE("sse4a");
  CLEAVE_FEATURE("aes");
  CLEAVE_FEATURE("pclmul");
  CLEAVE_FEATURE("avx");
  CLEAVE_FEATURE("avx2");
  CLEAVE_FEATURE("bmi");
  CLEAVE_FEATURE("bmi2");
  CLEAVE_FEATURE("f16c");
  CLEAVE_FEATURE("fma");
  CLEAVE_FEATURE("fma4");
  CLEAVE_FEATURE("xop");
  CLEAVE_FEATURE("gfni");
  CLEAVE_FEATURE("vpclmulqdq");
  CLEAVE_FEATURE("avx512f");
  CLEAVE_FEATURE("avx512bw");
  CLEAVE_FEATURE("avx512cd");
  CLEAVE_FEATURE("avx512dq");
  CLEAVE_FEATURE("avx512vl");
  CLEAVE_FEATURE("avx512ifma");
  CLEAVE_FEATURE("avx512vbmi");
  CLEAVE_FEATURE("avx512vbmi2");
  CLEAVE_FEATURE("avx512vnni");
  CLEAVE_FEATURE("avx512bitalg");
  CLEAVE_FEATURE("avx512vpopcntdq");
  CLEAVE_FEATURE("avx512bf16");
#undef CLEAVE_FEATURE
  out.push_back({"amx-bf16", detect_instruction_set() >= InstructionSet::amx});
#endif
  return out;
}

}  // namespace

std::vector<std::string> features_here() {
  std::vector<std::string> out;
  for (const Feature& f : all_features())
    if (f.is_here) out.emplace_back(f.name);
  return out;
}

std::vector<std::string> features_of(const Target& target) {
  if (target.is_native) return features_here();
  if (target.set == InstructionSet::neon) return {};
  std::vector<std::string> out(level_2.begin(), level_2.end());
  if (target.set >= InstructionSet::avx2) out.insert(out.end(), level_3.begin(), level_3.end());
  if (target.set >= InstructionSet::avx512) out.insert(out.end(), level_4.begin(), level_4.end());
  if (target.set >= InstructionSet::avx512bf16) out.insert(out.end(), {"avx512bf16", "avx512vnni"});
  if (target.set >= InstructionSet::amx) out.emplace_back("amx-bf16");
  return out;
}

std::vector<std::string> missing_here(const std::vector<std::string>& features) {
  const std::vector<std::string> here = features_here();
  std::vector<std::string> out;
  for (const std::string& name : features)
    if (std::ranges::find(here, name) == here.end()) out.push_back(name);
  return out;
}

}  // namespace cleave::standalone
