// The arrays in the scratch of attention's kernels (attention_block.h), computed from a kernel's
// sizes. Compiled for every processor: a program may be planned on one that can't run it.
#pragma once
#include <cstdint>

#include "library/attention_spec.h"

namespace cleave::runtime {

struct AttentionSizes {
  int64_t lanes = 0;          // f32 in a vector
  int64_t mr = 0;             // keys in a group
  int64_t panel = 0;          // queries in a panel
  int64_t query_block = 0;    // queries that the backward processes at a time
  int64_t block_columns = 0;  // keys that are processed at a time
  bool has_tiles = false;     // products by AMX, with the arrays of attention_amx_scratch.h

  static constexpr int64_t line = 16;  // f32 of a cache line
  static constexpr int64_t rounded(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
  }
  constexpr int64_t in_lanes(int64_t width) const { return rounded(width, lanes); }
  constexpr int64_t group_floats(int64_t width) const { return mr * rounded(width, line); }
  constexpr int64_t groups(int64_t keys) const { return (keys + mr - 1) / mr; }
  constexpr int64_t keys_at_a_time(int64_t columns) const {
    return columns < block_columns ? columns : block_columns;
  }
  // Of the sums of a head's dquery, from one block of keys to the next.
  constexpr int64_t dquery_floats(const AttentionSpec& spec) const {
    return has_tiles ? rounded(spec.rows, panel) * rounded(spec.width, panel)
                     : spec.rows * in_lanes(spec.width);
  }
  // Multiply-adds that a core can do in a cycle.
  constexpr double multiply_adds() const {
    return has_tiles ? 256 : 2 * static_cast<double>(lanes);
  }
  // Whether the backward can sum in dquery itself.
  bool sums_in_dquery(const AttentionBackwardSpec& spec) const {
    return !has_tiles && spec.forward.dtype == DType::f32 && spec.dquery.column == 1 &&
           spec.forward.width % lanes == 0;
  }
};

struct ForwardScratch {
  ForwardScratch(const AttentionSizes& by, const AttentionSpec& spec, int64_t rows, void* scratch);
  float *keys, *values, *row_copies, *panels, *out, *top, *sum, *scores, *factors;
  int64_t bytes;
};

struct BackwardScratch {
  BackwardScratch(const AttentionSizes& by, const AttentionBackwardSpec& spec, void* scratch);
  float *keys, *values, *key_rows, *dkeys, *dvalues, *queries, *douts, *query_panel, *dout_panel;
  float *weights, *dscores, *factors, *delta, *dqueries;
  int64_t bytes;
};

}  // namespace cleave::runtime
