// The cost model of fusion, with its constants. Bytes decide; the rest keeps groups from growing
// into what a core can't hold.
//
// They are ratios of a core with vectors of 16 and 1 MiB of L2: `cheap_flops` operations take no
// longer than reading 4 bytes from DRAM, a launch as long as `launch_flops`. bench_kernels and
// bench_bandwidth show what they stand for.
#pragma once
#include <cstdint>

namespace cleave::fuse_cost {

constexpr int64_t cheap_flops = 6;       // an element; a value of one operand computed where read
constexpr int64_t small_part = 4;        // of what a cheap value takes: stored for its sake
constexpr int64_t launch_flops = 10000;  // take as long as a launch
constexpr int64_t launch_bytes = 64 << 10;  // take as long as a launch
constexpr int64_t flops_of_8_bytes = 15;    // take as long as writing and reading a value
constexpr size_t max_waiting = 64;          // calls computed in one expression
constexpr int64_t max_nodes = 128;          // of a group
constexpr size_t max_calls = 256;  // of a group, waiting ones too: compilers take n^1.4 for n sines
constexpr int64_t max_buffers = 40;          // of a group: streams that the prefetcher follows
constexpr int64_t max_kernel_distance = 12;  // unfused kernels between calls that stay apart
constexpr int64_t row_bytes = 512 << 10;     // of a row that several passes read: half of L2
// Columns that are rows of a kernel are worked on in blocks of 64: with fewer than this many of
// them, unless there is little to do, cores would stand idle.
constexpr int64_t few_columns = 256;
constexpr int64_t small_elements = 1 << 15;

}  // namespace cleave::fuse_cost
