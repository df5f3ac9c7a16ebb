#include "op/hot_rows.h"

#include "ir/array.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using loop::Op;

namespace {

std::vector<int64_t> joined_sizes(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Exprs joined(Exprs a, const Exprs& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Expr i32(int64_t v) { return loop::constant_int(DType::i32, v); }

void fill(KernelBuilder& k, int result, DType type) {
  for_each_element(k, k.result(result).layout.shape,
                   [&](const Exprs& i) { k.store(result, i, loop::constant_int(type, 0)); });
}

}  // namespace

HotRows::HotRows(const OrderedWrites& writes, DType dtype) : w_(writes) {
  const int64_t steps = numel_of(w_.steps), rows = w_.keys.empty() ? 0 : numel_of(w_.keys);
  const bool sums_f32 = w_.mode == OrderedWrites::Mode::accumulate && dtype == DType::f32;
  if (!sums_f32 || steps <= hot_steps || rows == 0 || numel_of(w_.columns) == 0) return;
  // Numbering every element of the result pays off only if most of them are added to.
  if (w_.key_reads_column && rows > steps) return;
  rows_ = rows;
  most_ = steps / (hot_steps + 1);
}

Exprs HotRows::number_at(const Exprs& key, const Exprs& column) const {
  return w_.key_reads_column ? joined(column, key) : key;
}

Exprs HotRows::sum_at(const Expr& number, const Exprs& column) const {
  const Expr at = cast(number, DType::i64) - Expr(1);
  return w_.key_reads_column ? joined(column, {at}) : joined({at}, column);
}

void HotRows::begin(KernelBuilder& k) {
  if (most_ == 0) return;
  numbers_ = k.scratch(DType::i32, joined_sizes(apart(), w_.keys));
  sums_ = k.scratch(DType::f64, w_.key_reads_column ? joined_sizes(w_.columns, {most_})
                                                    : joined_sizes({most_}, w_.columns));
  fill(k, numbers_, DType::i32);
  fill(k, sums_, DType::f64);
  k.parallel(apart(), [&](const Exprs& column) {
    k.loops(w_.steps, [&](const Exprs& step) {
      const Exprs at = number_at(w_.key(column, step), column);
      k.store(numbers_, at, k.load_result(numbers_, at) + i32(1));
    });
    const Expr last = k.define(i32(0), "last");
    k.loops(w_.keys, [&](const Exprs& key) {
      const Exprs at = number_at(key, column);
      const Expr hot = k.let(
          cast(binary(Op::gt, k.load_result(numbers_, at), i32(hot_steps)), DType::i32), "hot");
      k.assign(last, last + hot);
      k.store(numbers_, at, last * hot);
    });
  });
}

void HotRows::choose(KernelBuilder& k, const Exprs& key, const Exprs& column, const Write& hot,
                     const Write& other) const {
  if (most_ == 0) return other();
  const Expr number = k.let(k.load_result(numbers_, number_at(key, column)), "number");
  k.if_(binary(Op::gt, number, i32(0)), hot);
  k.if_(binary(Op::eq, number, i32(0)), other);
}

void HotRows::add(KernelBuilder& k, const Exprs& key, const Exprs& column,
                  const Exprs& step) const {
  const Exprs at = sum_at(k.load_result(numbers_, number_at(key, column)), column);
  k.store(sums_, at, k.load_result(sums_, at) + cast(w_.value(column, step), DType::f64));
}

void HotRows::add_sum(KernelBuilder& k, const Exprs& key, const Exprs& column,
                      const Expr& number) const {
  const Exprs at = w_.place(key, column);
  const Expr sum = cast(k.load_result(0, at), DType::f64);
  k.store(0, at, cast(sum + k.load_result(sums_, sum_at(number, column)), DType::f32));
}

void HotRows::finish(KernelBuilder& k) const {
  if (most_ == 0) return;
  const auto each_hot = [&](const Exprs& key, const Exprs& column, const auto& body) {
    const Expr number = k.let(k.load_result(numbers_, number_at(key, column)), "number");
    k.if_(binary(Op::gt, number, i32(0)), [&] { body(number); });
  };
  if (w_.key_reads_column)
    return k.parallel(w_.columns, [&](const Exprs& column) {
      k.loops(w_.keys, [&](const Exprs& key) {
        each_hot(key, column, [&](const Expr& number) { add_sum(k, key, column, number); });
      });
    });
  k.parallel(w_.keys, [&](const Exprs& key) {
    each_hot(key, {}, [&](const Expr& number) {
      k.loops(w_.columns, [&](const Exprs& column) { add_sum(k, key, column, number); });
    });
  });
}

}  // namespace cleave
