// Target::here() of test programs, which replaces the library's: CLEAVE_TEST_TARGET=x86-64-v3 makes
// it report a processor with only that instruction set.
#include <cstdlib>

#include "base/target.h"

namespace cleave {

Target Target::here() {
  const InstructionSet most = detect_instruction_set();
  const char* text = std::getenv("CLEAVE_TEST_TARGET");
  if (text == nullptr || std::string_view(text) == "native") return {most, true};
  const Target asked = value_or_throw(parse_target(text));
  if (architecture_of(asked.set) != architecture_of(most) || asked.set > most)
    throw_failure(unsupported("CLEAVE_TEST_TARGET={}: this processor has less", text));
  return asked;
}

}  // namespace cleave
