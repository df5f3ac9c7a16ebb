// Which calls of attention a GPU computes as products, with kernels between them:
//
//   scores = query @ key^T, weights = exp(scores - sums), dvalue = weights^T @ dout, ...
//
// cuDNN has one kernel for a call of halves without dropout, and one for its gradient, where a mask
// is of bools or halves, and has no gradient itself. Any other is a kernel of our own, which keeps
// no scores and takes many times as long as the products; where the scores are few, it isn't worth
// that.
//
// Rows of scores are whole vectors of 16 bytes: of 197 keys in halves there are 200, the last three
// closed by a mask. Products of odd rows take cuBLAS three times as long (H200, 2026-11).
#pragma once
#include "ir/builder.h"
#include "ir/op_view.h"

namespace cleave {

struct AttentionPartsLimits {
  int64_t least_scores = int64_t{1} << 15;  // below, one kernel is as fast
  int64_t most_bytes = int64_t{1} << 28;    // of the scores, in the type that they are computed in
};

// For a call of any operator; sizes at their hints.
bool runs_in_parts(const OpView& op, const AttentionPartsLimits& limits = {});

// Of a call with too many scores: of how many items of its batch, the first dim, they are few
// enough at a time. 0: it stays as it is.
int64_t attention_slice(const OpView& op, const AttentionPartsLimits& limits = {});
// The results of the call from calls of so many items each.
Values sliced_attention(Builder& b, const OpView& op, int64_t items);

// Of a call that runs in parts: how many keys its rows of scores lack. 0: it stays as it is.
int64_t lacking_keys(const OpView& op, const AttentionPartsLimits& limits = {});
// The results of the call from one with so many more keys.
Values padded_attention(Builder& b, const OpView& op, int64_t keys);

}  // namespace cleave
