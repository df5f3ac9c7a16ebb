// The bytes in memory at each step of the two halves, by kind.
//
//   forward    placeholders but tangents | results | saved values | other values | workspace
//   between    placeholders | results | saved values
//   backward   placeholders | results | saved values | gradients | other values | workspace
//
// The sum is what is alive; gaps in the arena come on top (the peak of ForwardBackwardPeak includes
// them).
#pragma once
#include <array>
#include <string_view>

#include "compile/stage_options.h"
#include "cut/partition.h"
#include "ir/op_def.h"

namespace cleave {

enum class Kept : uint8_t { placeholders, results, saved, gradients, others, workspace };
constexpr size_t kept_kinds = 6;
constexpr std::array<std::string_view, kept_kinds> kept_names = {
    "placeholders", "results", "saved", "gradients", "other values", "workspace"};

using MemoryStep = std::array<int64_t, kept_kinds>;  // bytes by Kept

struct MemoryProfile {
  std::vector<MemoryStep> steps;
  size_t forward_steps = 0;  // how many of `steps`, from the first, are the forward's
  int64_t planned_peak = 0;  // of both halves, gaps included
  // The most that is alive at a step of each half, as the plan counts it.
  int64_t forward_alive = 0, backward_alive = 0;
};

// Errors: those of lowering.
Result<MemoryProfile> memory_profile(const Graph& joint, const Partition& cut,
                                     const OpRegistry& ops, const StageOptions& options);

}  // namespace cleave
