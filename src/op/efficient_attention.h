// PyTorch's memory-efficient attention and its backward, as they appear in joint graphs for CUDA.
//
//   query float[n,h,rows,width]  key float[n,h,columns,width]  value float[n,h,columns,value_width]
//   attn_bias is added to the scores, or bool (true is open); broadcasts to [n,h,rows,columns]
//   logsumexp [n,h,padded] = log(sum(exp(scores))), 0 in the padding and for closed rows;
//             padded is rows rounded up to 32; f64 for f64, else f32
//
//   (C1) to (C10): attention.h
//   (C11) query has rank 4
#pragma once
#include "op/attention.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {

Result<AttentionShape> checked_efficient(const AttentionView& call);
Shape padded_sums_shape(const AttentionShape& s);
// Pads sums [n,h,rows] with zeros to a multiple of 32 rows, and takes the rows out again.
ValueId padded_sums(Builder& b, ValueId sums);
ValueId without_padding(Builder& b, ValueId sums, const Dim& rows);

// Returns which weights dropout keeps, as bool [n,rows,columns]; rng is (seed, step).
ValueId kept_weights(Builder& b, const OpView& op, ValueId weights, ValueId rng);
// For reference rules: the factor of each weight in a row, 0 or keep_scale. `first` is the
// row-major position of the row's first element.
std::vector<double> kept_factors(const OpView& op, int64_t seed, int64_t step, int64_t first,
                                 int64_t count);

}  // namespace cleave
