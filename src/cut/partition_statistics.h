// What a partition did, in numbers: how often each operator runs where, and what decided.
//
//   gelu     forward 4   backward 4   recomputed 4        recomputed ones are in both numbers
//   mm       forward 16  backward 32  recomputed 0
//
//   in the minimum cut                       saved 12 values, 1.2 MB    computed again 0
//   not in the minimum cut                   saved 0                    computed again 31, 4.1 MB
//
// Source: what AOT_PARTITIONER_DEBUG logs in torch/_functorch/partitioners.py, PyTorch 2.13: "#
// remat/fw/bw", "Count of Ops Rematerialized", "Theoretical Activations Stored".
#pragma once
#include "cut/partition.h"

namespace cleave {

struct OperatorCount {
  std::string op;
  int64_t forward = 0, backward = 0;  // calls of each half
  int64_t recomputed = 0;             // calls that are in both
};
// By falling number of calls, then by name.
std::vector<OperatorCount> count_operators(const Graph& joint, const Partition& cut);

struct ReasonCount {
  std::string why;
  int64_t saved = 0, saved_bytes = 0;            // values; placeholders count too
  int64_t recomputed = 0, recomputed_bytes = 0;  // values
};
// What of SavedValue::why and RecomputedValue::why doesn't name a reader, by falling number of
// values, then by name.
std::vector<ReasonCount> count_reasons(const Partition& cut);

// "read by %y; in the minimum cut" -> "in the minimum cut"; without a rule "the backward reads it".
std::string rule_of(const std::string& why);

}  // namespace cleave
