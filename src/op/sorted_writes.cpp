#include "op/sorted_writes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using loop::Op;

namespace {

constexpr int64_t few_steps = 16;        // as many are written one after the other,
constexpr int64_t many_lines = 1 << 12;  // as are those of so many lines, each by a thread
constexpr int64_t chunk = 64;            // steps that are sorted by comparing all of them
constexpr int64_t shortest_piece = 16;

std::vector<int64_t> with(std::vector<int64_t> a, int64_t last) {
  a.push_back(last);
  return a;
}

Expr boolean(bool value) { return loop::constant_int(DType::boolean, value ? 1 : 0); }
Expr negated(const Expr& a) { return unary(Op::logical_not, a); }
Expr both(const Expr& a, const Expr& b) { return binary(Op::logical_and, a, b); }
Expr least(const Expr& a, const Expr& b) { return binary(Op::min, a, b); }

// The first number of [low, high) for which the test holds, which holds for all behind it; high if
// there is none. At most `most` numbers.
Expr first_where(KernelBuilder& k, const Expr& low, const Expr& high, int64_t most,
                 const std::function<Expr(const Expr&)>& test) {
  const Expr from = k.define(low, "from"), to = k.define(high, "to");
  k.loop(Expr(static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(most)))), [&](const Expr&) {
    k.if_(binary(Op::lt, from, to), [&] {
      const Expr middle = k.let(binary(Op::truncdiv, from + to, Expr(2)), "middle");
      const Expr holds = k.let(test(middle), "holds");
      k.assign(to, select(holds, middle, to));
      k.assign(from, select(holds, from, middle + Expr(1)));
    });
  });
  return k.let(from, "found");
}

}  // namespace

bool SortedWrites::pays(const KernelBuilder& k, const OrderedWrites& w) {
  const int64_t steps = numel_of(w.steps);
  if (!k.has_many_threads() || w.keys.empty() || steps <= few_steps ||
      steps > std::numeric_limits<int32_t>::max())  // they are numbered in i32
    return false;
  const DType t = k.result(0).dtype;
  // Sums of halves would compare all pairs of steps.
  const bool is_slow_otherwise =
      w.mode == OrderedWrites::Mode::accumulate && is_floating(t) && size_of(t) < 4;
  return is_slow_otherwise || !w.key_reads_column || numel_of(w.columns) < many_lines;
}

SortedWrites::SortedWrites(KernelBuilder& k, const OrderedWrites& w)
    : k_(k), w_(w), count_(numel_of(w.steps)),
      lines_(w.key_reads_column ? w.columns : std::vector<int64_t>()) {
  const int64_t positions = numel_of(w.keys);
  key_type_ = positions <= std::numeric_limits<int32_t>::max() ? DType::i32 : DType::i64;
  const DType t = k.result(0).dtype;
  sum_type_ = is_floating(t) ? DType::f64 : loop::compute_type(t);
}

Exprs SortedWrites::at(const Exprs& column, const Expr& number) const {
  Exprs out = w_.key_reads_column ? column : Exprs();
  out.push_back(number);
  return out;
}

Exprs SortedWrites::sums_at(const Expr& piece, const Exprs& column) const {
  Exprs out = column;
  out.insert(w_.key_reads_column ? out.end() : out.begin(), piece);
  return out;
}

Expr SortedWrites::key(const Exprs& column, const Expr& number) {
  return k_.load_result(sorted_.keys, at(column, number));
}

Exprs SortedWrites::step(const Exprs& column, const Expr& number) {
  const Expr at_step = k_.load_result(sorted_.steps, at(column, number));
  return index_at(k_, w_.steps, k_.let(cast(at_step, DType::i64), "step"));
}

void SortedWrites::side_by_side(
    int64_t count, const std::function<void(const Expr& number, const Exprs& column)>& body) {
  if (w_.key_reads_column)
    return k_.parallel(with(w_.columns, count),
                       [&](const Exprs& i) { body(i.back(), Exprs(i.begin(), i.end() - 1)); });
  std::vector<int64_t> extents = {count};
  extents.insert(extents.end(), w_.columns.begin(), w_.columns.end());
  k_.parallel(extents, [&](const Exprs& i) { body(i[0], Exprs(i.begin() + 1, i.end())); });
}

void SortedWrites::write() {
  const std::vector<int64_t> shape = with(lines_, count_);
  for (Sorted* s : {&sorted_, &other_})
    *s = {k_.scratch(key_type_, shape), k_.scratch(DType::i32, shape)};
  number_positions();
  sort_chunks();
  for (int64_t run = chunk; run < count_; run *= 2) merge(run);
  if (w_.mode == OrderedWrites::Mode::overwrite) return write_last();
  const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(count_)));
  piece_ = std::max(shortest_piece, static_cast<int64_t>(std::bit_ceil<uint64_t>(root / 2)));
  pieces_ = (count_ + piece_ - 1) / piece_;
  std::vector<int64_t> sums = w_.columns;
  sums.insert(w_.key_reads_column ? sums.end() : sums.begin(), pieces_);
  heads_ = k_.scratch(sum_type_, sums), tails_ = k_.scratch(sum_type_, sums);
  add_pieces();
  add_crossing();
}

void SortedWrites::number_positions() {
  k_.parallel(with(lines_, count_), [&](const Exprs& i) {
    const Exprs line(i.begin(), i.end() - 1);
    const Exprs parts = w_.key(line, index_at(k_, w_.steps, i.back()));
    Expr number(0);
    for (size_t d = 0; d < parts.size(); ++d) number = number * Expr(w_.keys[d]) + parts[d];
    k_.store(sorted_.keys, i, cast(number, key_type_));
  });
}

// A step's place in its chunk is the number of steps that come before it.
void SortedWrites::sort_chunks() {
  k_.parallel(with(lines_, count_), [&](const Exprs& i) {
    const Exprs line(i.begin(), i.end() - 1);
    const Expr& t = i.back();
    const Expr begin = k_.let(binary(Op::truncdiv, t, Expr(chunk)) * Expr(chunk), "begin");
    const Expr own = k_.let(key(line, t), "own");
    const Expr before = k_.reduce_loops(
        loop::ReduceOp::sum, least(Expr(chunk), Expr(count_) - begin), {}, [&](const Exprs& j) {
          const Expr u = k_.let(begin + j[0], "u");
          const Expr other = k_.let(key(line, u), "other");
          const Expr is_before = binary(Op::logical_or, binary(Op::lt, other, own),
                                        both(binary(Op::eq, other, own), binary(Op::lt, u, t)));
          return cast(is_before, DType::i64);
        });
    const Exprs to = at(line, k_.let(begin + before, "to"));
    k_.store(other_.keys, to, own);
    k_.store(other_.steps, to, cast(t, DType::i32));
  });
  std::swap(sorted_, other_);
}

// Runs of `run` become runs of twice as many. A step's place is its own in its run, and the number
// of steps of the other run that come before it: of equal ones those of the first run do.
void SortedWrites::merge(int64_t run) {
  k_.parallel(with(lines_, count_), [&](const Exprs& i) {
    const Exprs line(i.begin(), i.end() - 1);
    const Expr& t = i.back();
    const Expr pair = k_.let(binary(Op::truncdiv, t, Expr(2 * run)) * Expr(2 * run), "pair");
    const Expr middle = k_.let(least(pair + Expr(run), Expr(count_)), "half");
    const Expr is_first = k_.let(binary(Op::lt, t, middle), "is_first");
    const Expr low = k_.let(select(is_first, middle, pair), "low");
    const Expr end = least(pair + Expr(2 * run), Expr(count_));
    const Expr own = k_.let(key(line, t), "own");
    const Expr found = first_where(k_, low, select(is_first, end, middle), run, [&](const Expr& u) {
      const Expr other = k_.let(key(line, u), "other");
      return select(is_first, binary(Op::ge, other, own), binary(Op::gt, other, own));
    });
    const Expr in_run = t - select(is_first, Expr(0), Expr(run));
    const Exprs to = at(line, k_.let(in_run + (found - low), "to"));
    k_.store(other_.keys, to, own);
    k_.store(other_.steps, to, k_.load_result(sorted_.steps, i));
  });
  std::swap(sorted_, other_);
}

void SortedWrites::write_last() {
  side_by_side(count_, [&](const Expr& t, const Exprs& column) {
    const Expr own = k_.let(key(column, t), "own");
    const Expr next = k_.let(key(column, least(t + Expr(1), Expr(count_ - 1))), "next");
    const Expr is_last =
        binary(Op::logical_or, binary(Op::eq, t, Expr(count_ - 1)), binary(Op::ne, own, next));
    k_.if_(is_last, [&] {
      const Exprs parts = index_at(k_, w_.keys, k_.let(cast(own, DType::i64), "key"));
      k_.store(0, w_.place(parts, column), w_.value(column, step(column, t)));
    });
  });
}

Expr SortedWrites::plus(const Expr& a, const Expr& b) const {
  return binary(sum_type_ == DType::boolean ? Op::logical_or : Op::add, a, b);
}

void SortedWrites::add(const Expr& key, const Exprs& column, const Expr& sum) {
  const Exprs place = w_.place(index_at(k_, w_.keys, k_.let(cast(key, DType::i64), "key")), column);
  k_.store(0, place, plus(cast(k_.load_result(0, place), sum_type_), sum));
}

void SortedWrites::add_pieces() {
  side_by_side(pieces_, [&](const Expr& piece, const Exprs& column) {
    const Expr begin = k_.let(piece * Expr(piece_), "begin");
    const Expr end = k_.let(least(begin + Expr(piece_), Expr(count_)), "end");
    const Exprs own = sums_at(piece, column);
    const Expr zero = loop::constant_int(sum_type_, 0);
    const Expr sum = k_.define(zero, "sum");
    // Whether the run began in a piece before.
    const Expr before = key(column, binary(Op::max, begin - Expr(1), Expr(0)));
    const Expr is_open =
        k_.define(both(binary(Op::gt, begin, Expr(0)), binary(Op::eq, before, key(column, begin))),
                  "is_open");
    k_.loop(end - begin, [&](const Expr& i) {
      const Expr t = k_.let(begin + i, "t");
      const Expr row = k_.let(key(column, t), "row");
      k_.assign(sum, plus(sum, cast(w_.value(column, step(column, t)), sum_type_)));
      const Expr next = key(column, least(t + Expr(1), Expr(count_ - 1)));
      const Expr is_last =
          binary(Op::logical_or, binary(Op::eq, t, Expr(count_ - 1)), binary(Op::ne, row, next));
      k_.if_(is_last, [&] {
        k_.if_(is_open, [&] { k_.store(heads_, own, sum); });
        k_.if_(negated(is_open), [&] { add(row, column, sum); });
        k_.assign(sum, zero);
        k_.assign(is_open, boolean(false));
      });
    });
    const Expr goes_on = k_.let(crosses(column, end), "goes_on");
    k_.if_(both(goes_on, is_open), [&] { k_.store(heads_, own, sum); });
    k_.if_(both(goes_on, negated(is_open)), [&] { k_.store(tails_, own, sum); });
  });
}

Expr SortedWrites::crosses(const Exprs& column, const Expr& end) {
  const Expr next = key(column, least(end, Expr(count_ - 1)));
  return both(binary(Op::lt, end, Expr(count_)), binary(Op::eq, key(column, end - Expr(1)), next));
}

void SortedWrites::add_crossing() {
  side_by_side(pieces_, [&](const Expr& piece, const Exprs& column) {
    const Expr begin = k_.let(piece * Expr(piece_), "begin");
    const Expr end = k_.let(least(begin + Expr(piece_), Expr(count_)), "end");
    const Expr row = k_.let(key(column, end - Expr(1)), "row");
    const Expr before = key(column, binary(Op::max, begin - Expr(1), Expr(0)));
    const Expr begins =
        binary(Op::logical_or, binary(Op::eq, begin, Expr(0)), binary(Op::ne, before, row));
    k_.if_(both(crosses(column, end), begins), [&] {
      const Expr next = k_.let(piece + Expr(1), "next");
      const Expr stop = first_where(k_, next, Expr(pieces_), pieces_, [&](const Expr& p) {
        return binary(Op::ne, key(column, p * Expr(piece_)), row);
      });
      const Expr sum = k_.define(k_.load_result(tails_, sums_at(piece, column)), "sum");
      k_.loop(stop - next, [&](const Expr& i) {
        k_.assign(sum, plus(sum, k_.load_result(heads_, sums_at(next + i, column))));
      });
      add(row, column, sum);
    });
  });
}

}  // namespace cleave
