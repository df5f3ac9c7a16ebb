// How often the runs of an instance were one graph of the device (run/queue_graph.h).
#pragma once
#include <cstdint>
#include <string>

namespace cleave {

struct GraphCounts {
  int64_t recorded = 0;  // graphs that were noted: one for each turn, again where an operand moved
  int64_t launched = 0;  // runs that were one
  int64_t skipped = 0;   // runs that can't be one
  std::string reason;    // of these: "incompatible op cond (%y)"; empty: there is none
};

// "skipping cudagraphs due to REASON"
inline std::string skip_text(const std::string& reason) {
  return "skipping cudagraphs due to " + reason;
}

}  // namespace cleave
