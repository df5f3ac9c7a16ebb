#include "runtime/attention_amx_scratch.h"

#include "runtime/scratch_allocator.h"

namespace cleave::runtime {

AmxForwardScratch::AmxForwardScratch(const AttentionSizes& by, const AttentionSpec& spec,
                                     int64_t rows, void* scratch)
    : block(by.rounded(by.keys_at_a_time(spec.columns), by.panel)),
      width(by.rounded(spec.width, by.panel)), value_width(by.rounded(spec.value_width, by.panel)) {
  ScratchAllocator allocate(scratch);
  const int64_t queries = by.rounded(rows, by.panel);
  keys = allocate.of<Bf16>(block * width);
  values = allocate.of<Bf16>(block * value_width);
  turned_values = allocate.of<Bf16>(value_width * block);
  row_copies = allocate.of<Bf16>(by.panel * width);
  panels = allocate.of<Bf16>(queries * width);
  weights = allocate.of<Bf16>(block * by.panel);
  out = allocate(queries * value_width);
  top = allocate(queries);
  sum = allocate(queries);
  scores = allocate(block * by.panel);
  factors = allocate(spec.dropout_p > 0 ? block * by.panel : 0);
  bytes = allocate.bytes();
}

AmxBackwardScratch::AmxBackwardScratch(const AttentionSizes& by, const AttentionBackwardSpec& spec,
                                       void* scratch)
    : block(by.rounded(by.keys_at_a_time(spec.forward.columns), by.panel)),
      width(by.rounded(spec.forward.width, by.panel)),
      value_width(by.rounded(spec.forward.value_width, by.panel)) {
  ScratchAllocator allocate(scratch);
  const AttentionSpec& f = spec.forward;
  const int64_t all_rows = by.rounded(f.rows, by.panel);
  const int64_t rows = all_rows < by.query_block ? all_rows : by.query_block;
  keys = allocate.of<Bf16>(block * width);
  values = allocate.of<Bf16>(block * value_width);
  turned_keys = allocate.of<Bf16>(width * block);
  queries = allocate.of<Bf16>(rows * width);
  douts = allocate.of<Bf16>(rows * value_width);
  outs = allocate.of<Bf16>(by.panel * value_width);
  weights = allocate.of<Bf16>(block * by.query_block);
  dscores = allocate.of<Bf16>(block * by.query_block);
  query_pairs = allocate.of<Bf16>(rows * width);
  dout_pairs = allocate.of<Bf16>(rows * value_width);
  query_panel = allocate.of<Bf16>(by.panel * width);
  dout_panel = allocate.of<Bf16>(by.panel * value_width);
  dscore_pairs = allocate.of<Bf16>(block * by.panel);
  scores = allocate(block * by.panel);
  dweights = allocate(block * by.panel);
  factors = allocate(f.dropout_p > 0 ? block * by.panel : 0);
  delta = allocate(f.key_group * all_rows);
  dkeys = allocate(block * width);
  dvalues = allocate(block * value_width);
  dqueries = allocate(f.key_group * by.dquery_floats(f));
  bytes = allocate.bytes();
}

}  // namespace cleave::runtime
