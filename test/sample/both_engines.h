// A graph's text run by the oracle and by the compiled engine.
#pragma once
#include "cleave/compiler_choice.h"
#include "test/random_inputs.h"
#include "test/sample/backend_of.h"

namespace cleave::test {

using Inputs = std::map<std::string, Array>;

// 0, 1, 2, ...
Array counting(DType t, std::vector<int64_t> shape);
// Different values in (-1, 1), the same for the same seed and shape.
Array scattered(DType t, std::vector<int64_t> shape, uint32_t seed);

Result<Arrays> by_reference(const std::string& text, const Inputs& inputs);

// The results, and what the placeholders' memory holds afterwards.
struct CompiledRun {
  Status status;
  Arrays results;
  Inputs memory;
};
CompiledRun by_compiled(const std::string& text, const Inputs& inputs, int threads = 2);

// With interpreted kernels.
CompiledRun by_bytecode(const std::string& text, const Inputs& inputs);

// On the CPU, lowered as for another target.
CompiledRun by_choices(const std::string& text, const Inputs& inputs, const LowerChoices& choices,
                       CompilerChoice compiler = CompilerChoice::automatic, int threads = 2);
std::shared_ptr<Backend> backend_with_choices(const LowerChoices& choices, CompilerChoice compiler);

// Both engines' results; the compiled ones are checked against the reference within `tolerance`,
// and bit by bit against themselves on one thread and interpreted.
Arrays by_both(const std::string& text, const Inputs& inputs, double tolerance);

// What each engine says, or "no error"; interpreted kernels say what compiled ones do.
std::string reference_error(const std::string& text, const Inputs& inputs);
std::string compiled_error(const std::string& text, const Inputs& inputs);

}  // namespace cleave::test
