// The attentions of a lowered program: set up once, run at each step.
#pragma once
#include <span>

#include "lower/program.h"
#include "runtime/attention.h"

namespace cleave {

// Either direction of one AttentionCall.
struct AttentionStep {
  std::shared_ptr<const runtime::Attention> forward;
  std::shared_ptr<const runtime::AttentionGradient> backward;

  int64_t scratch_bytes() const;
  // `base` is where each storage of the program lies.
  void run(const AttentionCall& call, std::span<std::byte* const> base, Executor& executor) const;
};

// One for each AttentionCall, in order; adds the workspaces that they ask for.
Result<std::vector<AttentionStep>> add_attentions(LoweredProgram& program, const Target& target);

}  // namespace cleave
