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

constexpr int64_t rows_bytes = 256;  // that a thread holds of rows at once

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
  const int lanes = column_lanes_of(f, from_);
  const Expr groups(lanes / width);
  Elements columns{.count = extent(f.loop.extent),
                   .chunk = width,
                   .loops = {{f.loop.var, extent(f.loop.extent)}}};
  const int64_t* count = columns.count.as_const_int();
  columns.may_be_beyond = count && *count != lanes;
  in_columns_ = true;
  ranges_.set(f.loop.var, Range{0, lanes - 1});
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
      columns_fold(*r, columns, lanes, split, splits, begin, out);
      for (const Fold& fold : r->folds) arrays_.try_emplace(fold.var->id(), 0);
      continue;
    }
    if (auto* l = std::get_if<loop::Let>(&s.node)) array(l->var);
    run.push_back(s);
  }
  flush();
  arrays_.clear();
  in_columns_ = false;
}

// The rows of a block, from `begin` on, if it is there: some at a time, all of whose reads come
// first.
void PhaseWriter::columns_rows(Elements row, const Expr& first, const Expr& begin, int64_t block,
                               int splits, const Expr& all, Block& out) {
  int64_t row_bytes = 0;  // that a thread reads and writes
  std::unordered_set<int64_t> seen;
  for (const BufferAccess& a : accesses_of(*row.body, fold_chunk))
    if (seen.insert(a.buffer).second)
      row_bytes += row.chunk * size_of(from_.buffers[static_cast<size_t>(a.buffer)].dtype);
  int64_t group = 8;
  while (group > 1 && (group * row_bytes > rows_bytes || block % group != 0)) group /= 2;
  const int64_t* count = all.as_const_int();
  const bool are_all_there = count && *count % (block * splits) == 0;
  const Expr end = are_all_there ? begin + Expr(block) : binary(Op::min, begin + Expr(block), all);
  const auto rows = [&](const Expr& from, const Expr& to, int64_t at_once) {
    const Expr base = fresh("row");
    ranges_.set(base, ranges_.of(row.row));
    For f{.var = base, .begin = from, .end = to, .step = at_once, .body = {}};
    row.first_row = base, row.repeats = at_once;
    chunk_at(row, first, f.body);
    out.push_back({std::move(f)});
  };
  if (group == 1) return rows(begin, end, 1);
  if (count && *count % block == 0) return rows(begin, end, group);
  // A block beyond the last row has none.
  const Expr there = binary(Op::max, end - begin, Expr(0));
  const Expr whole = fresh("whole");
  let(whole, begin + binary(Op::truncdiv, there, Expr(group)) * Expr(group), out);
  rows(begin, whole, group);
  rows(whole, end, 1);
}

// Block by block, as one thread would: each adds up a block of rows in their type, and all add what
// the blocks have, in order.
void PhaseWriter::columns_fold(const loop::Reduce& r, const Elements& columns, int lanes,
                               const Expr& split, int splits, const Expr& first, Block& out) {
  const loop::Loop& l = r.loops[0];
  const Expr all = extent(l.extent), rows(column_block(r));
  const int64_t width = columns.chunk;
  std::vector<int64_t> sums, totals;  // arrays
  for (const Fold& f : r.folds) {
    const auto array = [&](const char* what, DType type) {
      return add_buffer(f.var->name() + what, type, width, Space::thread);
    };
    sums.push_back(array("_sum", f.var.type()));
    totals.push_back(array("_total", total_type(f)));
  }
  const auto type_of = [&](int64_t array) { return to_.buffers[static_cast<size_t>(array)].dtype; };
  const auto set = [&](const std::vector<int64_t>& to, Block& at,
                       const std::function<Expr(size_t fold, const Expr& k)>& value) {
    for_each_column(columns, at, [&](const Expr& k, Block& body) {
      for (size_t i = 0; i < to.size(); ++i) body.push_back({Store{to[i], k, value(i, k)}});
    });
  };
  const auto identities = [&](const std::vector<int64_t>& of) {
    return [&](size_t i, const Expr&) { return identity_of(r.folds[i].op, type_of(of[i])); };
  };
  set(totals, out, identities(totals));
  const auto most = ranges_.most(all);
  const auto range = most ? std::optional(Range{0, std::max<int64_t>(*most - 1, 0)}) : std::nullopt;
  const Expr base = fresh("base"), begin = fresh("begin");
  ranges_.set(base, range), ranges_.set(l.var, range);
  For round{
      .var = base, .begin = Expr(0), .end = all, .step = splits * column_block(r), .body = {}};
  let(begin, base + split * rows, round.body);
  set(sums, round.body, identities(sums));
  Elements row = columns;
  row.body = &r.body, row.folds = &r.folds, row.sum_buffers = sums, row.row = l.var;
  columns_rows(row, first, begin, column_block(r), splits, all, round.body);
  std::vector<int64_t> shared;
  const Expr own = team_number_ * Expr(int64_t{splits} * lanes) + first;
  if (splits > 1) {
    for (size_t i = 0; i < sums.size(); ++i)
      shared.push_back(scratch(i, type_of(sums[i]), int64_t{lanes} * splits * teams_));
    barrier(round.body);  // others may read those of the round before
    for_each_column(columns, round.body, [&](const Expr& k, Block& body) {
      for (size_t i = 0; i < sums.size(); ++i)
        body.push_back(
            {Store{shared[i], own + split * Expr(lanes) + k, load(sums[i], type_of(sums[i]), k)}});
    });
    barrier(round.body);
  }
  set(totals, round.body, [&](size_t i, const Expr& k) {
    Expr total = load(totals[i], type_of(totals[i]), k);
    for (int s = 0; s < splits; ++s) {
      const Expr at = splits > 1 ? own + Expr(s * lanes) + k : k;
      total = combined(
          r.folds[i].op, total,
          cast(load(splits > 1 ? shared[i] : sums[i], type_of(sums[i]), at), type_of(totals[i])));
    }
    return total;
  });
  out.push_back({std::move(round)});
  // The results, in their type.
  set(sums, out, [&](size_t i, const Expr& k) {
    return cast(load(totals[i], type_of(totals[i]), k), type_of(sums[i]));
  });
  for (size_t i = 0; i < sums.size(); ++i) arrays_[r.folds[i].var->id()] = sums[i];
}

}  // namespace cleave::simt
