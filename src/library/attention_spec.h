// What an attention call computes: sizes, layouts, masks, dropout. Strides are in elements.
//
//   query [batch,heads,rows,width]            key   [batch,heads/key_group,columns,width]
//   out   [batch,heads,rows,value_width]      value [batch,heads/value_group,columns,value_width]
//   sums  [batch,heads,sum_rows], dense: logsumexp of each row of scores; 0 for rows that are all
//         masked out and for rows from `rows` on
//
//   scores = scale * query @ key^T, + mask or -inf where it is false; -inf where column > row if
//            causal
//   weights = softmax(scores), 0 in a row that is masked out
//   out = dropout(weights) @ value
//
// Dropout keeps a weight if the uniform number of its row-major index in [batch,heads,rows,columns]
// is at least dropout_p, by the bits of Philox 4x32-10 (attention_dropout_code.h).
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cleave/dtype.h"

namespace cleave {

// The operands in the order of the call's pointers (LibraryCall); seed and step are one i64 each.
struct AttentionOperand {
  enum : size_t {
    query,
    key,
    value,
    mask,
    seed,
    step,
    out,
    logsumexp,
    dout,
    dquery,
    dkey,
    dvalue,
    dmask
  };
};

// Strides of [batch,head,row,column]; 0 where one element is broadcast.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0, column = 1;

  auto operator<=>(const HeadStrides&) const = default;
};

struct AttentionSpec {
  DType dtype = DType::f32;  // in memory; computed in f32
  int64_t batch = 1, heads = 1, key_group = 1, value_group = 1;
  int64_t rows = 0, columns = 0, width = 0, value_width = 0;
  HeadStrides query, key, value, out;
  int64_t sum_rows = 0;  // 0: no sums; else at least `rows`
  double scale = 1;
  bool is_causal = false;
  std::optional<DType> mask;  // boolean (true keeps the score), or floating, which is added
  HeadStrides mask_at;
  double dropout_p = 0;
  int64_t stream = 0;

  static constexpr const char* kind = "attention";
  // Of the two products; half of that if causal.
  int64_t flops() const { return flops_of(width + value_width); }
  int64_t flops_of(int64_t widths) const {
    const int64_t all = 2 * batch * heads * rows * columns * widths;
    return is_causal ? all / 2 : all;
  }
  auto operator<=>(const AttentionSpec&) const = default;
};

// The gradients with respect to query, key and value, with strides of their own. sums and out are
// the forward's results. key_group equals value_group.
//
//   D = dropout(P)    P = exp(scores - sums)    dP = dropout'(dout V^T)
//   dS = P (dP - sum(dout out))    dQ = scale dS K    dK = scale dS^T Q    dV = D^T dout
//
// dmask is dS in f32, [batch,heads,rows,columns]; with strides of 0 along batch it is the sum over
// the batch, whatever the mask's own strides are.
struct AttentionBackwardSpec {
  AttentionSpec forward;
  HeadStrides dout, dquery, dkey, dvalue, dmask;
  bool wants_dquery = true, wants_dkey = true, wants_dvalue = true, wants_dmask = false;

  static constexpr const char* kind = "attention";
  bool sums_dmask() const { return wants_dmask && forward.batch > 1 && dmask.batch == 0; }
  // Of five products: the scores are recomputed.
  int64_t flops() const { return forward.flops_of(3 * forward.width + 2 * forward.value_width); }
  auto operator<=>(const AttentionBackwardSpec&) const = default;
};

}  // namespace cleave
