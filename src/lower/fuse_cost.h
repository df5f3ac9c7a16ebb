// The cost model of fusion. Memory traffic in bytes decides; the other numbers limit the size of a
// group. Those that depend on the target are in FuseCosts; the constants bound the search, and the
// compile time of a kernel.
#pragma once
#include <cstdint>

#include "cleave/target.h"
#include "lower/lower_choices.h"

namespace cleave {

struct FuseCosts {
  int64_t cheap_flops;       // per element: at most the time of reading 4 bytes
  int64_t flops_of_8_bytes;  // take as long as writing and reading an f32
  int64_t launch_flops;      // take as long as starting a kernel
  int64_t launch_bytes;      // of a cache, take as long as starting a kernel
  int64_t row_bytes;         // of a row read in several passes: half of a second-level cache
  int64_t max_streams = 40;  // buffers of a group that prefetchers follow
  // Columns are reduced in blocks of 64. With fewer than this many columns there are so few blocks
  // that cores stay idle, which matters above small_elements.
  int64_t few_columns = 256;
  int64_t small_elements = 1 << 15;
  // Columns are added up beside folds of at least so many rows, and so many columns at most.
  int64_t least_rows_of_columns = 0;
  int64_t most_columns_of_rows = int64_t{1} << 62;
  // An operand that is stored for a cheap result's sake takes at most this part of it.
  int64_t stored_part = 4;
  LowerChoices choices = {};

  // The other fields are the same for all targets so far.
  static FuseCosts of(const MachineRates& rates);

  // Whether a value of `elements`, each of which takes `flops`, may be recomputed for each of the
  // `larger` elements of its reader.
  bool is_worth_repeating(int64_t flops, int64_t elements, int64_t larger) const {
    return larger <= elements ||
           flops * (larger - elements) <= launch_flops + elements * flops_of_8_bytes;
  }
};

namespace fuse_cost {

constexpr int64_t line_bytes = 64;  // of a cache
constexpr int64_t small_part = 4;   // of the time of starting a kernel
constexpr size_t max_waiting = 64;  // calls computed in one expression
constexpr int64_t max_nodes = 128;  // of a group
constexpr size_t max_calls = 256;  // of a group, waiting ones too: compilers take n^1.4 for n sines
constexpr int64_t max_kernel_distance = 12;  // unfused kernels between two calls of a group

}  // namespace fuse_cost
}  // namespace cleave
