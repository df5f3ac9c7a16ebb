// What an attention computes: sizes, layouts, and what opens its weights. Strides are in elements.
//
//   query [batch,heads,rows,width]            key   [batch,heads/key_group,columns,width]
//   out   [batch,heads,rows,value_width]      value [batch,heads/value_group,columns,value_width]
//   sums  [batch,heads,sum_rows] without gaps: log(sum(exp(scores))), 0 where a row is closed
//         altogether and after the last row
//
//   scores = scale * query @ key^T, + mask or -inf where it is false; -inf where column > row if
//            causal
//   weights = softmax(scores), zeros in a closed row
//   out = dropout(weights) @ value
//
// Dropout keeps a weight where the uniform of its row-major place in [batch,heads,rows,columns] is
// at least dropout_p, by the bits of Philox 4x32-10 (attention_dropout_code.h).
#pragma once
#include <compare>
#include <cstdint>
#include <optional>

#include "cleave/dtype.h"

namespace cleave::runtime {

// Of [batch,head,row,column]; 0 where one element serves for all.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0, column = 1;

  auto operator<=>(const HeadStrides&) const = default;
};

struct AttentionSpec {
  DType dtype = DType::f32;  // in memory; numbers are computed in f32
  int64_t batch = 1, heads = 1, key_group = 1, value_group = 1;
  int64_t rows = 0, columns = 0, width = 0, value_width = 0;
  HeadStrides query, key, value, out;
  int64_t sum_rows = 0;  // 0: sums are not wanted; else at least `rows`
  double scale = 1;
  bool is_causal = false;
  std::optional<DType> mask;  // boolean (true is open), or a floating dtype, which is added
  HeadStrides mask_at;
  double dropout_p = 0;
  int64_t stream = 0;

  auto operator<=>(const AttentionSpec&) const = default;
};

// The gradients by query, key and value; each lies as its strides say. sums and out are the
// forward's results. key_group is value_group.
//
//   D = dropout(P)    P = exp(scores - sums)    dP = dropout'(dout V^T)
//   dS = P (dP - sum(dout out))    dQ = scale dS K    dK = scale dS^T Q    dV = D^T dout
struct AttentionBackwardSpec {
  AttentionSpec forward;
  HeadStrides dout, dquery, dkey, dvalue;
  bool wants_dquery = true, wants_dkey = true, wants_dvalue = true;

  auto operator<=>(const AttentionBackwardSpec&) const = default;
};

}  // namespace cleave::runtime
