// The convolutions of a lowered program: set up once, run at each step.
#pragma once
#include <span>

#include "lower/program.h"
#include "runtime/convolution.h"

namespace cleave {

struct ConvolutionStep {
  std::shared_ptr<const runtime::Convolution> product;

  // `base` is where each storage of the program lies.
  void run(const ConvolutionCall& call, std::span<std::byte* const> base, Executor& executor) const;
};

// One for each ConvolutionCall, in order; adds the workspaces that they ask for.
Result<std::vector<ConvolutionStep>> add_convolutions(LoweredProgram& program,
                                                      const Target& target);

}  // namespace cleave
