// A forward graph as flat arrays, and what the backward wants of it: all that the partition sees.
//
//     values  [0, placeholders)                                        no call makes them
//             [result_begin[n], result_begin[n + 1])                   the results of call n
//     calls   0, 1, 2, ... each after the calls whose results it reads
//     reads   operand[operand_begin[n]] ... operand[operand_begin[n + 1] - 1], values; one may
//             stand there twice
//
// How a program's values become these integers (the caller's part):
//   cost       of running a call once more, in the caller's unit (ns by a cost table); 0 where it
//              fuses into its reader
//   bytes      what saving the value adds: 0 for parameters, inputs, results of the program and
//              symbolic sizes
//   view       cost 0, its value `unsavable`: it is saved by saving its base, and the storage is
//              priced once however many views of it are wanted
//   must save, random without fixed bits, collective, effect: the call is `pinned`; on a view the
//              tag goes to the base's call
//   must recompute: the call's values are `unsavable`
//   a gradient that is a forward value: `needed`, with bytes 0, since it is returned anyway
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

// Errors (user): arrays of other lengths, operands that don't come before their reader, negative
// costs or bytes, costs or bytes that sum to 2^59 or more. O(calls + operands + values).
Status check_forward_graph(const ForwardGraph& graph);

}  // namespace cleave::flow
