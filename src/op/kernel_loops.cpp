#include "op/kernel_loops.h"

#include <algorithm>

#include "loop/sum_blocks.h"
#include "op/hot_rows.h"
#include "op/sorted_writes.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;

namespace {

constexpr int64_t chunk = 4096;  // elements of a vector in one iteration of a parallel loop
constexpr int64_t register_columns = 16;  // accumulators of a narrow sum that are live at once

// The part of [0, size) that block `block` covers: `width` elements, fewer in the last block.
struct Piece {
  Expr begin, count;
};
Piece piece_of(const Expr& block, int64_t size, int64_t width) {
  const Expr begin = block * Expr(width);
  if (size % width == 0) return {begin, Expr(width)};
  return {begin, binary(loop::Op::min, Expr(width), Expr(size) - begin)};
}

int64_t pieces(int64_t size, int64_t width) { return (size + width - 1) / width; }

DType result_type(const KernelBuilder& k) { return k.result(0).dtype; }

// The columns; if there are none, one of size 1, so that there is always a last one.
std::vector<int64_t> outer_columns(const OrderedWrites& w) {
  if (w.columns.empty()) return {};
  return {w.columns.begin(), w.columns.end() - 1};
}
int64_t last_column(const OrderedWrites& w) { return w.columns.empty() ? 1 : w.columns.back(); }
Exprs column_at(const OrderedWrites& w, const Exprs& outer, Expr last) {
  if (w.columns.empty()) return {};
  Exprs column(outer.begin(), outer.begin() + std::ssize(w.columns) - 1);
  column.push_back(std::move(last));
  return column;
}

void write_one(KernelBuilder& k, const OrderedWrites& w, const Exprs& key, const Exprs& column,
               const Exprs& step) {
  const Exprs at = w.place(key, column);
  Expr value = w.value(column, step);
  if (w.mode == OrderedWrites::Mode::accumulate) {
    const bool logical = result_type(k) == DType::boolean;
    value = binary(logical ? loop::Op::logical_or : loop::Op::add, k.load_result(0, at), value);
  }
  k.store(0, at, value);
}

void write_by_step(KernelBuilder& k, const OrderedWrites& w) {
  HotRows hot(w, result_type(k));
  hot.begin(k);
  std::vector<int64_t> extents = outer_columns(w);
  const int64_t width = last_column(w);
  extents.push_back(pieces(width, w.block));
  k.parallel(extents, [&](const Exprs& i) {
    const Piece piece = piece_of(i.back(), width, w.block);
    k.loops(w.steps, [&](const Exprs& step) {
      const auto columns = [&](const auto& body) {
        k.each(piece.count, [&](const Expr& c) { body(column_at(w, i, piece.begin + c)); });
      };
      if (w.key_reads_column)
        return k.loop(piece.count, [&](const Expr& c) {
          const Exprs column = column_at(w, i, piece.begin + c);
          const Exprs key = w.key(column, step);
          hot.choose(
              k, key, column, [&] { hot.add(k, key, column, step); },
              [&] { write_one(k, w, key, column, step); });
        });
      const Exprs key = w.key({}, step);
      hot.choose(
          k, key, {}, [&] { columns([&](const Exprs& at) { hot.add(k, key, at, step); }); },
          [&] { columns([&](const Exprs& at) { write_one(k, w, key, at, step); }); });
    });
  });
  hot.finish(k);
}

Expr equal_keys(const Exprs& a, const Exprs& b) {
  Expr equal = loop::constant_int(DType::boolean, 1);
  for (size_t i = 0; i < a.size(); ++i) {
    const Expr one = binary(loop::Op::eq, a[i], b[i]);
    equal = i == 0 ? one : binary(loop::Op::logical_and, equal, one);
  }
  return equal;
}

// Emits all steps of a few columns that share their keys.
void sum_columns(KernelBuilder& k, const OrderedWrites& w, const std::vector<Exprs>& columns) {
  const int64_t total = numel_of(w.steps);
  const Exprs shared = w.key_reads_column ? columns[0] : Exprs{};
  const auto key_at = [&](const Expr& t) { return w.key(shared, index_at(k, w.steps, t)); };
  k.loop(Expr(total), [&](const Expr& t) {
    const Exprs key = key_at(t);
    const Expr first = k.define(loop::constant_int(DType::boolean, 1), "first");
    k.loop(t, [&](const Expr& u) {
      k.assign(first, binary(loop::Op::logical_and, first,
                             unary(loop::Op::logical_not, equal_keys(key, key_at(u)))));
    });
    k.if_(first, [&] {
      Exprs sums;
      for (const Exprs& column : columns)
        sums.push_back(k.define(k.load_result(0, w.place(key, column)), "sum"));
      k.loop(Expr(total) - t, [&](const Expr& later) {
        const Expr u = k.let(t + later, "u");
        k.if_(equal_keys(key, key_at(u)), [&] {
          const Exprs step = index_at(k, w.steps, u);
          for (size_t c = 0; c < columns.size(); ++c)
            k.assign(sums[c], sums[c] + w.value(columns[c], step));
        });
      });
      for (size_t c = 0; c < columns.size(); ++c) k.store(0, w.place(key, columns[c]), sums[c]);
    });
  });
}

void sum_by_place(KernelBuilder& k, const OrderedWrites& w) {
  const int64_t width = last_column(w);
  const int64_t wide = w.key_reads_column ? 1 : register_columns;
  const auto nest = [&](int64_t from, int64_t count, int64_t columns_each) {
    if (count == 0) return;
    std::vector<int64_t> extents = outer_columns(w);
    extents.push_back(count);
    k.parallel(extents, [&](const Exprs& i) {
      std::vector<Exprs> columns;
      for (int64_t c = 0; c < columns_each; ++c)
        columns.push_back(column_at(w, i, i.back() * Expr(columns_each) + Expr(from + c)));
      sum_columns(k, w, columns);
    });
  };
  const int64_t full = width / wide, rest = width % wide;
  nest(0, full, wide);
  if (rest > 0) nest(full * wide, 1, rest);
}

}  // namespace

Exprs index_at(KernelBuilder& k, const std::vector<int64_t>& shape, Expr number) {
  Exprs index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = d == 0 ? number : k.let(binary(loop::Op::truncmod, number, Expr(shape[d])), "i");
    if (d > 0) number = k.let(binary(loop::Op::truncdiv, number, Expr(shape[d])), "q");
  }
  return index;
}

void for_each_element(KernelBuilder& k, const std::vector<int64_t>& shape,
                      const std::function<void(const Exprs&)>& body) {
  if (numel_of(shape) == 0) return;
  if (shape.empty()) return k.parallel({}, body);
  const int64_t last = shape.back();
  if (shape.size() == 1)
    return k.parallel({pieces(last, chunk)}, [&](const Exprs& i) {
      const Piece piece = piece_of(i[0], last, std::min(chunk, last));
      k.each(piece.count, [&](const Expr& j) { body({piece.begin + j}); });
    });
  k.parallel({shape.begin(), shape.end() - 1}, [&](const Exprs& rows) {
    k.each(Expr(last), [&](const Expr& j) {
      Exprs index = rows;
      index.push_back(j);
      body(index);
    });
  });
}

void copy_to_result(KernelBuilder& k, int flat) {
  for_each_element(k, k.result(0).layout.shape,
                   [&](const Exprs& i) { k.store(0, i, k.load(flat, i)); });
}

void fill_result(KernelBuilder& k, double value) {
  const DType t = loop::compute_type(result_type(k));
  for_each_element(k, k.result(0).layout.shape,
                   [&](const Exprs& i) { k.store(0, i, loop::constant(t, value)); });
}

void write_in_order(KernelBuilder& k, const OrderedWrites& writes) {
  if (!k.wanted(0) || numel_of(writes.columns) == 0 || numel_of(writes.steps) == 0) return;
  if (SortedWrites::pays(k, writes)) return SortedWrites(k, writes).write();
  const DType t = result_type(k);
  const bool narrow = is_floating(t) && size_of(t) < 4;
  if (narrow && writes.mode == OrderedWrites::Mode::accumulate)
    sum_by_place(k, writes);
  else
    write_by_step(k, writes);
}

}  // namespace cleave
