// Columns with folds: a thread takes 4 or 8 neighbours, so that it reads them at once, and shares
// the rows of long folds with others, which add up what they have in shared memory. Of few columns
// of many rows it takes one.
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
constexpr int totals_unrolled = 16;  // of the sums of a column that are added up

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
  columns.may_be_beyond = !count || *count != lanes;
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
  int64_t group = row.chunk == 1 ? 16 : 8;
  while (group > 1 && (group * row_bytes > rows_bytes || block % group != 0)) group /= 2;
  const int64_t* count = all.as_const_int();
  const bool are_all_there = count && *count % (block * splits) == 0;
  const Expr end = are_all_there ? begin + Expr(block) : binary(Op::min, begin + Expr(block), all);
  const auto rows = [&](const Expr& from, const Expr& to, int64_t at_once) {
    const Expr base = fresh("row");
    const auto range = ranges_.of(row.row);  // of which at_once are there
    ranges_.set(base, range
                          ? std::optional(Range{0, std::max<int64_t>(range->high + 1 - at_once, 0)})
                          : std::nullopt);
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

// Block by block, as one thread would: each adds up a block of rows in their type, and what the
// blocks have is added up in order: by each thread for its columns, or, where threads share the
// rows, for each fold and column by one of them.
void PhaseWriter::columns_fold(const loop::Reduce& r, const Elements& columns, int lanes,
                               const Expr& split, int splits, const Expr& first, Block& out) {
  const loop::Loop& l = r.loops[0];
  const Expr all = extent(l.extent), rows(column_block(r));
  const int64_t width = columns.chunk;
  ColumnSums sums{.folds = r.folds, .lanes = lanes, .splits = splits, .first = first};
  sums.is_shared_out = splits > 1 && team_ >= lanes;
  for (const Fold& f : r.folds) {
    const auto array = [&](const char* what, DType type) {
      return add_buffer(f.var->name() + what, type, width, Space::thread);
    };
    sums.sums.push_back(array("_sum", f.var.type()));
    if (!sums.is_shared_out) sums.totals.push_back(array("_total", total_type(f)));
  }
  if (splits > 1)
    for (size_t i = 0; i < r.folds.size(); ++i)
      sums.shared.push_back(scratch(i, r.folds[i].var.type(), int64_t{lanes} * splits * teams_));
  sums.own = team_number_ * Expr(int64_t{splits} * lanes);
  const auto identities = [&](size_t i, const Expr&, DType type) {
    return identity_of(r.folds[i].op, type);
  };
  begin_totals(sums, columns, out);
  const auto most = ranges_.most(all);
  const auto range = most ? std::optional(Range{0, std::max<int64_t>(*most - 1, 0)}) : std::nullopt;
  const Expr base = fresh("base"), begin = fresh("begin");
  ranges_.set(base, range), ranges_.set(l.var, range);
  For round{
      .var = base, .begin = Expr(0), .end = all, .step = splits * column_block(r), .body = {}};
  let(begin, base + split * rows, round.body);
  set_columns(sums.sums, columns, round.body, identities);
  Elements row = columns;
  row.body = &r.body, row.folds = &r.folds, row.sum_buffers = sums.sums, row.row = l.var;
  columns_rows(row, first, begin, column_block(r), splits, all, round.body);
  if (splits > 1) {
    barrier(round.body);  // others may read those of the round before
    for_each_column(columns, round.body, [&](const Expr& k, Block& body) {
      for (size_t i = 0; i < sums.sums.size(); ++i)
        body.push_back({Store{sums.shared[i], sums.own + split * Expr(lanes) + first + k,
                              load(sums.sums[i], r.folds[i].var.type(), k)}});
    });
    barrier(round.body);
  }
  add_totals(sums, columns, round.body);
  out.push_back({std::move(round)});
  end_totals(sums, columns, out);
  for (size_t i = 0; i < sums.sums.size(); ++i) arrays_[r.folds[i].var->id()] = sums.sums[i];
}

// Sets arrays of the thread, of a value for each column.
void PhaseWriter::set_columns(
    const std::vector<int64_t>& to, const Elements& columns, Block& out,
    const std::function<Expr(size_t array, const Expr& k, DType type)>& value) {
  for_each_column(columns, out, [&](const Expr& k, Block& body) {
    for (size_t i = 0; i < to.size(); ++i)
      body.push_back({Store{to[i], k, value(i, k, to_.buffers[static_cast<size_t>(to[i])].dtype)}});
  });
}

// The statements for the folds whose totals a thread has.
void PhaseWriter::for_each_total(const ColumnSums& sums, Block& out,
                                 const std::function<void(size_t fold, Block&)>& body) {
  const int groups = team_ / sums.lanes;
  const Expr group = binary(Op::truncdiv, member_, Expr(sums.lanes));
  for (size_t i = 0; i < sums.folds.size(); ++i) {
    if (groups == 1) {
      body(i, out);
      continue;
    }
    If own{binary(Op::eq, group, Expr(static_cast<int64_t>(i) % groups)), {}, {}};
    body(i, own.then);
    out.push_back({std::move(own)});
  }
}

void PhaseWriter::begin_totals(ColumnSums& sums, const Elements& columns, Block& out) {
  if (!sums.is_shared_out)
    return set_columns(sums.totals, columns, out, [&](size_t i, const Expr&, DType type) {
      return identity_of(sums.folds[i].op, type);
    });
  sums.column = fresh("total");
  let(sums.column, sums.own + binary(Op::truncmod, member_, Expr(sums.lanes)), out);
  for (const Fold& f : sums.folds) {
    sums.own_totals.push_back(fresh("total", total_type(f)));
    var(sums.own_totals.back(), identity_of(f.op, total_type(f)), out);
  }
}

void PhaseWriter::add_totals(const ColumnSums& sums, const Elements& columns, Block& out) {
  const auto added = [&](size_t i, Expr total, int64_t buffer, const Expr& at) {
    const Fold& f = sums.folds[i];
    for (int s = 0; s < sums.splits; ++s)
      total = combined(
          f.op, total,
          cast(load(buffer, f.var.type(), at + Expr(int64_t{s} * sums.lanes)), total_type(f)));
    return total;
  };
  if (sums.is_shared_out)
    return for_each_total(sums, out, [&](size_t i, Block& to) {
      const Fold& f = sums.folds[i];
      const Expr& total = sums.own_totals[i];
      For each{.var = fresh("split"),
               .begin = Expr(0),
               .end = Expr(sums.splits),
               .body = {},
               .unrolled = sums.splits > totals_unrolled ? totals_unrolled : 0};
      ranges_.set(each.var, Range{0, sums.splits - 1});
      const Expr one =
          load(sums.shared[i], f.var.type(), sums.column + each.var * Expr(sums.lanes));
      each.body.push_back({Assign{total, combined(f.op, total, cast(one, total_type(f)))}});
      to.push_back({std::move(each)});
    });
  set_columns(sums.totals, columns, out, [&](size_t i, const Expr& k, DType type) {
    const Expr total = load(sums.totals[i], type, k);
    return sums.splits > 1 ? added(i, total, sums.shared[i], sums.own + sums.first + k)
                           : added(i, total, sums.sums[i], k);
  });
}

// The results, in their type, in each thread of a column.
void PhaseWriter::end_totals(const ColumnSums& sums, const Elements& columns, Block& out) {
  if (!sums.is_shared_out)
    return set_columns(sums.sums, columns, out, [&](size_t i, const Expr& k, DType type) {
      return cast(load(sums.totals[i], total_type(sums.folds[i]), k), type);
    });
  barrier(out);
  for_each_total(sums, out, [&](size_t i, Block& to) {
    to.push_back(
        {Store{sums.shared[i], sums.column, cast(sums.own_totals[i], sums.folds[i].var.type())}});
  });
  barrier(out);
  set_columns(sums.sums, columns, out, [&](size_t i, const Expr& k, DType type) {
    return load(sums.shared[i], type, sums.own + sums.first + k);
  });
}

}  // namespace cleave::simt
