#include "backend/cuda/cudnn_attention.h"

#include <algorithm>
#include <array>
#include <limits>

#include "library/spec.h"

namespace cleave::cuda {
namespace {

using Type = CudnnType;
using Do = CudnnPointwise;

constexpr float masked_out = -std::numeric_limits<float>::infinity();
constexpr float one = 1;

constexpr int64_t half = 2;  // bytes
using Sums = CudnnGradientSpec::Sums;

int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }

int64_t score_bytes(const AttentionSpec& s) {
  return half * s.batch * s.heads * round_up(s.rows, 64) * round_up(s.columns, 128);
}

// The most that a forward's plan may take itself. Of cuDNN 9.19 for sm_90: the first two of the
// heuristic's answers take 256 bytes and are half as fast again as the third, which takes none.
constexpr int64_t forward_plan_bytes = 4096;

// The most that a gradient's plan may take itself. Of cuDNN 9.28 for sm_90: 256 bytes, the
// gradients of each head's keys and values where heads share them, and dS if it is kept.
int64_t gradient_plan_bytes(const AttentionSpec& s, Sums sums) {
  int64_t bytes = int64_t{1} << 20;
  if (s.key_group > 1) bytes += half * s.batch * s.heads * s.columns * (s.width + s.value_width);
  return sums == Sums::in_order ? bytes + score_bytes(s) : bytes;
}

// Of dquery in f32, where it is summed so.
int64_t dquery_bytes(const AttentionSpec& s, Sums sums) {
  return sums == Sums::in_order ? 0 : s.batch * s.heads * s.rows * s.width * int64_t{sizeof(float)};
}

// Vectors of 16 bytes are read.
bool is_taken(const HeadStrides& s) {
  return s.column == 1 && s.row % 8 == 0 && s.head % 8 == 0 && s.batch % 8 == 0;
}
bool is_width(int64_t width) { return width > 0 && width % 8 == 0 && width <= 256; }

Sizes4 strides(const HeadStrides& s) { return {s.batch, s.head, s.row, s.column}; }
Sizes4 transposed(const HeadStrides& s) { return {s.batch, s.head, s.column, s.row}; }

// Sizes and types of one call.
struct Shape {
  const AttentionSpec& s;
  Type type = cudnn_type(s.dtype);
  int64_t key_heads = s.heads / s.key_group, value_heads = s.heads / s.value_group;
  Sizes4 query{s.batch, s.heads, s.rows, s.width};
  Sizes4 out{s.batch, s.heads, s.rows, s.value_width};
  Sizes4 scores{s.batch, s.heads, s.rows, s.columns};
  Sizes4 by_row{s.batch, s.heads, s.rows, 1};
};

// scores, masked above the diagonal.
int64_t mask_causal(CudnnGraph& g, const Shape& shape, int64_t scores, int64_t masked) {
  const int64_t row = g.index(scores, 2, g.inner(Type::i32, shape.scores));
  const int64_t column = g.index(scores, 3, g.inner(Type::i32, shape.scores));
  const int64_t is_kept = g.pointwise(Do::greater_or_equal, {row, column},
                                      g.inner(Type::boolean, shape.scores), Type::boolean);
  return g.pointwise(Do::select, {scores, masked, is_kept}, g.inner(Type::f32, shape.scores));
}

// What is added to the scores; 0 if there is none.
int64_t bias_tensor(CudnnGraph& g, const Shape& shape, const std::optional<AttentionBias>& bias) {
  if (!bias) return 0;
  return g.tensor(shape.type, bias->sizes(shape.s.batch, shape.s.heads), bias->strides());
}

// The transpose of scores, as products take it.
int64_t transpose(CudnnGraph& g, const Shape& shape, int64_t scores) {
  const Sizes4& x = shape.scores;
  return g.reshape(scores, g.inner(shape.type, {x[0], x[1], x[3], x[2]},
                                   {x[1] * x[2] * x[3], x[2] * x[3], 1, x[3]}));
}

// to = a @ b, where several heads of it are summed for one of `to`.
void matmul_heads(CudnnGraph& g, const Shape& shape, int64_t a, int64_t b, int64_t to,
                  int64_t heads, int64_t width) {
  if (heads == shape.s.heads) {
    g.matmul(a, b, to);
    return;
  }
  const int64_t each = g.inner(shape.type, {shape.s.batch, shape.s.heads, shape.s.columns, width});
  g.reduce(CudnnReduction::add, g.matmul(a, b, each), to);
}

}  // namespace

// --- Forward -------------------------------------------------------------------------------------

bool CudnnAttention::takes(const AttentionSpec& s) {
  return (s.dtype == DType::bf16 || s.dtype == DType::f16) &&
         (!s.mask || AttentionBias::takes(s)) && s.dropout_p == 0 && is_width(s.width) &&
         is_width(s.value_width) && s.batch > 0 && s.heads > 0 && s.rows > 1 && s.columns > 1 &&
         (s.sum_rows == 0 || s.sum_rows == s.rows) && is_taken(s.query) && is_taken(s.key) &&
         is_taken(s.value) && is_taken(s.out);
}

// The plan's, then the mask's, and the sums that nobody asked for.
int64_t CudnnAttention::scratch_bytes(const AttentionSpec& s) {
  const int64_t sums = s.batch * s.heads * s.rows * int64_t{sizeof(float)};
  return forward_plan_bytes + AttentionBias::scratch_bytes(s, s.columns) +
         (s.sum_rows > 0 ? 0 : round_up(sums, 64));
}

Result<CudnnAttention> CudnnAttention::make(const AttentionSpec& s, const CudnnPtr& cudnn,
                                            const LibraryDevice& device) {
  std::optional<AttentionBias> bias;
  if (s.mask) { CLEAVE_TRY(bias, AttentionBias::make(s, s.columns, device)); }
  const Shape shape{s};
  CudnnGraph g(cudnn);
  const auto inner = [&](const Sizes4& sizes) { return g.inner(Type::f32, sizes); };
  const int64_t query = g.tensor(shape.type, shape.query, strides(s.query));
  const int64_t key =
      g.tensor(shape.type, {s.batch, shape.key_heads, s.width, s.columns}, transposed(s.key));
  const int64_t value = g.tensor(shape.type, {s.batch, shape.value_heads, s.columns, s.value_width},
                                 strides(s.value));
  const int64_t out = g.tensor(shape.type, shape.out, strides(s.out));
  const int64_t scale = g.number();
  int64_t scores = g.matmul(query, key, inner(shape.scores));
  scores = g.pointwise(Do::mul, {scores, scale}, inner(shape.scores));
  const int64_t added = bias_tensor(g, shape, bias);
  if (bias) scores = g.pointwise(Do::add, {scores, added}, inner(shape.scores));
  const int64_t masked = s.is_causal ? g.number() : 0;
  if (s.is_causal) scores = mask_causal(g, shape, scores, masked);
  const int64_t top = g.reduce(CudnnReduction::max, scores, inner(shape.by_row));
  const int64_t below = g.pointwise(Do::sub, {scores, top}, inner(shape.scores));
  const int64_t weights = g.pointwise(Do::exp, {below}, inner(shape.scores));
  const int64_t sum = g.reduce(CudnnReduction::add, weights, inner(shape.by_row));
  const int64_t log = g.pointwise(Do::log, {sum}, inner(shape.by_row));
  const int64_t sums = g.tensor(Type::f32, shape.by_row, {s.heads * s.rows, s.rows, 1, 1});
  g.pointwise(Do::add, {top, log}, sums);
  g.matmul(g.pointwise(Do::div, {weights, sum}, g.inner(shape.type, shape.scores)), value, out);

  CLEAVE_TRY(CudnnPlan plan, std::move(g).plan(forward_plan_bytes));
  CudnnAttention made(std::move(plan), s, std::move(bias));
  made.query_ = query, made.key_ = key, made.value_ = value, made.out_ = out, made.sums_ = sums;
  made.scale_at_ = scale, made.masked_at_ = masked, made.bias_at_ = added;
  return made;
}

void CudnnAttention::run(void* const* at, void* scratch, void* queue) const {
  using At = AttentionOperand;
  const auto scale = static_cast<float>(spec_.scale);
  char* bias = static_cast<char*>(scratch) + forward_plan_bytes;
  void* sums = spec_.sum_rows > 0 ? at[At::logsumexp]
                                  : bias + AttentionBias::scratch_bytes(spec_, spec_.columns);
  std::vector<std::pair<int64_t, const void*>> pointers = {
      {query_, at[At::query]}, {key_, at[At::key]}, {value_, at[At::value]},
      {out_, at[At::out]},     {sums_, sums},       {scale_at_, &scale}};
  if (masked_at_ != 0) pointers.emplace_back(masked_at_, &masked_out);
  if (bias_) {
    bias_->write(at[At::mask], bias, queue);
    pointers.emplace_back(bias_at_, bias);
  }
  plan_.run(pointers, scratch, queue);
  if (bias_) bias_->close_rows(bias, at[At::out], sums, queue);
}

// --- Gradient ------------------------------------------------------------------------------------

bool CudnnAttentionGradient::takes(const AttentionBackwardSpec& s) {
  const AttentionSpec& f = s.forward;
  return CudnnAttention::takes(f) && f.sum_rows == f.rows && s.wants_dquery && s.wants_dkey &&
         s.wants_dvalue && !s.wants_dmask && is_taken(s.dout) && is_taken(s.dquery) &&
         is_taken(s.dkey) && is_taken(s.dvalue);
}

bool CudnnAttentionGradient::pads(const AttentionBackwardSpec& s, const Cudnn& cudnn) {
  constexpr size_t reads_past_keys = 91500;  // up to this version, where a tile isn't full
  return !PaddedKeys::are_whole(s.forward) && cudnn.api().version() <= reads_past_keys;
}

AttentionSpec CudnnGradientSpec::part() const {
  AttentionSpec s = forward;
  if (sums == Sums::in_any_order) return s;
  // `rows`: sums of rows that one of n has; those of a part begin at 16 bytes.
  const auto shrink = [&](int64_t& n, int64_t unit, int64_t rows) {
    const int64_t all = n / unit;
    for (int64_t parts = 2; parts <= all && score_bytes(s) > most_score_bytes; ++parts)
      if (all % parts == 0 && all / parts * unit * rows % 4 == 0) n = all / parts * unit;
  };
  shrink(s.batch, 1, s.heads * s.rows);
  shrink(s.heads, s.key_group, s.rows);
  return s;
}

int64_t CudnnAttentionGradient::scratch_bytes(const CudnnGradientSpec& s) {
  AttentionSpec f = s.part();
  f.columns = round_up(f.columns, PaddedKeys::tile);  // as it may get them
  const int64_t delta = f.batch * f.heads * f.rows * int64_t{sizeof(float)};
  const int64_t own =
      round_up(gradient_plan_bytes(f, s.sums) + dquery_bytes(f, s.sums) + delta, 64);
  return own + PaddedKeys::scratch_bytes(s.forward) +
         AttentionBias::scratch_bytes(s.forward, f.columns);
}

Result<CudnnAttentionGradient> CudnnAttentionGradient::make(const CudnnGradientSpec& asked,
                                                            const CudnnPtr& cudnn,
                                                            const LibraryDevice& device) {
  CudnnGradientSpec spec = asked;
  std::optional<PaddedKeys> padding;
  if (pads(asked, *cudnn)) {
    CLEAVE_TRY(padding, PaddedKeys::make(asked, device));
    static_cast<AttentionBackwardSpec&>(spec) = padding->padded();
  }
  const AttentionSpec s = spec.part();
  std::optional<AttentionBias> bias;
  if (s.mask) { CLEAVE_TRY(bias, AttentionBias::make(asked.forward, s.columns, device)); }
  const Shape shape{s};
  CudnnGraph g(cudnn);
  const auto inner = [&](const Sizes4& sizes) { return g.inner(Type::f32, sizes); };
  const Sizes4 keys{s.batch, shape.key_heads, s.columns, s.width};
  const Sizes4 values{s.batch, shape.value_heads, s.columns, s.value_width};
  const int64_t query = g.tensor(shape.type, shape.query, strides(s.query));
  const int64_t key = g.tensor(shape.type, {keys[0], keys[1], keys[3], keys[2]}, transposed(s.key));
  const int64_t value =
      g.tensor(shape.type, {values[0], values[1], values[3], values[2]}, transposed(s.value));
  const int64_t out = g.tensor(shape.type, shape.out, strides(s.out));
  const int64_t dout = g.tensor(shape.type, shape.out, strides(spec.dout));
  const int64_t all_rows = spec.forward.heads * s.rows;
  const int64_t sums = g.tensor(Type::f32, shape.by_row, {all_rows, s.rows, 1, 1});
  const int64_t dquery = g.tensor(shape.type, shape.query, strides(spec.dquery));
  const int64_t dkey = g.tensor(shape.type, keys, strides(spec.dkey));
  const int64_t dvalue = g.tensor(shape.type, values, strides(spec.dvalue));
  const int64_t scale = g.number(), one_at = g.number();
  const int64_t masked = s.is_causal ? g.number() : 0;

  const int64_t products = g.pointwise(Do::mul, {dout, out}, inner(shape.out));
  const int64_t product_sum = g.reduce(CudnnReduction::add, products, inner(shape.by_row));
  const int64_t delta = g.tensor(Type::f32, shape.by_row, {s.heads * s.rows, s.rows, 1, 1});
  g.pointwise(Do::mul, {product_sum, one_at}, delta);

  int64_t scores = g.matmul(query, key, inner(shape.scores));
  scores = g.pointwise(Do::mul, {scores, scale}, inner(shape.scores));
  int64_t added = bias_tensor(g, shape, bias);
  if (padding && !bias)
    added = g.tensor(shape.type, {1, 1, 1, s.columns}, {s.columns, s.columns, s.columns, 1});
  if (added != 0) scores = g.pointwise(Do::add, {scores, added}, inner(shape.scores));
  scores = g.pointwise(Do::sub, {scores, sums}, inner(shape.scores));
  if (s.is_causal) scores = mask_causal(g, shape, scores, masked);
  const int64_t weights = g.pointwise(Do::exp, {scores}, inner(shape.scores));
  matmul_heads(g, shape, transpose(g, shape, weights), dout, dvalue, shape.value_heads,
               s.value_width);

  int64_t dscores = g.matmul(dout, value, inner(shape.scores));
  dscores = g.pointwise(Do::sub, {dscores, delta}, inner(shape.scores));
  dscores = g.pointwise(Do::mul, {dscores, weights}, inner(shape.scores));
  dscores = g.pointwise(Do::mul, {dscores, scale}, inner(shape.scores));
  matmul_heads(g, shape, transpose(g, shape, dscores), query, dkey, shape.key_heads, s.width);

  const int64_t key_rows = g.reshape(key, g.inner(shape.type, keys, strides(s.key)));
  int64_t dquery_sums = 0;
  if (spec.sums == Sums::in_any_order) {
    dquery_sums = g.tensor(Type::f32, shape.query,
                           {s.heads * s.rows * s.width, s.rows * s.width, s.width, 1});
    g.pointwise(Do::identity, {g.matmul(dscores, key_rows, dquery_sums)}, dquery);
  } else {
    g.matmul(dscores, key_rows, dquery);
  }

  CLEAVE_TRY(CudnnPlan plan, std::move(g).plan(gradient_plan_bytes(s, spec.sums)));
  CudnnAttentionGradient made(std::move(plan), spec, std::move(padding), std::move(bias));
  made.query_ = query, made.key_ = key, made.value_ = value, made.out_ = out, made.sums_ = sums;
  made.dout_ = dout, made.dquery_ = dquery, made.dkey_ = dkey, made.dvalue_ = dvalue;
  made.delta_ = delta, made.dquery_sums_ = dquery_sums;
  made.scale_at_ = scale, made.masked_at_ = masked, made.one_at_ = one_at;
  made.added_at_ = added;
  return made;
}

void CudnnAttentionGradient::run(void* const* operands, void* scratch, void* queue) const {
  using At = AttentionOperand;
  const AttentionSpec &all = spec_.forward, part = spec_.part();
  std::array<void*, max_library_operands> at;
  std::copy_n(operands, at.size(), at.begin());
  const void* open = nullptr;
  if (padding_) {
    const PaddedKeys::Pointers padded = padding_->pointers(scratch);
    at[At::key] = padded.key, at[At::value] = padded.value, open = padded.open;
    at[At::dkey] = padded.dkey, at[At::dvalue] = padded.dvalue;
    padding_->pad(operands, scratch, queue);
  }
  const auto scale = static_cast<float>(all.scale);
  char* bias = static_cast<char*>(scratch) + (padding_ ? padding_->bytes() : 0);
  if (bias_) bias_->write(operands[At::mask], bias, queue);
  char* workspace = bias + AttentionBias::scratch_bytes(all, all.columns);
  char* dquery_sums = workspace + gradient_plan_bytes(part, spec_.sums);
  char* delta = dquery_sums + dquery_bytes(part, spec_.sums);
  for (int64_t batch = 0; batch < all.batch; batch += part.batch)
    for (int64_t head = 0; head < all.heads; head += part.heads) {
      const auto from = [&](size_t position, const HeadStrides& strides, int64_t group) {
        return static_cast<const char*>(at[position]) +
               half * (batch * strides.batch + head / group * strides.head);
      };
      const void* const sums =
          static_cast<const float*>(at[At::logsumexp]) + (batch * all.heads + head) * all.rows;
      std::vector<std::pair<int64_t, const void*>> pointers = {
          {query_, from(At::query, all.query, 1)},
          {key_, from(At::key, all.key, all.key_group)},
          {value_, from(At::value, all.value, all.value_group)},
          {out_, from(At::out, all.out, 1)},
          {sums_, sums},
          {dout_, from(At::dout, spec_.dout, 1)},
          {dquery_, from(At::dquery, spec_.dquery, 1)},
          {dkey_, from(At::dkey, spec_.dkey, all.key_group)},
          {dvalue_, from(At::dvalue, spec_.dvalue, all.value_group)},
          {delta_, delta},
          {scale_at_, &scale},
          {one_at_, &one}};
      if (masked_at_ != 0) pointers.emplace_back(masked_at_, &masked_out);
      if (dquery_sums_ != 0) pointers.emplace_back(dquery_sums_, dquery_sums);
      if (added_at_ != 0)
        pointers.emplace_back(added_at_, bias_ ? bias_->from(bias, batch, head) : open);
      plan_.run(pointers, workspace, queue);
    }
  if (padding_) padding_->unpad(operands, scratch, queue);
}

}  // namespace cleave::cuda
