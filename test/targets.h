// The targets for tests of code that depends on the instruction set.
#pragma once
#include <string>
#include <vector>

#include "base/target.h"

namespace cleave::test {

// Those of this machine's architecture, each with all of those before it.
inline std::vector<Target> levels() {
  if (Target::here().set == InstructionSet::neon) return {{InstructionSet::neon}};
  return {{InstructionSet::plain},
          {InstructionSet::avx2},
          {InstructionSet::avx512},
          {InstructionSet::avx512bf16},
          {InstructionSet::amx}};
}

// A target of another architecture.
inline Target foreign_target() {
  return {Target::here().set == InstructionSet::neon ? InstructionSet::avx2 : InstructionSet::neon};
}

// All that this machine can run, the portable one first; as it is (native) last.
inline std::vector<Target> targets_here() {
  std::vector<Target> out = levels();
  std::erase_if(out, [](const Target& t) { return !t.runs_here(); });
  const Target here = Target::here();
  if (here.is_native) out.push_back(here);
  return out;
}

// One of them, by a random number.
inline Target target_of(uint64_t number) {
  const std::vector<Target> all = targets_here();
  return all[number % all.size()];
}

// As the name of a parameterised test.
inline std::string name_of(const Target& target) {
  std::string name(target.text());
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

}  // namespace cleave::test
