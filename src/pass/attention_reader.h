// Reads attention out of the calls that spell it: one walk for all spellings.
//
//   out = D @ value        D = dropout(P)        P = softmax(scores)
//   scores = c * (query @ key^T) + mask, with any number of these, in any order:
//     numbers that multiply or divide scores, query or key; masks that are added; where() and
//     masked_fill() with a large negative number; conversions of half scores to f32 and back
//   softmax: _softmax, exp(x - amax(x)) / sum(...), and either with zeros put into rows that are
//     closed altogether
//   products: bmm of batches of any rank, merged by views and expands; key transposed by a permute,
//     a transpose, or where the program permutes it from anywhere; key and value copied for groups
//     of heads
//   a mask that closes what lies after the diagonal, made of arange: is_causal
//
// Only static shapes. Scores and weights that something else reads too are no attention: they are
// made anyway.
#pragma once
#include <optional>

#include "ir/builder.h"

namespace cleave {

struct AttentionMask {
  ValueId value;
  double scale = 1;            // of a mask that is added
  std::optional<double> fill;  // of a bool mask: what closed scores become; none: added
  bool opens = true;           // true is open; false: true is closed
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
  ValueId weights;  // what the last product reads, before views
  ValueId out;      // the last product's result
  Shape batch;
  std::vector<NodeId> calls;  // all that the spelling is made of
};

// Who may read scores and weights beside the spelling: nobody, or a backward.
enum class OtherReaders : uint8_t { none, any };

// The attention whose last product is n; none.
std::optional<SpelledAttention> read_attention(const Graph& g, NodeId n,
                                               OtherReaders readers = OtherReaders::none);

// Writes its query, key, value and mask as operands of scaled_dot_product_attention with four dims.
struct AttentionOperands {
  ValueId query, key, value, mask;
};
AttentionOperands write_operands(Builder& b, const SpelledAttention& a);
// And the call, as a value of this shape, that of a.out.
ValueId write_attention(Builder& b, const SpelledAttention& a, const Shape& shape);

}  // namespace cleave
