// Columns with folds: a thread takes 4 or 8 neighbours, so that it reads them at once, and shares
// the rows of long folds with others, which add up what they have in shared memory.
//
//   for c in min(768 - first, 64) lanes {       thread = split*16 + c/4
//     fold over r in 256 { s = sum of ... }       rows split, split + 8, ...; then 8 sums in order
//     %y[first + c] = s                           the first split stores
//   }
//
// What a column has is in an array of the thread; threads beyond the last column compute nothing.
#include <algorithm>

#include "simt/fold_values.h"
#include "simt/phase_writer.h"
#include "simt/team.h"

namespace cleave::simt {

using loop::Fold;
using loop::Op;

namespace {

constexpr int64_t block_rows = 16;  // that a thread folds in their type

}  // namespace

// Calls `body` for the columns of a thread, whether they are there or not.
void PhaseWriter::for_each_column(const Elements& columns, Block& out,
                                  const std::function<void(const Expr& k, Block&)>& body) {
  For f{.var = fresh("k"), .begin = Expr(0), .end = Expr(columns.chunk), .body = {}, .unrolled = 0};
  ranges_.set(f.var, Range{0, columns.chunk - 1});
  body(f.var, f.body);
  out.push_back({std::move(f)});
}

void PhaseWriter::columns(const loop::For& f, Block& out) {
  const int width = column_width(f, from_), splits = column_splits(f);
  const Expr groups(loop::column_lanes / width);
  Elements columns{
      .count = expr(f.loop.extent), .chunk = width, .loops = {{f.loop.var, expr(f.loop.extent)}}};
  ranges_.set(f.loop.var, Range{0, loop::column_lanes - 1});
  Expr split(0), first = member_ * Expr(width);
  if (splits > 1) {
    split = fresh("split");
    let(split, binary(Op::truncdiv, member_, groups), out);
    first = binary(Op::truncmod, member_, groups) * Expr(width);
  }
  const Expr begin = fresh("column");
  let(begin, first, out);
  const auto array = [&](const Expr& var) {
    arrays_[var->id()] = add_buffer(var->name(), var.type(), width, Space::thread);
  };
  loop::Block run;  // of Lets, or of Stores
  bool stores = false;
  const auto flush = [&] {
    if (run.empty()) return;
    columns.body = &run;
    Block made;
    chunk_at(columns, begin, made);
    if (stores && splits > 1)
      out.push_back({If{binary(Op::eq, split, Expr(0)), std::move(made), {}}});
    else
      out.insert(out.end(), std::make_move_iterator(made.begin()),
                 std::make_move_iterator(made.end()));
    run.clear();
  };
  for (const loop::Stmt& s : f.body) {
    const bool is_store = std::holds_alternative<loop::Store>(s.node);
    if (is_store != stores) flush();
    stores = is_store;
    if (auto* r = std::get_if<loop::Reduce>(&s.node)) {
      flush();
      columns_fold(*r, columns, split, splits, begin, out);
      for (const Fold& fold : r->folds) arrays_.try_emplace(fold.var->id(), 0);
      continue;
    }
    if (auto* l = std::get_if<loop::Let>(&s.node)) array(l->var);
    run.push_back(s);
  }
  flush();
  arrays_.clear();
}

void PhaseWriter::columns_fold(const loop::Reduce& r, const Elements& columns, const Expr& split,
                               int splits, const Expr& first, Block& out) {
  const loop::Loop& l = r.loops[0];
  const Expr extent = expr(l.extent);
  const int64_t width = columns.chunk;
  std::vector<int64_t> sums, totals;  // arrays
  for (const Fold& f : r.folds) {
    totals.push_back(add_buffer(f.var->name() + "_total", total_type(f), width, Space::thread));
    const bool is_wide = total_type(f) != f.var.type();
    sums.push_back(is_wide ? add_buffer(f.var->name() + "_sum", f.var.type(), width, Space::thread)
                           : totals.back());
  }
  const auto clear = [&](const std::vector<int64_t>& arrays, Block& to, bool is_total) {
    for_each_column(columns, to, [&](const Expr& k, Block& body) {
      for (size_t i = 0; i < arrays.size(); ++i) {
        const DType type = to_.buffers[static_cast<size_t>(arrays[i])].dtype;
        if (is_total || arrays[i] != totals[i])
          body.push_back({Store{arrays[i], k, identity_of(r.folds[i].op, type)}});
      }
    });
  };
  const auto of = [&](int64_t array, const Expr& k) {
    return load(array, to_.buffers[static_cast<size_t>(array)].dtype, k);
  };
  clear(totals, out, true);
  const auto most = ranges_.most(extent);
  const auto range = most ? std::optional(Range{0, std::max<int64_t>(*most - 1, 0)}) : std::nullopt;
  const Expr begin = fresh("begin");
  ranges_.set(begin, range), ranges_.set(l.var, range);
  For blocks{.var = begin, .begin = split, .end = extent, .step = splits * block_rows, .body = {}};
  clear(sums, blocks.body, false);
  For rows{.var = l.var,
           .begin = begin,
           .end = binary(Op::min, begin + Expr(splits * block_rows), extent),
           .step = splits,
           .body = {},
           .unrolled = 4};
  Elements row = columns;
  row.body = &r.body, row.folds = &r.folds, row.sum_buffers = sums;
  chunk_at(row, first, rows.body);
  blocks.body.push_back({std::move(rows)});
  for_each_column(columns, blocks.body, [&](const Expr& k, Block& body) {
    for (size_t i = 0; i < sums.size(); ++i)
      if (sums[i] != totals[i])
        body.push_back({Store{totals[i], k,
                              combined(r.folds[i].op, of(totals[i], k),
                                       cast(of(sums[i], k), total_type(r.folds[i])))}});
  });
  out.push_back({std::move(blocks)});

  if (splits > 1) {
    const Expr lanes(loop::column_lanes);
    std::vector<int64_t> shared;
    for (size_t i = 0; i < totals.size(); ++i)
      shared.push_back(scratch(i, total_type(r.folds[i]), loop::column_lanes * most_column_splits));
    barrier(out);  // others may read the last sums
    for_each_column(columns, out, [&](const Expr& k, Block& body) {
      for (size_t i = 0; i < totals.size(); ++i)
        body.push_back({Store{shared[i], split * lanes + first + k, of(totals[i], k)}});
    });
    barrier(out);
    for_each_column(columns, out, [&](const Expr& k, Block& body) {
      for (size_t i = 0; i < totals.size(); ++i) {
        Expr all = of(shared[i], first + k);
        for (int s = 1; s < splits; ++s)
          all =
              combined(r.folds[i].op, all, of(shared[i], first + k + Expr(s * loop::column_lanes)));
        body.push_back({Store{totals[i], k, all}});
      }
    });
  }
  // The results, in their type.
  for (size_t i = 0; i < totals.size(); ++i) {
    if (sums[i] != totals[i])
      for_each_column(columns, out, [&](const Expr& k, Block& body) {
        body.push_back({Store{sums[i], k, cast(of(totals[i], k), r.folds[i].var.type())}});
      });
    arrays_[r.folds[i].var->id()] = sums[i];
  }
}

}  // namespace cleave::simt
