#include "runtime/attention_scratch.h"

namespace cleave::runtime {
namespace {

// Takes pieces off a stretch of scratch, each aligned to a cache line. Without one, counts them.
class TakeScratch {
 public:
  explicit TakeScratch(void* scratch) : at_(static_cast<float*>(scratch)) {}
  float* operator()(int64_t floats) {
    float* piece = at_ == nullptr ? nullptr : at_ + taken_;
    taken_ += AttentionSizes::rounded(floats, AttentionSizes::line);
    return piece;
  }
  int64_t bytes() const { return taken_ * static_cast<int64_t>(sizeof(float)); }

 private:
  float* at_;
  int64_t taken_ = 0;
};

}  // namespace

ForwardScratch::ForwardScratch(const AttentionSizes& by, const AttentionSpec& spec, int64_t rows,
                               void* scratch) {
  TakeScratch take(scratch);
  const int64_t queries = by.rounded(rows, by.panel), block = by.keys_at_a_time(spec.columns);
  keys = take(by.groups(block) * by.group_floats(spec.width));
  values = take(block * by.in_lanes(spec.value_width));
  row_copies = take(by.panel * by.in_lanes(spec.width));
  panels = take(queries * spec.width);
  out = take(queries * by.in_lanes(spec.value_width));
  top = take(queries);
  sum = take(queries);
  scores = take(block * by.panel);
  factors = take(spec.dropout_p > 0 ? block * by.panel : 0);
  bytes = take.bytes();
}

BackwardScratch::BackwardScratch(const AttentionSizes& by, const AttentionBackwardSpec& spec,
                                 void* scratch) {
  TakeScratch take(scratch);
  const AttentionSpec& f = spec.forward;
  const int64_t block = by.keys_at_a_time(f.columns), groups = by.groups(block);
  const int64_t width = by.in_lanes(f.width), value_width = by.in_lanes(f.value_width);
  keys = take(groups * by.group_floats(f.width));
  values = take(groups * by.group_floats(f.value_width));
  key_rows = take(block * width);
  dkeys = take(block * width);
  dvalues = take(block * value_width);
  const int64_t all_rows = by.rounded(f.rows, by.panel);
  const int64_t rows = all_rows < by.query_block ? all_rows : by.query_block;
  queries = take(rows * width);
  douts = take(rows * value_width);
  query_panel = take(by.panel * f.width);
  dout_panel = take(by.panel * f.value_width);
  weights = take(block * by.query_block);
  dscores = take(block * by.query_block);
  factors = take(f.dropout_p > 0 ? block * by.query_block : 0);
  own = take(f.key_group * f.rows);
  dqueries = take(by.sums_in_dquery(spec) ? 0 : f.key_group * f.rows * width);
  bytes = take.bytes();
}

}  // namespace cleave::runtime
