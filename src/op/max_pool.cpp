// max_pool2d_with_indices(self; kernel_size, stride, padding, dilation, ceil_mode) -> y, indices
//   y = the largest element of each window, indices its row-major position among the pooled dims
//   The first of equal elements is taken; NaN is larger than all, and the last NaN is taken. For a
//   window that contains only the least value, the index is that of its first element.
//   A window that covers only padding gives the least value of the dtype, and the position that its
//   first element past the leading padding would have, which may be another element's or none's.
// max_pool3d_with_indices: the same over three dims.
//   (C1..C5) pool.h; self is floating or integer
// Source: ATen/native/cpu/MaxPoolKernel.cpp, PyTorch 2.13.
#include "op/max_pool.h"

#include <cmath>
#include <limits>

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

namespace {

constexpr int64_t max_written_out = 32;  // elements of a window; larger ones are loops

}  // namespace

void for_each_window_tap(KernelBuilder& k, const Ints& counts,
                         const std::function<void(const Exprs&)>& body) {
  if (numel_of(counts) > max_written_out) return k.loops(counts, body);
  Ints index(counts.size(), 0);
  do body({index.begin(), index.end()});
  while (next_index(index, counts));
}

Ints pooled_part(const Ints& shape, size_t rank) {
  return {shape.end() - static_cast<std::ptrdiff_t>(rank), shape.end()};
}
Exprs lead_part(const Exprs& index, size_t rank) {
  return {index.begin(), index.end() - static_cast<std::ptrdiff_t>(rank)};
}

Expr position_in(const Exprs& at, const Ints& size) {
  Expr p(0);
  for (size_t d = 0; d < size.size(); ++d) p = p * Expr(size[d]) + at[d];
  return p;
}

SampleAttrs max_pool_call(Ints kernel, Ints stride, Ints padding, Ints dilation, bool ceil_mode) {
  return {{"kernel_size", kernel},
          {"stride", stride},
          {"padding", padding},
          {"dilation", dilation},
          {"ceil_mode", ceil_mode}};
}

namespace {

Result<Types> infer_max(const OpView& op, size_t rank) {
  const Type& x = op.in_type(0);
  if (!is_floating(x.dtype) && !is_integer(x.dtype))
    return op.broken("C3", "self is {}, expected a floating or integer dtype", x.text());
  CLEAVE_TRY(const Shape shape, pooled_shape(op, 0, rank));
  return Types{typed_like(x, x.dtype, shape), typed_like(x, DType::i64, shape)};
}

// The smallest value of an integer dtype.
int64_t min_of(DType t) {
  return t == DType::u8 ? 0 : std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(t));
}

// The position, real or hypothetical, of a window's first element at or after position 0.
int64_t first_position(const PoolEntries& given, const Ints& size, const Ints& window) {
  int64_t p = 0;
  for (size_t d = 0; d < size.size(); ++d) {
    int64_t at = window[d] * given.stride[d] - given.padding[d];
    while (at < 0) at += given.dilation[d];
    p = p * size[d] + at;
  }
  return p;
}

Result<Arrays> reference_max(const OpView& op, std::span<const Array* const> in, size_t rank) {
  const Array& x = *in[0];
  Array y(x.dtype, static_shape(op.out_type(0))), indices(DType::i64, y.shape);
  const Ints size(x.shape.end() - static_cast<std::ptrdiff_t>(rank), x.shape.end());
  int64_t result = 0;
  const PoolEntries given(op, rank);
  for_each_position(y.shape, rank, [&](int64_t plane, const Ints& window) {
    int64_t best = -1;
    Ints tap(rank, 0);
    do {
      int64_t p = 0;
      for (size_t d = 0; d < rank && p >= 0; ++d) {
        const int64_t at =
            window[d] * given.stride[d] - given.padding[d] + tap[d] * given.dilation[d];
        p = at < 0 || at >= size[d] ? -1 : p * size[d] + at;
      }
      if (p < 0) continue;
      const int64_t from = plane * numel_of(size);
      const bool larger =
          best < 0 || (x.floating() ? x.f[from + p] > x.f[from + best] || std::isnan(x.f[from + p])
                                    : x.i[from + p] > x.i[from + best]);
      if (larger) best = p;
    } while (next_index(tap, given.kernel));
    const int64_t from = plane * numel_of(size) + best;
    indices.i[result] = best < 0 ? first_position(given, size, window) : best;
    if (x.floating())
      y.f[result] = best < 0 ? -INFINITY : x.f[from];
    else
      y.i[result] = best < 0 ? min_of(x.dtype) : x.i[from];
    ++result;
  });
  return Arrays{y, indices};
}

}  // namespace

Exprs lower_max_pool(KernelBuilder& k, const OpView& op, const Exprs& index, size_t rank,
                     PoolPlace place) {
  const PoolWindows w = pool_windows(op, rank);
  const Ints size = pooled_part(static_shape(op.in_type(0)), rank),
             count = pooled_part(static_shape(op.out_type(0)), rank);
  const DType t = loop::compute_type(op.in_type(0).dtype);
  Exprs start, first, skipped;  // the window's corner, its first element inside, taps before it
  for (size_t d = 0; d < rank; ++d) {
    const Expr& o = index[index.size() - rank + d];
    start.push_back(k.let(o * Expr(w.stride[d]) - Expr(w.padding[d]), "start"));
    const Expr missing = at_least(Expr(0) - start[d], Expr(0));
    skipped.push_back(w.padding[d] == 0 ? Expr(0) : quotient_up(missing, w.dilation[d]));
    first.push_back(w.padding[d] == 0 ? start[d] : start[d] + skipped[d] * Expr(w.dilation[d]));
  }
  const Expr least = is_floating(t) ? loop::identity_of(loop::ReduceOp::max, t)
                                    : loop::constant_int(t, min_of(op.in_type(0).dtype));
  const Expr best = k.define(least, "best");
  const auto place_of = [&](const Exprs& at, const Exprs& tap) {
    return place == PoolPlace::index ? position_in(at, size)
                                     : loop::cast(position_in(tap, w.kernel), DType::i32);
  };
  const Expr where = k.define(place_of(first, skipped), "where");
  for_each_window_tap(k, w.kernel, [&](const Exprs& tap) {
    Exprs at;
    Expr inside;
    for (size_t d = 0; d < rank; ++d) {
      const Expr i = start[d] + tap[d] * Expr(w.dilation[d]);
      const int64_t last = (count[d] - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d];
      const bool whole = w.padding[d] == 0 && last < size[d];
      if (!whole) inside = both_hold(inside, in_range(i, size[d]));
      at.push_back(whole ? i : k.let(clamped(i, size[d]), "at"));
    }
    Exprs from = lead_part(index, rank);
    from.insert(from.end(), at.begin(), at.end());
    const Expr x = k.let(k.load(0, from), "x");
    Expr better = binary(loop::Op::gt, x, best);
    if (is_floating(t)) better = binary(loop::Op::logical_or, better, unary(loop::Op::isnan, x));
    better = k.let(both_hold(inside, better), "better");
    k.assign(best, select(better, x, best));
    k.assign(where, select(better, place_of(at, tap), where));
  });
  return {best, where};
}

namespace {

NamedAttrs pool_attrs(const OpView& op) {
  NamedAttrs attrs;
  for (const char* name : {"kernel_size", "stride", "padding", "dilation", "ceil_mode"})
    attrs.emplace_back(name, op.attr(name));
  return attrs;
}

std::vector<Sample> samples_2d() {
  std::vector<Sample> out;
  for (DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32,
                  DType::i8, DType::u8})
    out.push_back({{any_of(t, {2, 2, 5, 4})}, max_pool_call({3, 2}, {2, 1}, {1, 0}, {1}, false)});
  const double nan = std::nan("");
  const auto add = [&](SampleTensor x, SampleAttrs attrs) { out.push_back({{x}, attrs}); };
  add(f32({1, 2, 4, 4}), {{"kernel_size", {2}}});
  add(f32({2, 4, 4}), {{"kernel_size", {2, 2}}});
  add(f32({1, 1, 5, 5}), max_pool_call({2}, {2}, {0}, {1}, true));
  add(f32({1, 1, 6, 7}), max_pool_call({3, 3}, {2, 3}, {1, 1}, {1}, true));
  add(f32({1, 2, 7, 7}), max_pool_call({3}, {1}, {1}, {2}, false));
  add(f32({1, 1, 7, 8}), max_pool_call({2, 3}, {2}, {1}, {2, 3}, true));
  add(f32({1, 1, 8, 9}), max_pool_call({7, 7}, {1}, {3}, {1}, false));
  add(f32({1, 1, 6, 6}), max_pool_call({2}, {3}, {0}, {1}, false));
  add(f32({1, 2, 1, 5}), max_pool_call({1, 3}, {1, 2}, {0, 1}, {1}, false));
  add(f32({1, 1, 1, 1}), max_pool_call({1}, {1}, {0}, {1}, false));
  add(i64({1, 1, 4, 4}).ties(2), max_pool_call({3}, {1}, {1}, {1}, false));
  add(i64({1, 1, 4, 4}).with({1}), max_pool_call({2}, {1}, {1}, {1}, false));
  add(f32({1, 1, 3, 3}).with({1, nan, 2, nan, 0, 3, -1, 5, nan}),
      max_pool_call({2}, {1}, {1}, {1}, false));
  add(f32({1, 1, 3, 3}).with({-INFINITY}), max_pool_call({3}, {1}, {1}, {1}, false));
  add(f32({1, 1, 3, 3}).with({-INFINITY}), max_pool_call({2}, {2}, {1}, {2}, false));
  add(f32({1, 1, 2, 2}).with({INFINITY, 1, -INFINITY, INFINITY}), {{"kernel_size", {2}}});
  add(f32({1, 2, 1, 1}), max_pool_call({2}, {2}, {1}, {2}, false));  // all padding
  add(i64({1, 1, 1, 1}), max_pool_call({2}, {2}, {1}, {2}, false));
  for (const DType t : {DType::i32, DType::i8, DType::u8})
    add(any_of(t, {1, 1, 2, 9}), max_pool_call({2, 3}, {2}, {1}, {3, 3}, true));
  add(f32({0, 2, 4, 4}), {{"kernel_size", {2}}});
  add(f64({1, 1, 2, 3}), max_pool_call({2}, {1}, {0}, {1}, false));
  return out;
}

std::vector<Sample> samples_3d() {
  std::vector<Sample> out;
  for (DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64})
    out.push_back(
        {{any_of(t, {1, 2, 3, 4, 3})}, max_pool_call({2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1}, false)});
  out.push_back({{f32({2, 4, 4, 4})}, {{"kernel_size", {2}}}});
  out.push_back({{f32({1, 1, 5, 4, 5})}, max_pool_call({2}, {2}, {0}, {1}, true)});
  out.push_back(
      {{f32({1, 1, 5, 5, 3})}, max_pool_call({2, 2, 1}, {1}, {1, 0, 0}, {2, 3, 1}, false)});
  out.push_back({{f32({1, 1, 4, 4, 4})}, max_pool_call({4}, {1}, {2}, {1}, false)});
  out.push_back({{f32({0, 1, 2, 2, 2})}, {{"kernel_size", {2}}}});
  for (DType t : {DType::i32, DType::i8, DType::u8, DType::bf16, DType::f16})
    out.push_back({{any_of(t, {2, 3, 4, 3})}, max_pool_call({2}, {1, 2, 1}, {1, 0, 1}, {1}, true)});
  const double nan = std::nan("");
  const auto add = [&](SampleTensor x, SampleAttrs attrs) { out.push_back({{x}, attrs}); };
  add(f32({1, 1, 3, 3, 3}), max_pool_call({3}, {1}, {1}, {1}, false));
  add(f32({1, 1, 5, 4, 7}), max_pool_call({3, 2, 3}, {2, 1, 3}, {1, 0, 1}, {1}, true));
  add(f32({1, 2, 5, 5, 5}), max_pool_call({2}, {1}, {1}, {3}, false));
  add(f32({1, 1, 1, 1, 1}), max_pool_call({1}, {1}, {0}, {1}, false));
  add(f32({1, 1, 6, 3, 6}), max_pool_call({2}, {3}, {0}, {1}, false));
  add(f32({1, 2, 1, 1, 9}), max_pool_call({1, 1, 3}, {1, 1, 2}, {0, 0, 1}, {1}, false));
  add(f32({2, 1, 2, 3, 40}), max_pool_call({2, 3, 2}, {}, {0}, {1}, false));
  add(i64({1, 1, 3, 3, 3}).ties(2), max_pool_call({2}, {1}, {0}, {1}, false));
  add(i64({1, 1, 2, 3, 3}).ties(1), max_pool_call({2}, {1}, {1}, {1}, false));
  add(f32({1, 1, 2, 2, 2}).with({1, nan, 2, nan, 0, 3, -1, 5}),
      max_pool_call({2}, {1}, {1}, {1}, false));
  add(f32({1, 1, 2, 2, 2}).with({-INFINITY}), max_pool_call({2}, {1}, {1}, {1}, false));
  add(f32({1, 1, 2, 2, 2}).with({INFINITY, 1, -INFINITY, INFINITY}), {{"kernel_size", {2}}});
  add(f32({1, 1, 2, 2, 2}), max_pool_call({2}, {1}, {1}, {3}, false));  // all padding
  add(f64({1, 1, 2, 2, 3}), max_pool_call({2}, {1}, {0}, {1}, false));
  return out;
}

std::vector<Reject> rejects(const std::string& name) {
  const SampleTensor x = f32({1, 1, 4, 4});
  return {
      {"C1",
       {{x}, {{"kernel_size", {2, 2, 2}}}},
       name + ": C1: kernel_size has 3 entries, expected 2 or 1"},
      {"C2", {{x}, {{"kernel_size", {0}}}}, name + ": C2: kernel_size has 0, expected at least 1"},
      {"C2",
       {{x}, max_pool_call({2}, {1}, {2}, {1}, false)},
       name + ": C2: padding has 2, expected at most 1, half of the window"},
      {"C3",
       {{boolean({1, 1, 4, 4})}, {{"kernel_size", {2}}}},
       name + ": C3: self is bool[1,1,4,4], expected a floating or integer dtype"},
      {"C4",
       {{f32({4, 4})}, {{"kernel_size", {2}}}},
       name + ": C4: self is f32[4,4], expected rank 3 or 4"},
      {"C4",
       {{f32({1, 0, 4, 4})}, {{"kernel_size", {2}}}},
       name + ": C4: dim 1 of self: f32[1,0,4,4] is empty, expected at least 1"},
      {"C5",
       {{x}, max_pool_call({3}, {1}, {0}, {2}, false)},
       name + ": C5: a window of 3 with dilation 2 doesn't fit into 4 padded by 0"}};
}

std::vector<Reject> rejects_3d() {
  const std::string name = "max_pool3d_with_indices";
  return {{"C1",
           {{f32({1, 4, 4, 4})}, {{"kernel_size", {2, 2}}}},
           name + ": C1: kernel_size has 2 entries, expected 3 or 1"},
          {"C4",
           {{f32({4, 4, 4})}, {{"kernel_size", {2}}}},
           name + ": C4: self is f32[4,4,4], expected rank 4 or 5"},
          {"C5",
           {{f32({1, 4, 4, 2})}, {{"kernel_size", {3}}}},
           name + ": C5: a window of 3 with dilation 1 doesn't fit into 2 padded by 0"}};
}

OpDef forward(size_t rank, Lazy<Samples> samples, Lazy<Rejects> rejects) {
  const std::string name = fmt::format("max_pool{}d_with_indices", rank);
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor self, int[{0}] kernel_size, int[{0}] stride=[], "
                               "int[{0}] padding=0, int[{0}] dilation=1, bool ceil_mode=False) "
                               "-> (Tensor, Tensor)",
                               rank),
      .summary = "The largest element of each window, and its position.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [rank](const OpView& op) { return infer_max(op, rank); },
      .reference = [rank](const OpView& op,
                          std::span<const Array* const> in) { return reference_max(op, in, rank); },
      .decompose = Absent{"a primitive: a maximum and its place are found together"},
      .grad = [name](Builder& b, const GradView& op) -> Values {
        if (op.dout(0).is_none()) return op.no_grads();
        return {b.call1(name + "_backward", {op.dout(0), op.in(0), op.out(1)}, pool_attrs(op))};
      },
      .lower = loop::elementwise([rank](KernelBuilder& k, const OpView& op, const Exprs& index) {
        return lower_max_pool(k, op, index, rank, PoolPlace::index);
      }),
      .cost =
          [rank](const OpView& op) {
            return Cost{numel_of(pool_windows(op, rank).kernel) * numel_hint(op, op.out_type(0)),
                        bytes_moved(op)};
          },
      .samples = std::move(samples),
      .rejects = std::move(rejects),
      .nondifferentiable = 0b10,
  };
}

}  // namespace

CLEAVE_OPS(max_pool) {
  return {forward(2, samples_2d, [] { return rejects("max_pool2d_with_indices"); }),
          forward(3, samples_3d, rejects_3d)};
}

}  // namespace cleave
