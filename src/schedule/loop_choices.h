// What a target decides about the loops of a kernel, beside the order of its sums (FoldParts).
#pragma once
#include <cstdint>

namespace cleave {

struct LoopChoices {
  int64_t added_columns = 64;  // of a block, where parts are added up: at most column_lanes
  // Writes to places that are data are sorted by place first (op/sorted_writes.h), and both loops
  // of a tile are shared out (group_plain.cpp).
  bool many_threads = false;
  int64_t tile_side = 16;  // at most, of a tile of transposed elements
};

}  // namespace cleave
