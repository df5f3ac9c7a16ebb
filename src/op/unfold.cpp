// unfold(self; dimension, size, step) -> y     windows of a dim; their elements become the last dim
//
//   y[.., i, .., k] = x[.., i * step + k, ..]
//
//   self  [.., n, ..]    y  [.., (n - size) / step + 1, .., size], rounded down
//   (C1) dimension in [-rank, rank) of self; a 0-d self is a dim of one element, which y omits
//   (C2) size in [0, n]   (C3) step is positive
// The gradient adds each cotangent at the position that was read: overlapping windows are summed.
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"
#include "op/window.h"

namespace cleave {
namespace {

using loop::Layout;

constexpr int64_t longest_step = int64_t{1} << 48;  // beyond any size

// For a single window, the step is the window's size.
struct Windows {
  int64_t dim = 0, size = 0, step = 1;
  Dim length, count;  // of the dim; windows
};

Result<Windows> checked_windows(const OpView& op) {
  const Type& x = op.in_type(0);
  Windows w;
  CLEAVE_TRY(w.dim, checked_dim(op, "C1", op.int_attr("dimension"), x));
  w.size = op.int_attr("size");
  w.step = op.int_attr("step");
  w.length = x.rank() == 0 ? Dim(1) : x.shape[w.dim];
  if (w.size < 0 || op.env().range_of(w.length).hi < w.size)
    return op.broken("C2", "size is {}, expected 0 to {}, the size of dim {} of self: {}", w.size,
                     w.length.text(), w.dim, x.text());
  if (w.step <= 0) return op.broken("C3", "step is {}, expected at least 1", w.step);
  const Dim left = w.length - Dim(w.size);
  const bool fits = op.env().range_of(left).lo >= 0;
  w.step = std::min(w.step, longest_step);
  w.count = Dim::floordiv(fits ? left : Dim::max(left, 0), Dim(w.step)) + Dim(1);
  if (w.count.is_const() && w.count.value() == 1) w.step = std::max<int64_t>(w.size, 1);
  return w;
}

Result<Types> infer(const OpView& op) {
  CLEAVE_TRY(const Windows w, checked_windows(op));
  const Type& x = op.in_type(0);
  Shape shape = x.shape;
  if (x.rank() > 0) shape[w.dim] = w.count;
  shape.push_back(Dim(w.size));
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const int64_t size = op.int_attr("size"), step = op.int_attr("step"), rank = x.rank();
  const int64_t named = op.int_attr("dimension"), dim = named < 0 ? named + rank : named;
  std::vector<int64_t> shape = x.shape;
  if (rank > 0) shape[dim] = (shape[dim] - size) / step + 1;
  shape.push_back(size);
  return Arrays{moved(x, shape, [&](const std::vector<int64_t>& y) {
    std::vector<int64_t> at(y.begin(), y.end() - 1);
    if (rank > 0) at[dim] = at[dim] * step + y.back();
    return position_of(at, x.shape);
  })};
}

// Concatenates windows that don't overlap, in self's order; `v` is [.., count, size, ..], `rank`
// dims.
ValueId side_by_side(Builder& b, ValueId v, const Windows& w, int64_t rank, Shape shape) {
  const int64_t length = w.length.value(), covered = w.count.value() * w.step;
  v = padded(b, v, w.dim + 1, rank, 0, Dim(w.step - w.size));
  shape[w.dim] = Dim(covered);
  v = b.view(v, shape);
  if (covered <= length) return padded(b, v, w.dim, rank - 1, 0, Dim(length - covered));
  return b.call1("slice", {v}, {{"dim", w.dim}, {"start", 0}, {"end", length}});
}

Values grad(Builder& b, const GradView& op) {
  const Windows w = *checked_windows(op);
  const Type& x = op.in_type(0);
  const int64_t rank = x.rank();
  if (w.size == 0) return {zeros(b, x)};
  if (rank == 0) return {b.view(op.dout(0), {})};
  std::vector<int64_t> order;  // moves the windows' elements next to the windows
  for (int64_t d = 0; d < rank; ++d) {
    order.push_back(d);
    if (d == w.dim) order.push_back(rank);
  }
  const ValueId v = b.permute(op.dout(0), order);
  if (w.step >= w.size && w.length.is_const()) return {side_by_side(b, v, w, rank + 1, x.shape)};
  Shape rows = x.shape;
  rows[w.dim] = w.count * Dim(w.size);
  const ValueId source = b.view(v, rows);
  const ValueId first = b.call1(
      "arange", {}, {{"end", w.count * Dim(w.step)}, {"step", w.step}, {"dtype", DType::i64}});
  const ValueId within = b.call1("arange", {}, {{"end", w.size}, {"dtype", DType::i64}});
  const ValueId place = b.add(b.view(first, {w.count, Dim(1)}), within);
  const ValueId index = b.view(place, {w.count * Dim(w.size)});
  const ValueId none = zeros(b, x);
  return {b.call1("index_add", {none, index, source}, {{"dim", w.dim}})};
}

std::optional<Layout> layout(const OpView& op, const Layout& in, int) {
  const Windows w = *checked_windows(op);
  Layout out{static_shape(op.out_type(0)), in.strides, in.offset};
  if (in.shape.empty()) {
    out.strides = {1};
  } else {
    out.strides.push_back(in.strides[w.dim]);
    out.strides[w.dim] *= w.step;
  }
  return out;
}

OpDef unfold() {
  const auto call = [](SampleTensor x, int64_t dimension, int64_t size, int64_t step) {
    return Sample{{std::move(x)}, {{"dimension", dimension}, {"size", size}, {"step", step}}};
  };
  return OpDef{
      .name = "unfold",
      .signature = "(Tensor self, int dimension, int size, int step) -> Tensor",
      .summary = "Windows of a dim, each as a last dim.",
      .source = "aten::unfold, PyTorch 2.13",
      .traits = Trait::view | Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive view"},
      .grad = grad,
      .lower = loop::view(layout),
      .cost = cost_of_view(),
      .samples =
          [call] {
            return joined(
                {over_dtypes(all_dtypes, {5, 2}, {{"dimension", 0}, {"size", 2}, {"step", 1}}),
                 {call(f32({7}), 0, 3, 2), call(f32({6}), 0, 2, 2), call(f32({7}), 0, 2, 3),
                  call(f32({8}), -1, 2, 3), call(f32({2, 9, 3}), 1, 4, 3),
                  call(f32({2, 9, 3}), -2, 3, 4), call(f32({2, 3, 4}), 0, 2, 1),
                  call(f32({4}), 0, 4, 1), call(f32({4}), 0, 0, 1), call(f32({4}), 0, 1, 9),
                  call(f32({}), 0, 1, 1), call(f32({}), -1, 0, 2), call(f32({0, 3}), 1, 2, 1),
                  call(bf16({3, 40}), 1, 16, 8), call(f16({3, 40}), 1, 8, 8),
                  call(f64({2, 5, 5}), 2, 3, 1),
                  call(f32({4}).with({NAN, 1, INFINITY, 2}), 0, 2, 1)}});
          },
      .rejects = [call]() -> Rejects {
        return {
            {"C1", call(f32({4}), 1, 2, 1), "unfold: C1: dim 1 is outside [-1, 1) of self: f32[4]"},
            {"C2", call(f32({3, 4}), 1, 5, 1),
             "unfold: C2: size is 5, expected 0 to 4, the size of dim 1 of self: f32[3,4]"},
            {"C2", call(f32({4}), 0, -1, 1),
             "unfold: C2: size is -1, expected 0 to 4, the size of dim 0 of self: f32[4]"},
            {"C3", call(f32({4}), 0, 2, 0), "unfold: C3: step is 0, expected at least 1"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(unfold) { return {unfold()}; }

}  // namespace cleave
