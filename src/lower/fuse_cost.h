// The cost model of fusion. Bytes decide; the rest keeps groups from growing into what a core can't
// hold. What a target says is FuseCosts; the other constants bound the search and what a kernel's
// compiler bears.
#pragma once
#include <cstdint>

#include "cleave/target.h"

namespace cleave {

struct FuseCosts {
  int64_t cheap_flops;       // an element: no more than reading 4 bytes of memory takes
  int64_t flops_of_8_bytes;  // take as long as writing and reading a value
  int64_t launch_flops;      // take as long as a kernel's begin
  int64_t launch_bytes;      // of a cache, take as long as a kernel's begin
  int64_t row_bytes;         // of a row that several passes read: half of a second-level cache
  int64_t max_streams = 40;  // buffers of a group that a prefetcher follows
  // Columns that are rows of a kernel are worked on in blocks of 64: with fewer than this many of
  // them, unless there is little to do, cores would stand idle.
  int64_t few_columns = 256;
  int64_t small_elements = 1 << 15;

  // The rest is the same for all processors that there are.
  static FuseCosts of(const MachineRates& rates);

  // Whether a value of so many elements, read by a larger one, may be computed again for each
  // element of that. flops: an element.
  bool is_worth_repeating(int64_t flops, int64_t elements, int64_t larger) const {
    return larger <= elements ||
           flops * (larger - elements) <= launch_flops + elements * flops_of_8_bytes;
  }
};

namespace fuse_cost {

constexpr int64_t small_part = 4;   // of what a cheap value takes: stored for its sake
constexpr size_t max_waiting = 64;  // calls computed in one expression
constexpr int64_t max_nodes = 128;  // of a group
constexpr size_t max_calls = 256;  // of a group, waiting ones too: compilers take n^1.4 for n sines
constexpr int64_t max_kernel_distance = 12;  // unfused kernels between calls that stay apart

}  // namespace fuse_cost
}  // namespace cleave
