// How a call is cut into pieces, and how they run.
#include "runtime/attention.h"

#include <algorithm>

#include "library/check_attention.h"
#include "runtime/lane_count.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t unit) { return ceil_div(a, unit) * unit; }

// So many pieces keep the threads of most machines busy until the end.
constexpr int64_t enough_pieces = 16;
// A larger piece packs the keys fewer times: its rows share them.
constexpr int64_t max_rows = 256, min_rows = 64;

Status check(const AttentionSpec& s, const AttentionKernel& kernel) {
  if (kernel.forward == nullptr)
    return unsupported("attention: {} is not covered (src/runtime/attention_block.h)",
                       name_of(s.dtype));
  return check_sizes(s);
}

// A model of a core: `pairs` pairs of products (scores, and sums
// weighted by them), exp of each score, and packing of the operands. Queries are rounded up to
// panels.
double cycles_of(const AttentionSpec& s, const AttentionKernel& kernel, double pairs) {
  constexpr double of_exp = 20;
  const auto heads = static_cast<double>(s.batch * s.heads);
  const auto rows = static_cast<double>(round_up(s.rows, kernel.panel));
  const auto columns = static_cast<double>(s.columns), lanes = static_cast<double>(kernel.lanes);
  const auto widths = static_cast<double>(s.width + s.value_width);
  const double scores = rows * columns / (s.is_causal ? 2 : 1);
  return heads * (scores * (pairs * widths / kernel.multiply_adds() + of_exp / lanes) +
                  pairs * (rows + columns) * widths);
}

AttentionOperands operands_of(void* const* at) {
  using At = AttentionOperand;
  return {at[At::query],
          at[At::key],
          at[At::value],
          at[At::mask],
          static_cast<const int64_t*>(at[At::seed]),
          static_cast<const int64_t*>(at[At::step])};
}

float* sums_of(void* const* at) { return static_cast<float*>(at[AttentionOperand::logsumexp]); }

}  // namespace

// --- Forward -------------------------------------------------------------------------------------

Result<std::shared_ptr<Attention>> Attention::make(const AttentionSpec& spec,
                                                   const Target& target) {
  return make(spec, attention_kernel(spec.dtype, target.set));
}

Result<std::shared_ptr<Attention>> Attention::make(const AttentionSpec& spec,
                                                   const AttentionKernel& kernel) {
  CLEAVE_CHECK(check(spec, kernel));
  return std::shared_ptr<Attention>(new Attention(spec, kernel));
}

Attention::Attention(const AttentionSpec& spec, const AttentionKernel& kernel)
    : spec_(spec), kernel_(kernel) {
  const int64_t heads = spec.batch * spec.heads;
  piece_rows_ = max_rows;
  while (piece_rows_ > min_rows && heads * ceil_div(spec.rows, piece_rows_) < enough_pieces)
    piece_rows_ /= 2;
  piece_rows_ = std::max<int64_t>(1, std::min(piece_rows_, spec.rows));
  row_pieces_ = ceil_div(spec.rows, piece_rows_);
  lane_bytes_ = pieces() == 0 ? 0 : kernel.forward_scratch(spec, piece_rows_);
}

long Attention::pieces() const {
  return static_cast<long>(spec_.batch * spec_.heads * row_pieces_);
}
long Attention::lanes() const { return lanes_for(cycles_of(spec_, kernel_, 1), pieces()); }

void Attention::run(const AttentionForward& at, void* scratch, Executor& executor) const {
  run_lanes(lanes(), pieces(), executor, [&](long lane, long index) {
    run_piece(index, at, static_cast<char*>(scratch) + lane * lane_bytes_);
  });
}

void Attention::call(void* const* at, void* scratch, const RunContext& context) const {
  run({operands_of(at), at[AttentionOperand::out], sums_of(at)}, scratch, context.executor);
}

// The last rows come first: with a causal mask they take the most work.
void Attention::run_piece(long index, const AttentionForward& at, void* scratch) const {
  const int64_t heads = spec_.batch * spec_.heads, head = index % heads;
  const int64_t first = (row_pieces_ - 1 - index / heads) * piece_rows_;
  kernel_.forward(
      spec_, at,
      {head / spec_.heads, head % spec_.heads, first, std::min(piece_rows_, spec_.rows - first)},
      scratch);
}

// --- Backward ------------------------------------------------------------------------------------

Result<std::shared_ptr<AttentionGradient>> AttentionGradient::make(
    const AttentionBackwardSpec& spec, const Target& target) {
  return make(spec, attention_kernel(spec.forward.dtype, target.set));
}

Result<std::shared_ptr<AttentionGradient>> AttentionGradient::make(
    const AttentionBackwardSpec& spec, const AttentionKernel& kernel) {
  CLEAVE_CHECK(check(spec.forward, kernel));
  if (spec.forward.key_group != spec.forward.value_group ||
      (spec.forward.sum_rows == 0 && spec.forward.rows > 0))
    return bug("attention: a backward of groups {} and {}, sums of {} rows", spec.forward.key_group,
               spec.forward.value_group, spec.forward.sum_rows);
  return std::shared_ptr<AttentionGradient>(new AttentionGradient(spec, kernel));
}

AttentionGradient::AttentionGradient(const AttentionBackwardSpec& spec,
                                     const AttentionKernel& kernel)
    : spec_(spec), kernel_(kernel) {
  const AttentionSpec& f = spec.forward;
  const int64_t heads = (spec.sums_dmask() ? 1 : f.batch) * (f.heads / f.key_group);
  const int64_t blocks = std::max<int64_t>(1, ceil_div(f.columns, kernel.block_columns));
  // With at least half of enough_pieces heads each head is one piece, and there are no partial sums
  // to add.
  int64_t parts = 1;
  if (heads > 0 && 2 * heads < enough_pieces)
    parts = std::min(ceil_div(enough_pieces, heads), blocks);
  piece_columns_ = ceil_div(blocks, parts) * kernel.block_columns;
  column_pieces_ = std::max<int64_t>(1, ceil_div(f.columns, piece_columns_));
  lane_bytes_ = pieces() == 0 ? 0 : kernel.backward_scratch(spec);
}

long AttentionGradient::pieces() const {
  const AttentionSpec& f = spec_.forward;
  return static_cast<long>(f.batch * (f.heads / f.key_group) * column_pieces_);
}
long AttentionGradient::lanes() const {
  return lanes_for(cycles_of(spec_.forward, kernel_, 2.5), pieces() / turns());
}

long AttentionGradient::turns() const {
  return spec_.sums_dmask() ? static_cast<long>(spec_.forward.batch) : 1;
}

int64_t AttentionGradient::partial_bytes() const {
  if (column_pieces_ == 1 || !spec_.wants_dquery) return 0;
  const AttentionSpec& f = spec_.forward;
  return round_up(f.key_group * kernel_.dquery_floats(f) * static_cast<int64_t>(sizeof(float)), 64);
}

int64_t AttentionGradient::dmask_bytes() const {
  if (turns() <= dmask_batches) return 0;
  const AttentionSpec& f = spec_.forward;
  return round_up(f.key_group * f.rows * std::min(piece_columns_, f.columns) *
                      static_cast<int64_t>(sizeof(double)),
                  64);
}

void AttentionGradient::run(const AttentionBackward& at, void* scratch, Executor& executor) const {
  char* dmasks = static_cast<char*>(scratch) + lanes() * lane_bytes_;
  char* partials = dmasks + lanes() * dmask_bytes();
  run_lanes(lanes(), pieces() / turns(), executor, [&](long lane, long index) {
    run_turns(index, at, static_cast<char*>(scratch) + lane * lane_bytes_, partials,
              reinterpret_cast<double*>(dmasks + lane * dmask_bytes()));
  });
  if (partial_bytes() == 0) return;
  const auto heads = static_cast<long>(spec_.forward.batch * spec_.forward.heads);
  run_lanes(std::min<long>(heads, max_lanes), heads, executor,
            [&](long, long head) { sum_head(head, at, partials); });
}

void AttentionGradient::call(void* const* at, void* scratch, const RunContext& context) const {
  using At = AttentionOperand;
  run({operands_of(at), at[At::out], sums_of(at), at[At::dout], at[At::dquery], at[At::dkey],
       at[At::dvalue], static_cast<float*>(at[At::dmask])},
      scratch, context.executor);
}

// The pieces of one head's columns, batch by batch where their gradient of the mask is one.
void AttentionGradient::run_turns(long index, const AttentionBackward& at, void* lane,
                                  char* partials, double* dmask) const {
  const AttentionSpec& f = spec_.forward;
  if (turns() == 1) return run_piece(index, at, lane, partials);
  const auto key_heads = static_cast<long>(f.heads / f.key_group);
  const long first = index / key_heads * turns() * key_heads + index % key_heads;
  for (long batch = 0; batch < turns(); ++batch) {
    run_piece(first + batch * key_heads, at, lane, partials);
    const bool is_last = batch + 1 == turns();
    if (dmask_bytes() > 0 && (is_last || (batch + 1) % dmask_batches == 0))
      add_dmask(index, batch, at, dmask);
  }
}

// Adds what the last batches, of which this one is the last, left in dmask to `sums`, which become
// dmask at the end.
void AttentionGradient::add_dmask(long index, int64_t batch, const AttentionBackward& at,
                                  double* sums) const {
  const AttentionSpec& f = spec_.forward;
  const HeadStrides& s = spec_.dmask;
  const int64_t key_heads = f.heads / f.key_group, first = index / key_heads * piece_columns_;
  const int64_t columns = std::min(piece_columns_, f.columns - first);
  const bool is_first = batch < dmask_batches, is_last = batch + 1 == f.batch;
  for (int64_t g = 0; g < f.key_group; ++g)
    for (int64_t i = 0; i < f.rows; ++i, sums += columns) {
      float* row =
          at.dmask + (index % key_heads * f.key_group + g) * s.head + i * s.row + first * s.column;
      for (int64_t k = 0; k < columns; ++k) {
        sums[k] = (is_first ? 0 : sums[k]) + row[k * s.column];
        if (is_last) row[k * s.column] = static_cast<float>(sums[k]);
      }
    }
}

// The indices of a head's pieces differ by the number of heads; the first columns, which take the
// most work with a causal mask, come first.
void AttentionGradient::run_piece(long index, const AttentionBackward& at, void* lane,
                                  char* partials) const {
  const AttentionSpec& f = spec_.forward;
  const int64_t key_heads = f.heads / f.key_group, heads = f.batch * key_heads;
  const int64_t head = index % heads, first = index / heads * piece_columns_;
  float* partial =
      partial_bytes() == 0 ? nullptr : reinterpret_cast<float*>(partials + index * partial_bytes());
  kernel_.backward(
      spec_, at,
      {head / key_heads, head % key_heads, first, std::min(piece_columns_, f.columns - first)},
      partial, lane);
}

void AttentionGradient::sum_head(long head, const AttentionBackward& at,
                                 const char* partials) const {
  const AttentionSpec& f = spec_.forward;
  const int64_t batch = head / f.heads, of_batch = head % f.heads;
  const int64_t key_heads = f.heads / f.key_group;
  const int64_t key_head = batch * key_heads + of_batch / f.key_group;
  const int64_t floats = static_cast<int64_t>(sizeof(float)), stride = partial_bytes() / floats;
  const float* first = reinterpret_cast<const float*>(partials) + key_head * stride +
                       of_batch % f.key_group * kernel_.dquery_floats(f);
  kernel_.sum_partial(spec_, at.dquery, {batch, of_batch, 0, f.rows}, first, column_pieces_,
                      stride * f.batch * key_heads);
}

}  // namespace cleave::runtime
