// The arrays in the scratch of attention's kernels for AMX_BF16 (attention_block_amx.cpp), computed
// from their sizes. Compiled for every processor: a program may be planned on one that can't run
// it.
//
//   lines   rows of bf16                                     A of a product by tiles
//   pairs   for each two values of k, rows of pairs of bf16  B of a product by tiles
//
// All rows, columns and values of k are padded with zeros to multiples of 32: the queries of a
// panel.
#pragma once
#include "runtime/attention_scratch.h"
#include "runtime/half.h"

namespace cleave::runtime {

struct AmxForwardScratch {
  AmxForwardScratch(const AttentionSizes& by, const AttentionSpec& spec, int64_t rows,
                    void* scratch);
  int64_t block = 0, width = 0, value_width = 0;     // padded: keys at a time, and columns
  Bf16 *keys, *values, *turned_values, *row_copies;  // lines
  Bf16 *panels, *weights;                            // pairs
  float *out, *top, *sum, *scores, *factors;
  int64_t bytes;
};

struct AmxBackwardScratch {
  AmxBackwardScratch(const AttentionSizes& by, const AttentionBackwardSpec& spec, void* scratch);
  int64_t block = 0, width = 0, value_width = 0;
  Bf16 *keys, *values, *turned_keys, *queries, *douts, *outs, *weights, *dscores;  // lines
  Bf16 *query_pairs, *dout_pairs, *query_panel, *dout_panel, *dscore_pairs;        // pairs
  float *scores, *dweights, *factors, *delta, *dkeys, *dvalues, *dqueries;
  int64_t bytes;
};

}  // namespace cleave::runtime
