// A long row that several loops read lies in shared memory from the first one on. Its copies take
// no registers, so that a processor has two such blocks: one computes while the other waits.
//
//   for each slot: copy ahead the chunk at (member + slot*threads)*8
//   wait                                                    each thread reads its own chunks alone
//   for each slot: fold, or compute, the chunk in shared memory
//
// The last elements of a row that isn't a multiple of a chunk are read where they are.
#include <algorithm>

#include "simt/phase_writer.h"
#include "simt/team.h"

namespace cleave::simt {

using loop::Op;

namespace {

// Shorter rows are in registers. A block of sm_86 and sm_89 has 99 KB, of which sums take some.
constexpr int64_t least_row_bytes = 48 << 10, most_row_bytes = (99 << 10) - 768;

}  // namespace

// Whether the elements, or some of their operands, are in shared memory then.
bool PhaseWriter::stage_row(const Elements& elements, int threads, int64_t slots, Block& out) {
  const int64_t* count = elements.count.as_const_int();
  if (team_ <= warp_lanes || in_columns_ || elements.chunk != fold_chunk || !count ||
      elements.loops.size() != 1 || elements.row.defined())
    return false;
  const Expr first = fresh("first");
  affines_.set(first, Affine{0, elements.chunk});
  const std::vector<Wide> wide = find_wide(elements, first);
  const bool is_there = std::ranges::any_of(wide, [](const Wide& w) { return w.row >= 0; });
  int64_t bytes = 0;
  std::vector<const Wide*> rows;
  const int64_t chunks = (*count + elements.chunk - 1) / elements.chunk;
  for (const Wide& w : wide) {
    if (!w.is_read || w.is_written || w.row >= 0 || !read_again_.contains(w.buffer) ||
        written_.contains(w.buffer))
      continue;
    const int64_t size = size_of(to_.buffers[static_cast<size_t>(w.buffer)].dtype);
    if (elements.chunk * size % 16 != 0) continue;
    rows.push_back(&w);
    bytes += chunks * elements.chunk * size;
  }
  int64_t taken = 0;  // by rows of other loops, and what else threads share
  for (size_t b = first_buffer_; b < to_.buffers.size(); ++b)
    if (to_.buffers[b].space == Space::shared)
      taken += to_.buffers[b].elements * size_of(to_.buffers[b].dtype);
  if (bytes <= least_row_bytes || bytes + taken > most_row_bytes) return is_there;

  const Expr slot = fresh("slot"), number = fresh("chunk");
  For each{.var = slot, .begin = Expr(0), .end = Expr(slots), .body = {}, .unrolled = 4};
  ranges_.set(slot, Range{0, slots - 1});
  let(number, member_ + slot * Expr(threads), each.body);
  ranges_.set(number, Range{0, slots * threads - 1});
  let(first, number * Expr(elements.chunk), each.body);
  Block copies;
  for (const Wide* w : rows) {
    const Buffer& b = to_.buffers[static_cast<size_t>(w->buffer)];
    const int64_t row =
        add_buffer(b.name + "_row", b.dtype, chunks * elements.chunk, Space::shared);
    copies.push_back({CopyAhead{row, w->buffer, first, w->first_indices[0], elements.chunk}});
    kept_.push_back({.buffer = w->buffer,
                     .index = w->by_element,
                     .elements = *count,
                     .chunk = elements.chunk,
                     .local = row,
                     .is_row = true});
  }
  if (slots * threads * elements.chunk > *count)
    each.body.push_back(
        {If{binary(Op::le, first + Expr(elements.chunk), elements.count), std::move(copies), {}}});
  else
    each.body.insert(each.body.end(), std::make_move_iterator(copies.begin()),
                     std::make_move_iterator(copies.end()));
  out.push_back({std::move(each)});
  out.push_back({CopyWait{}});
  return true;
}

}  // namespace cleave::simt
