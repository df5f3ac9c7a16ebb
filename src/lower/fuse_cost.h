// The cost model of fusion, with its constants. Bytes decide; the rest keeps groups from growing
// into what a core can't hold.
//
// Measured on 2 cores with AVX-512 (2.5 GHz, 1 MiB of L2 each): DRAM gives 10 to 14 bytes a ns to
// both cores, L2 60; an exp takes 0.4 ns an element in vectors of 16, an addition 0.03; a launch
// 0.7 us. So computing `cheap_flops` operations again costs less than reading 4 bytes from DRAM.
#pragma once
#include <cstdint>

namespace cleave::fuse_cost {

constexpr int64_t cheap_flops = 6;        // an element; a value of one operand computed where read
constexpr int64_t launch_flops = 10000;   // take as long as a launch
constexpr int64_t flops_of_8_bytes = 15;  // take as long as writing and reading a value
constexpr size_t most_waiting = 64;       // calls computed in one expression
constexpr int64_t most_nodes = 128;       // of a group
constexpr int64_t most_buffers = 40;      // of a group: streams that the prefetcher follows
constexpr int64_t far_kernels = 12;       // unfused kernels between calls that stay apart
constexpr int64_t row_bytes = 512 << 10;  // of a row that several passes read: half of L2
// Columns that are rows of a kernel are worked on in blocks of 64: with fewer than this many of
// them, unless there is little to do, cores would stand idle.
constexpr int64_t few_columns = 256;
constexpr int64_t small_elements = 1 << 15;

}  // namespace cleave::fuse_cost
