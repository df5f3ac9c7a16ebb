// A forward graph as flat arrays, and which of its values the backward needs: the whole input of
// the partition.
//
//     values  [0, placeholders)                                        no call makes them
//             [result_begin[n], result_begin[n + 1])                   the results of call n
//     calls   0, 1, 2, ... each after the calls whose results it reads
//     reads   operand[operand_begin[n]] ... operand[operand_begin[n + 1] - 1], values, possibly
//             repeated
//
// How the caller expresses a program's values (remat/cut_graph.h does):
//   cost       of running a call once more, in the caller's unit (ns by a cost table)
//   bytes      what saving the value adds: 0 for values that stay in memory anyway
//   view       cost 0, its value `unsavable`: it is saved by saving its base, so the storage counts
//              once however many of its views are needed
//   must save, collective, effect: the call is `pinned`; for a view the call of its base
//   must recompute: the call's values are `unsavable`
//   a gradient that is a forward value: `needed`
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace cleave::flow {

struct ForwardGraph {
  int32_t placeholders = 0;
  std::vector<int32_t> operand_begin = {0};  // calls + 1
  std::vector<int32_t> operand;              // values
  std::vector<int32_t> result_begin = {0};   // calls + 1
  std::vector<int64_t> cost;                 // by call
  std::vector<uint8_t> pinned;               // by call: must not be recomputed
  std::vector<int64_t> bytes;                // by value
  std::vector<uint8_t> needed;               // by value: the backward reads it
  std::vector<uint8_t> unsavable;            // by value

  int32_t calls() const { return static_cast<int32_t>(cost.size()); }
  int32_t values() const { return static_cast<int32_t>(bytes.size()); }
};

// Errors (user): arrays whose lengths don't match, operands that don't come before their reader,
// negative costs or bytes, costs or bytes that sum to 2^59 or more. O(calls + operands + values).
Status check_forward_graph(const ForwardGraph& graph);

}  // namespace cleave::flow
