// How a program is compiled and run: options that a user can choose, drawn from a seed. With any
// choice the results are the oracle's; choices that don't change the rounding give the same bits.
#pragma once
#include "exec/executable.h"
#include "ir/array.h"

namespace cleave::random {

struct RunChoice {
  // For a target that this machine can run.
  CompileOptions compile = {.threads = 2, .compiler = CompilerChoice::none};
  bool fuse = true;
  // Cut as PyTorch would at this budget, a part of 1; none where it is negative.
  double pytorch_budget = -1;
  // As a cache gives it back, which must be what is built, bit for bit.
  bool kept = false;
  // With the functions of other graphs' kernels, as programs of several sizes have them; the
  // results must be those without, bit for bit. Where kernels are interpreted there are none.
  bool pooled = false;

  std::string text() const;  // "threads 3, fuse off, strict"
};

// ships: with the compiler that a build uses.
RunChoice draw_choice(uint64_t seed, bool ships);

// One run of a graph; the entries of `return`.
Result<Arrays> run_chosen(const RunChoice& choice, const Graph& g, const OpRegistry& ops,
                          const Arrays& inputs);

}  // namespace cleave::random
