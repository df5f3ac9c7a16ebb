// Shared by the forms of attention: shapes, masked scores, and expansion of key and value heads.
//
//   query [*batch,heads,rows,width]   key [*batch,key_heads,columns,width]
//   value [*batch,value_heads,columns,value_width]
//
//   scores = scale * query @ key^T, masked     [*batch,heads,rows,columns]
//
// Leading dims broadcast. With grouped heads, `group` adjacent heads of the query read one head of
// the key (and of the value).
#pragma once
#include "ir/builder.h"
#include "ir/op_view.h"
#include "loop/lower_rule.h"

namespace cleave {

// Returns whether several heads of the query may read one head of the key: with enable_gqa, and
// always in PyTorch's inner forms, which have no such flag.
bool groups_heads(const OpView& op);

// A call and its operand positions: query, key and value are consecutive, attn_mask is separate.
struct AttentionView {
  const OpView& op;
  int query, mask;

  const Type& type(int k) const { return op.in_type(query + k); }  // 0 query, 1 key, 2 value
  bool masked() const { return op.has(mask); }
  bool grouped() const { return groups_heads(op); }
  DType work() const;  // dtype in which weights are computed: f64 for f64, else f32
  double scale() const;
};

struct AttentionShape {
  Shape batch;  // leading dims of the result, heads included
  Dim rows, columns, width, value_width;
  Dim key_group = 1, value_group = 1;

  Shape with(const Dim& r, const Dim& c) const;  // [*batch, r, c]
};

//   C1 rank at least 2                C2 one floating dtype
//   C3 query and key have one width   C4 key and value have as many rows
//   C5 leading dims broadcast         C6 grouped heads divide those of the query
//   C7 attn_mask is bool, f32 or of the query's dtype, and broadcasts to the scores
//   C8 dropout_p is in [0, 1]         C9 operands are on one device
//   C10 the width is a number where no scale is given
Result<AttentionShape> checked_attention(const AttentionView& call);
// The same for a call that infer has already checked.
AttentionShape attention_shape(const AttentionView& call);

// 1 / sqrt(width); 1 for rows of no numbers: their scores are 0 whatever they are scaled by.
double default_attention_scale(int64_t width);

// Returns 1 / (1 - dropout_p), or 0 if dropout drops everything.
double keep_scale(double dropout_p);

// Converts an operand to the dtype `work`, copies its heads for the group, broadcasts it, and
// merges its leading dims into one.
ValueId flat_operand(Builder& b, const AttentionShape& s, ValueId x, const Dim& group, DType work);
// The transpose of flat_operand: sums g [n,rows,width] to the operand's shape, in its dtype.
ValueId from_flat(Builder& b, const AttentionShape& s, ValueId g, const Dim& group,
                  const Type& operand);
// Reshapes [n,rows,columns] to [*batch,rows,columns], and back.
ValueId with_batch(Builder& b, const AttentionShape& s, ValueId x);
ValueId without_batch(Builder& b, ValueId x);

// Whether scores are for the forward or for its backward, which scales them later: as other values
// they are computed again, where equal ones would be kept from the forward on.
enum class ScoresFor : uint8_t { forward, backward };
// Returns the masked scores [*batch,rows,columns] of flat operands.
ValueId masked_scores(Builder& b, const AttentionView& call, const AttentionShape& s, ValueId query,
                      ValueId key, ScoresFor use = ScoresFor::forward);
// The operands as matrices of one batch dim, and the masked scores [*batch,rows,columns].
struct AttentionParts {
  AttentionShape shape;
  ValueId query, key, value, scores;
};
AttentionParts attention_parts(Builder& b, const AttentionView& call,
                               ScoresFor use = ScoresFor::forward);
// In which weights, and what is like them, are multiplied by values, keys, queries and cotangents:
// as PyTorch's kernels do, in the type of the call's halves, unless heads share an operand, whose
// gradient is a sum then; else in `work`.
DType product_dtype(const AttentionView& call, const AttentionShape& s);
// Operand k (0 query, 1 key, 2 value) of the parts in the dtype `t`, which is product_dtype.
ValueId factor(Builder& b, const AttentionView& call, const AttentionParts& p, int k, DType t);
// Marks rows of scores in which every element is -inf, as bool [*batch,rows,1].
ValueId closed_rows(Builder& b, ValueId scores);
// Returns the softmax of each row; zeros in closed rows if there may be any.
ValueId attention_weights(Builder& b, const AttentionView& call, ValueId scores);
// Returns log(sum(exp(scores))) of each row [*batch,rows], 0 for a closed or empty row.
ValueId log_sums(Builder& b, ValueId scores);

// Second derivatives (attention_second_grad.cpp). Returns the gradients of the log-sums
// [*batch,rows] with respect to query, key and scores [*batch,rows,columns]:
Values sums_grad(Builder& b, const AttentionView& call, ValueId sums, ValueId dsums);

// Inputs of a backward besides query, key, value and mask: sums [*batch,rows], or the weights
// themselves. kept is bool [n,rows,columns], absent without dropout.
struct BackwardInputs {
  ValueId dout, out, sums, weights, kept;
  double keep_scale = 1;
};
// Gradients of these operands, absent if nothing reaches one; scores are the masked ones
// [*batch,rows,columns].
struct BackwardGrads {
  ValueId query, key, value, dout, out, sums, weights, scores;
};
// `cotangents` are those of the gradients of query, key, value and, maybe, mask; at least one is
// present.
BackwardGrads backward_grads(Builder& b, const AttentionView& call, const BackwardInputs& in,
                             const Values& cotangents);

// Seed and step, which dropout reads.
struct DropoutState {
  loop::LibraryElement seed, step;
};
// Returns the library's form of the call, or nullopt if the library doesn't cover it
// (attention_form.cpp). With a state, results 2 and 3 of the forward are its seed and step, for the
// backward.
std::optional<loop::LibraryForm> attention_form(const AttentionView& call,
                                                const DropoutState& state = {});
// Whether result 3 is the gradient of the mask.
enum class MaskGradient : uint8_t { none, wanted };
std::optional<loop::LibraryForm> attention_backward_form(const AttentionView& call, int dout,
                                                         int out, int sums,
                                                         const DropoutState& state = {},
                                                         MaskGradient dmask = MaskGradient::none);
// Whether the library gives a mask of this type its gradient.
bool attention_gives_mask(const Type& mask, const AttentionShape& s);
// Such a mask: this one as [batch or 1,heads,rows,columns], which is `scores`, in the dtype `work`.
ValueId whole_mask(Builder& b, ValueId mask, Shape scores, DType work);

// For reference rules: the masked scores of one query row, in float64.
class ScoreRows {
 public:
  ScoreRows(const OpView& op, const Array& query, const Array& key, const Array& value,
            const Array* mask);
  const std::vector<int64_t>& batch() const { return batch_; }
  int64_t rows() const { return query_.shape[query_.rank() - 2]; }
  int64_t columns() const { return key_.shape[key_.rank() - 2]; }
  // Scores of row `row` at the leading index `at`; -inf where masked.
  std::vector<double> row(const std::vector<int64_t>& at, int64_t row) const;
  double scale() const { return scale_; }
  // Offset of the operand's matrix that the leading index `at` reads.
  int64_t query_at(const std::vector<int64_t>& at) const { return begin(query_, at); }
  int64_t key_at(const std::vector<int64_t>& at) const { return begin(key_, at); }
  int64_t value_at(const std::vector<int64_t>& at) const { return begin(value_, at); }

 private:
  int64_t begin(const Array& x, std::vector<int64_t> at) const;

  const Array &query_, &key_, &value_;
  const Array* mask_;
  double scale_;
  bool causal_, grouped_ = false;
  std::vector<int64_t> batch_;
};

// Softmax in place; zeros if every score is -inf. Returns log(sum(exp(scores))), 0 for such a row.
double softmax_row(std::vector<double>& scores);

}  // namespace cleave
