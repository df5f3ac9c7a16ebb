#include "runtime/attention_scratch.h"

#include "runtime/scratch_allocator.h"

namespace cleave::runtime {

ForwardScratch::ForwardScratch(const AttentionSizes& by, const AttentionSpec& spec, int64_t rows,
                               void* scratch) {
  ScratchAllocator allocate(scratch);
  const int64_t queries = by.rounded(rows, by.panel), block = by.keys_at_a_time(spec.columns);
  keys = allocate(by.groups(block) * by.group_floats(spec.width));
  values = allocate(block * by.in_lanes(spec.value_width));
  row_copies = allocate(by.panel * by.in_lanes(spec.width));
  panels = allocate(queries * spec.width);
  out = allocate(queries * by.in_lanes(spec.value_width));
  top = allocate(queries);
  sum = allocate(queries);
  scores = allocate(block * by.panel);
  factors = allocate(spec.dropout_p > 0 ? block * by.panel : 0);
  bytes = allocate.bytes();
}

BackwardScratch::BackwardScratch(const AttentionSizes& by, const AttentionBackwardSpec& spec,
                                 void* scratch) {
  ScratchAllocator allocate(scratch);
  const AttentionSpec& f = spec.forward;
  const int64_t block = by.keys_at_a_time(f.columns), groups = by.groups(block);
  const int64_t width = by.in_lanes(f.width), value_width = by.in_lanes(f.value_width);
  keys = allocate(groups * by.group_floats(f.width));
  values = allocate(groups * by.group_floats(f.value_width));
  key_rows = allocate(block * width);
  dkeys = allocate(block * width);
  dvalues = allocate(block * value_width);
  const int64_t all_rows = by.rounded(f.rows, by.panel);
  const int64_t rows = all_rows < by.query_block ? all_rows : by.query_block;
  queries = allocate(rows * width);
  douts = allocate(rows * value_width);
  query_panel = allocate(by.panel * f.width);
  dout_panel = allocate(by.panel * f.value_width);
  weights = allocate(block * by.query_block);
  dscores = allocate(block * by.query_block);
  factors = allocate(f.dropout_p > 0 ? block * by.query_block : 0);
  delta = allocate(f.key_group * f.rows);
  dqueries = allocate(by.sums_in_dquery(spec) ? 0 : f.key_group * f.rows * width);
  bytes = allocate.bytes();
}

}  // namespace cleave::runtime
