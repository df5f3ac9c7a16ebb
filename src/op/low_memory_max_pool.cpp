// _low_memory_max_pool_with_offsets(self; kernel_size, stride, padding, dilation, ceil_mode)
//     -> y, offsets
//   max_pool2d_with_indices (max_pool.cpp), or the same over as many dims as kernel_size has
//   entries, 1 to 3, but of a window's largest element the row-major number within the window, i8:
//
//     a window of 3 x 3 at rows 1 to 3 and columns 5 to 7, the largest at row 2, column 7: 1*3 + 2
//
//   A window that covers only padding has the number that its first element past the leading
//   padding would have. (C1..C5) pool.h; self is floating
//   (C6) a window has at most 127 elements
//
// An eighth of the bytes of indices, and nothing to check. The pass pool_offsets makes these calls.
// Source: prims::_low_memory_max_pool_with_offsets, PyTorch 2.13.
#include "op/pool_offsets.h"

#include <algorithm>
#include <cmath>

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

size_t pooled_rank(const OpView& op) { return op.ints_attr("kernel_size").size(); }

Status check_window(const OpView& op) {
  const size_t rank = pooled_rank(op);
  if (rank < 1 || rank > 3)
    return op.broken("C1", "kernel_size has {} entries, expected 1 to 3", rank);
  return {};
}
// Once its entries are known to be positive.
Status check_offsets(const OpView& op) {
  int64_t elements = 1;
  for (const int64_t k : pool_windows(op, pooled_rank(op)).kernel)
    elements = std::min(elements, most_pool_offsets + 1) * std::min(k, most_pool_offsets + 1);
  if (elements > most_pool_offsets)
    return op.broken("C6", "a window has more than {} elements", most_pool_offsets);
  return {};
}

// Position of a window's element in the pooled dims, row-major; -1: it lies outside.
int64_t position_of_tap(const PoolEntries& given, const Ints& size, const Ints& window,
                        const Ints& tap) {
  int64_t p = 0;
  for (size_t d = 0; d < size.size(); ++d) {
    const int64_t at = window[d] * given.stride[d] - given.padding[d] + tap[d] * given.dilation[d];
    if (at < 0 || at >= size[d]) return -1;
    p = p * size[d] + at;
  }
  return p;
}

std::vector<PoolCase> pool_cases() {
  return {{{2, 2, 5, 4}, {{3, 2}, {2, 1}, {1, 0}, {1, 1}, false}},
          {{2, 4, 4}, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false}},
          {{1, 1, 5, 5}, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},
          {{1, 1, 6, 7}, {{3, 3}, {2, 3}, {1, 1}, {1, 1}, true}},
          {{1, 2, 7, 7}, {{3, 3}, {1, 1}, {1, 1}, {2, 2}, false}},
          {{1, 1, 7, 8}, {{2, 3}, {2, 2}, {1, 1}, {2, 3}, true}},
          {{1, 1, 13, 12}, {{11, 11}, {1, 1}, {5, 5}, {1, 1}, false}},
          {{1, 1, 6, 6}, {{2, 2}, {3, 3}, {0, 0}, {1, 1}, false}},
          {{1, 2, 1, 1}, {{2, 2}, {2, 2}, {1, 1}, {2, 2}, false}},  // some only padding
          {{3, 9}, {{3}, {2}, {1}, {1}, false}},
          {{1, 2, 9}, {{2}, {2}, {1}, {3}, true}},
          {{2, 5, 4, 3}, {{3, 3, 1}, {2, 2, 1}, {1, 1, 0}, {1, 1, 1}, false}},
          {{1, 2, 3, 4, 3}, {{2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 1}, false}},
          {{0, 2, 4, 4}, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false}}};
}
SampleAttrs pool_call(const PoolWindows& w) {
  return max_pool_call(w.kernel, w.stride, w.padding, w.dilation, w.ceil_mode);
}

namespace {

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_window(op));
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_floating(op, "C3", 0));
  CLEAVE_TRY(const Shape shape, pooled_shape(op, 0, pooled_rank(op)));
  CLEAVE_CHECK(check_offsets(op));
  return Types{typed_like(x, x.dtype, shape), typed_like(x, DType::i8, shape)};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const size_t rank = pooled_rank(op);
  const Array& x = *in[0];
  Array y(x.dtype, static_shape(op.out_type(0))), offsets(DType::i8, y.shape);
  const Ints size = pooled_part(x.shape, rank);
  const PoolEntries given(op, rank);
  int64_t result = 0;
  for_each_position(y.shape, rank, [&](int64_t plane, const Ints& window) {
    double best = -INFINITY;
    int64_t offset = 0, number = 0;
    bool any = false;
    for (size_t d = 0; d < rank; ++d) {
      int64_t first = 0;
      while (window[d] * given.stride[d] - given.padding[d] + first * given.dilation[d] < 0)
        ++first;
      offset = offset * given.kernel[d] + first;
    }
    Ints tap(rank, 0);
    do {
      if (const int64_t p = position_of_tap(given, size, window, tap); p >= 0) {
        const double here = x.f[plane * numel_of(size) + p];
        if (!any || here > best || std::isnan(here)) best = here, offset = number, any = true;
      }
      ++number;
    } while (next_index(tap, given.kernel));
    y.f[result] = best;
    offsets.i[result++] = offset;
  });
  return Arrays{y, offsets};
}

NamedAttrs pool_attrs(const OpView& op) {
  NamedAttrs attrs;
  for (const char* name : {"kernel_size", "stride", "padding", "dilation", "ceil_mode"})
    attrs.emplace_back(name, op.attr(name));
  return attrs;
}

Values grad(Builder& b, const GradView& op) {
  if (op.dout(0).is_none()) return op.no_grads();
  const Shape& x = op.in_type(0).shape;
  NamedAttrs attrs = pool_attrs(op);
  attrs.emplace_back("input_size",
                     Shape(x.end() - static_cast<std::ptrdiff_t>(pooled_rank(op)), x.end()));
  return {b.call1("_low_memory_max_pool_backward", {op.dout(0), op.out(1)}, std::move(attrs))};
}

Samples samples() {
  Samples out;
  for (const PoolCase& c : pool_cases()) out.push_back({{f32(c.image)}, pool_call(c.windows)});
  const PoolCase first = pool_cases()[0];
  for (DType t : {DType::f64, DType::bf16, DType::f16})
    out.push_back({{any_of(t, first.image)}, pool_call(first.windows)});
  const double nan = std::nan("");
  const auto add = [&](SampleTensor x, const PoolWindows& w) {
    out.push_back({{std::move(x)}, pool_call(w)});
  };
  add(f32({1, 1, 3, 3}).with({1, nan, 2, nan, 0, 3, -1, 5, nan}),
      {{2, 2}, {1, 1}, {1, 1}, {1, 1}, false});
  add(f32({1, 1, 3, 3}).with({-INFINITY}), {{2, 2}, {2, 2}, {1, 1}, {2, 2}, false});
  // Of equal elements the first.
  add(f32({1, 1, 2, 2}).with({INFINITY, 1, -INFINITY, INFINITY}),
      {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false});
  return out;
}

Rejects rejects() {
  const std::string name = "_low_memory_max_pool_with_offsets: ";
  const SampleTensor x = f32({1, 1, 14, 14});
  return {{"C1",
           {{x}, max_pool_call({1, 1, 1, 1}, {1}, {0}, {1}, false)},
           name + "C1: kernel_size has 4 entries, expected 1 to 3"},
          {"C3",
           {{i64({1, 1, 4, 4})}, max_pool_call({2, 2}, {2}, {0}, {1}, false)},
           name + "C3: self is i64[1,1,4,4], expected a floating dtype"},
          {"C6",
           {{x}, max_pool_call({12, 11}, {1}, {0}, {1}, false)},
           name + "C6: a window has more than 127 elements"}};
}

OpDef forward() {
  return OpDef{
      .name = "_low_memory_max_pool_with_offsets",
      .signature =
          "(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, "
          "bool ceil_mode) -> (Tensor, Tensor)",
      .summary = "The largest element of each window, and its number within the window.",
      .source = "prims::_low_memory_max_pool_with_offsets, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive: a maximum and its place are found together"},
      .grad = grad,
      .lower = loop::elementwise([](KernelBuilder& k, const OpView& op, const Exprs& index) {
        return lower_max_pool(k, op, index, pooled_rank(op), PoolPlace::offset);
      }),
      .cost =
          [](const OpView& op) {
            return Cost{
                numel_of(pool_windows(op, pooled_rank(op)).kernel) * numel_hint(op, op.out_type(0)),
                bytes_moved(op)};
          },
      .samples = samples,
      .rejects = rejects,
  };
}

}  // namespace

CLEAVE_OPS(low_memory_max_pool) { return {forward()}; }

}  // namespace cleave
