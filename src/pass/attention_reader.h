// Recognizes attention that is written as separate calls: one walk for all spellings.
//
//   out = D @ value        D = dropout(P)        P = softmax(scores)
//   scores = c * (query @ key^T) + mask, with any number of these, in any order:
//     numbers that multiply or divide scores, query or key; masks that are added; where() and
//     masked_fill() with a large negative number; conversions of half scores to f32 and back
//   softmax: _softmax, exp(x - amax(x)) / sum(...), and either with zeros put into rows that are
//     masked entirely
//   products: bmm of batches of any rank, merged by views and expands; key transposed by a permute,
//     a transpose, or where the program permutes it from anywhere; key and value copied for groups
//     of heads
//   a mask of the positions after the diagonal, made of arange: is_causal
//
// Static shapes only. It isn't attention if scores or weights have other users: they have to be
// materialized anyway.
#pragma once
#include <optional>

#include "ir/builder.h"

namespace cleave {

struct AttentionMask {
  ValueId value;
  double scale = 1;            // of an added mask
  std::optional<double> fill;  // of a bool mask: the value of masked scores; none: added
  bool opens = true;           // true means open; false: true means masked
};

struct SpelledAttention {
  ValueId query, key, value;       // [*batch,rows,width]; key [*batch,columns,width] or transposed
  bool is_key_transposed = false;  // [*batch,width,columns]
  double scale = 1;
  std::vector<AttentionMask> masks;
  bool is_causal = false, is_grouped = false;
  double dropout_p = 0;
  int64_t stream = 0;
  ValueId rng;
  ValueId weights;  // the last product's operand, before views
  ValueId out;      // the last product's result
  Shape batch;
  std::vector<NodeId> calls;  // all calls of the spelling
};

// Whether scores and weights may have users outside the spelling: none, or any (a backward).
enum class OtherReaders : uint8_t { none, any };

// Returns the attention whose last product is n, or none.
std::optional<SpelledAttention> read_attention(const Graph& g, NodeId n,
                                               OtherReaders readers = OtherReaders::none);

// Writes its query, key, value and mask as operands of scaled_dot_product_attention with four dims.
struct AttentionOperands {
  ValueId query, key, value, mask;
};
AttentionOperands write_operands(Builder& b, const SpelledAttention& a);
// Also writes the call, and views its result with this shape, which is that of a.out.
ValueId write_attention(Builder& b, const SpelledAttention& a, const Shape& shape);

}  // namespace cleave
