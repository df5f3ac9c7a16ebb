// max_pool2d_with_indices_backward(grad_output, self, indices; kernel_size, stride, padding,
//                                  dilation, ceil_mode) -> dself
//   dself[i] = sum of grad_output over the windows whose index is i
// max_pool3d_with_indices_backward: the same over three dims.
//   (C1..C5) pool.h; self is floating
//   (C6) grad_output and indices have the shape of the result; grad_output has the dtype of self
//   (C7) indices are i64
// An index outside its window is an error (ATen accepts any inside the plane), reported before
// anything is written; the index of a window in the padding, which has no element, is ignored.
// Source: ATen/native/cpu/MaxPoolKernel.cpp, PyTorch 2.13.
#include "op/index_rules.h"
#include "op/kernel_loops.h"
#include "op/max_pool.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

enum Operand { at_grad, at_self, at_indices };

Result<Types> infer_backward(const OpView& op, size_t rank) {
  const Type &g = op.in_type(at_grad), &x = op.in_type(at_self), &i = op.in_type(at_indices);
  CLEAVE_CHECK(check_floating(op, "C3", at_self));
  CLEAVE_TRY(const Shape shape, pooled_shape(op, at_self, rank));
  CLEAVE_CHECK(check_same_dtype(op, "C6", at_grad, at_self));
  if (i.dtype != DType::i64) return op.broken("C7", "indices are {}, expected i64", i.text());
  CLEAVE_CHECK(check_same_shape(op, "C6", "grad_output and the windows of self", g.shape, shape));
  CLEAVE_CHECK(check_same_shape(op, "C6", "indices and the windows of self", i.shape, shape));
  return Types{typed_like(x, x.dtype, x.shape)};
}

std::string outside_window(const OpView& op) {
  return op.name() + ": indices: an index is outside its window";
}

Result<Arrays> reference_backward(const OpView& op, std::span<const Array* const> in, size_t rank) {
  const Array &g = *in[at_grad], &indices = *in[at_indices];
  Array y(in[at_self]->dtype, in[at_self]->shape);
  const Ints size(y.shape.end() - static_cast<std::ptrdiff_t>(rank), y.shape.end());
  const PoolEntries given(op, rank);
  const auto in_padding = [&](const Ints& window) {
    for (size_t d = 0; d < rank; ++d) {
      int64_t inside = 0;
      for (int64_t t = 0; t < given.kernel[d]; ++t) {
        const int64_t at = window[d] * given.stride[d] - given.padding[d] + t * given.dilation[d];
        inside += at >= 0 && at < size[d];
      }
      if (inside == 0) return true;
    }
    return false;
  };
  int64_t k = 0;
  Status status;
  for_each_position(g.shape, rank, [&](int64_t plane, const Ints& window) {
    if (in_padding(window)) {
      ++k;
      return;
    }
    auto p = index_in_range(op, "indices", indices.i[k], numel_of(size), NegativeIndex::refused);
    if (!p.ok() || !status.ok()) {
      if (status.ok()) status = std::move(p).failure();
      return;
    }
    int64_t rest = *p;
    for (size_t d = rank; d-- > 0; rest /= size[d]) {
      const int64_t off = rest % size[d] + given.padding[d] - window[d] * given.stride[d],
                    step = given.dilation[d];
      if (off < 0 || off % step != 0 || off / step >= given.kernel[d])
        status = user_error("{}", outside_window(op));
    }
    y.f[plane * numel_of(size) + *p] += g.f[k++];
  });
  CLEAVE_CHECK(std::move(status));
  return Arrays{y};
}

// Dims in which some window covers only padding.
std::vector<bool> dims_with_outside(const PoolWindows& w, const Ints& size, const Ints& count) {
  std::vector<bool> out(w.rank());
  for (size_t d = 0; d < w.rank(); ++d)
    for (int64_t o = 0; o < count[d] && !out[d]; ++o) out[d] = w.is_outside(d, size[d], o);
  return out;
}

// Whether the window covers only padding; undefined: never.
Expr lies_outside(KernelBuilder& k, const PoolWindows& w, const Ints& size, const Ints& windows,
                  const Exprs& i) {
  const std::vector<bool> dims = dims_with_outside(w, size, pooled_part(windows, w.rank()));
  Expr out;
  for (size_t d = 0; d < w.rank(); ++d) {
    if (!dims[d]) continue;
    const int64_t dilation = w.dilation[d];
    const Expr start = i[i.size() - w.rank() + d] * Expr(w.stride[d]) - Expr(w.padding[d]);
    const Expr missed = quotient_up(at_least(Expr(0) - start, Expr(0)), dilation);
    const Expr beyond = binary(loop::Op::ge, start + missed * Expr(dilation), Expr(size[d]));
    out = either_holds(out, either_holds(beyond, binary(loop::Op::ge, missed, Expr(w.kernel[d]))));
  }
  return out.defined() ? k.let(out, "outside") : out;
}

// The first position of each window in a dim, which may lie in the padding.
Expr corner_of(const PoolWindows& w, const Exprs& i, size_t d) {
  return i[i.size() - w.rank() + d] * Expr(w.stride[d]) - Expr(w.padding[d]);
}

// Whether the index is an element of its window, by division.
Expr in_window(KernelBuilder& k, const PoolWindows& w, const Ints& size, const Exprs& i,
               Expr index) {
  Expr inside;
  for (size_t d = w.rank(); d-- > 0;) {
    const Expr at = k.let(d == 0 ? index : binary(loop::Op::truncmod, index, Expr(size[d])), "at");
    if (d > 0) index = k.let(quotient(index, size[d]), "rest");
    const Expr off = k.let(at - corner_of(w, i, d), "off");
    inside = both_hold(inside, in_range(off, (w.kernel[d] - 1) * w.dilation[d] + 1));
    if (w.dilation[d] > 1)
      inside = both_hold(
          inside,
          binary(loop::Op::eq, binary(loop::Op::truncmod, off, Expr(w.dilation[d])), Expr(0)));
  }
  return inside;
}

// The same by comparing with each row of the window: vectors don't divide.
constexpr int64_t max_compared_rows = 9;

bool has_few_rows(const PoolWindows& w) {
  return w.dilation.back() == 1 && numel_of(w.kernel) / w.kernel.back() <= max_compared_rows;
}

Expr in_some_row(KernelBuilder& k, const PoolWindows& w, const Ints& size, const Exprs& i,
                 const Expr& index) {
  const size_t last = w.rank() - 1;
  const Expr corner = corner_of(w, i, last), begin = k.let(at_least(corner, Expr(0)), "begin");
  const Expr end = k.let(at_most(corner + Expr(w.kernel[last]), Expr(size[last])), "end");
  Expr found;
  for_each_window_tap(k, {w.kernel.begin(), w.kernel.end() - 1}, [&](const Exprs& t) {
    Expr row(0), inside;
    for (size_t d = 0; d < last; ++d) {
      const Expr at = corner_of(w, i, d) + t[d] * Expr(w.dilation[d]);
      inside = both_hold(inside, in_range(at, size[d]));
      row = row * Expr(size[d]) + at;
    }
    const Expr at = k.let(index - row * Expr(size[last]), "at");
    inside = both_hold(inside,
                       both_hold(binary(loop::Op::ge, at, begin), binary(loop::Op::lt, at, end)));
    found = either_holds(found, inside);
  });
  return found;
}

// Checks all indices before anything is written.
void check_in_windows(KernelBuilder& k, const OpView& op, const PoolWindows& w, const Ints& size,
                      const Ints& windows) {
  const auto index_at = [&](const Exprs& i, const Expr& outside) {
    const Expr index = k.load(at_indices, i);
    return outside.defined() ? select(outside, loop::constant_int(index.type(), 0), index) : index;
  };
  // A loop for each check: with two, none runs in vectors.
  for_each_element(k, windows, [&](const Exprs& i) {
    checked_index(k, op, "indices", index_at(i, lies_outside(k, w, size, windows, i)),
                  numel_of(size), NegativeIndex::refused);
  });
  for_each_element(k, windows, [&](const Exprs& i) {
    const Expr outside = lies_outside(k, w, size, windows, i);
    const Expr index = k.let(index_at(i, outside), "index");
    const Expr inside =
        has_few_rows(w) ? in_some_row(k, w, size, i, index) : in_window(k, w, size, i, index);
    k.check(either_holds(outside, inside), outside_window(op));
  });
}

// Each plane is cleared, then its windows add to it in order.
constexpr int64_t min_scattered_planes = 8;

bool scatters(const OpView& op, size_t rank) {
  const DType t = op.out_type(0).dtype;
  const Ints shape = static_shape(op.in_type(at_self));
  return loop::compute_type(t) == t &&
         numel_of({shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(rank)}) >=
             min_scattered_planes;
}

void scatter_planes(KernelBuilder& k, const PoolWindows& w, const Ints& shape,
                    const Ints& windows) {
  const size_t rank = w.rank();
  const Ints size = pooled_part(shape, rank);
  const Expr zero = loop::constant(k.result(0).dtype, 0);
  const auto joined = [](Exprs lead, const Exprs& own) {
    lead.insert(lead.end(), own.begin(), own.end());
    return lead;
  };
  k.parallel({shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(rank)}, [&](const Exprs& p) {
    k.loops({size.begin(), size.end() - 1}, [&](const Exprs& row) {
      k.each(Expr(size.back()), [&](const Expr& i) {
        Exprs at = joined(p, row);
        at.push_back(i);
        k.store(0, at, zero);
      });
    });
    k.loops(pooled_part(windows, rank), [&](const Exprs& o) {
      const Exprs window = joined(p, o);
      const auto add = [&] {
        Expr rest = k.let(k.load(at_indices, window), "index");
        Exprs own(rank);
        for (size_t d = rank; d-- > 0;) {
          own[d] = k.let(d == 0 ? rest : binary(loop::Op::truncmod, rest, Expr(size[d])), "at");
          if (d > 0) rest = k.let(quotient(rest, size[d]), "rest");
        }
        const Exprs at = joined(p, own);
        k.store(0, at, k.load_result(0, at) + k.load(at_grad, window));
      };
      const Expr outside = lies_outside(k, w, size, windows, window);
      if (outside.defined())
        k.if_(unary(loop::Op::logical_not, outside), add);
      else
        add();
    });
  });
}

// The windows that contain position i of a dim, one for each element of the kernel.
DimTaps dilated_windows_over(const PoolWindows& w, size_t d, int64_t count) {
  const int64_t stride = w.stride[d], dilation = w.dilation[d];
  const int64_t before = w.padding[d] - (w.kernel[d] - 1) * dilation;
  DimTaps out;
  out.count = w.kernel[d];
  out.tap = [=](KernelBuilder&, const Expr& i, const Expr& t) {
    const Expr off = i + Expr(before) + t * Expr(dilation), o = quotient(off, stride);
    Expr sees = both_hold(binary(loop::Op::ge, off, Expr(0)), binary(loop::Op::lt, o, Expr(count)));
    if (stride > 1) sees = both_hold(sees, binary(loop::Op::eq, o * Expr(stride), off));
    return Tap{clamped(o, count), {}, sees};
  };
  return out;
}

}  // namespace

DimTaps windows_that_contain(const PoolWindows& w, size_t d, int64_t count) {
  return w.dilation[d] == 1 ? windows_over(w, d, count) : dilated_windows_over(w, d, count);
}

namespace {

void lower_backward(KernelBuilder& k, const OpView& op, size_t rank) {
  const PoolWindows w = pool_windows(op, rank);
  const Ints shape = static_shape(op.in_type(at_self)), windows = static_shape(op.in_type(at_grad)),
             size = pooled_part(shape, rank), count = pooled_part(windows, rank);
  if (numel_of(shape) == 0) return;
  check_in_windows(k, op, w, size, windows);
  if (scatters(op, rank)) return scatter_planes(k, w, shape, windows);
  std::vector<DimTaps> dims;
  Ints counts;
  for (size_t d = 0; d < rank; ++d) {
    dims.push_back(windows_that_contain(w, d, count[d]));
    counts.push_back(dims[d].count);
  }
  const Expr zero = loop::constant(loop::compute_type(op.out_type(0).dtype), 0);
  for_each_element(k, shape, [&](const Exprs& i) {
    const Exprs own(i.end() - static_cast<std::ptrdiff_t>(rank), i.end());
    const Expr here = k.let(position_in(own, size), "here");
    const Expr sum = k.define(zero, "sum");
    for_each_window_tap(k, counts, [&](const Exprs& t) {
      Exprs at = lead_part(i, rank);
      Expr counts_in;
      for (size_t d = 0; d < rank; ++d) {
        const Tap tap = dims[d].tap(k, own[d], t[d]);
        at.push_back(k.let(tap.at, "at"));
        counts_in = both_hold(counts_in, tap.inside);
      }
      counts_in = both_hold(counts_in, binary(loop::Op::eq, k.load(at_indices, at), here));
      k.assign(sum, sum + select(counts_in, k.load(at_grad, at), zero));
    });
    k.store(0, i, sum);
  });
}

// The cotangent's elements that the windows' indices select.
Values grad_backward(Builder& b, const GradView& op, size_t rank) {
  Values d = op.no_grads();
  if (op.dout(0).is_none() || !op.needs(at_grad)) return d;
  const PoolWindows w = pool_windows(op, rank);
  if (op.in_type(at_self).is_static()) {
    const std::vector<bool> dims =
        dims_with_outside(w, pooled_part(static_shape(op.in_type(at_self)), rank),
                          pooled_part(static_shape(op.in_type(at_grad)), rank));
    if (std::find(dims.begin(), dims.end(), true) != dims.end()) {
      b.fail(
          unsupported("{}: its gradient where windows lie in the padding is not covered "
                      "(src/op/max_pool_backward.cpp)",
                      op.name()));
      return d;
    }
  }
  const auto flat = [&](ValueId v) {
    const Shape& s = b.type(v).shape;
    const auto split = s.end() - static_cast<std::ptrdiff_t>(rank);
    Shape shape(s.begin(), split);
    Dim plane = 1;
    for (auto at = split; at != s.end(); ++at) plane = plane * *at;
    shape.push_back(plane);
    return b.view(v, shape);
  };
  const ValueId picked =
      b.call1("gather", {flat(op.dout(0)), flat(op.in(at_indices))}, {{"dim", int64_t{-1}}});
  d[at_grad] = b.view(picked, op.in_type(at_grad).shape);
  return d;
}

// A call whose indices are inside their windows and cycle through the taps.
Sample with_turns(DType t, const Ints& image, PoolWindows w) {
  const size_t lead = image.size() - w.rank();
  Ints windows(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(lead));
  for (size_t d = 0; d < w.rank(); ++d) windows.push_back(w.count(Dim(image[lead + d]), d).value());
  std::vector<double> indices;
  for_each_position(windows, w.rank(), [&](int64_t, const Ints& window) {
    int64_t index = 0;
    for (size_t d = 0; d < w.rank(); ++d) {
      const int64_t size = image[lead + d], begin = window[d] * w.stride[d] - w.padding[d];
      auto tap = static_cast<int64_t>(indices.size() + d);
      const auto at = [&] { return begin + tap % w.kernel[d] * w.dilation[d]; };
      while (at() < 0 || at() >= size) ++tap;
      index = index * size + at();
    }
    indices.push_back(static_cast<double>(index));
  });
  return {{any_of(t, windows), any_of(t, image), i64(windows).with(indices)},
          max_pool_call(w.kernel, w.stride, w.padding, w.dilation, w.ceil_mode)};
}

// Operands of the backward: the cotangent, self, and indices inside their windows.
std::vector<Sample> backward_samples_2d() {
  std::vector<Sample> out;
  const auto add = [&](DType t, Ints x, Ints windows, std::vector<double> indices,
                       SampleAttrs attrs) {
    out.push_back({{any_of(t, windows), any_of(t, std::move(x)), i64(windows).with(indices)},
                   std::move(attrs)});
  };
  for (DType t : floating_dtypes) {
    add(t, {1, 2, 4, 4}, {1, 2, 2, 2}, {0, 3, 13, 10, 5, 6, 9, 10},
        max_pool_call({2}, {2}, {0}, {1}, false));
    add(t, {1, 1, 4, 4}, {1, 1, 2, 2}, {5, 5, 5, 5}, max_pool_call({3}, {2}, {1}, {1}, false));
  }
  const DType t = DType::f32;
  add(t, {1, 4, 4}, {1, 2, 2}, {5, 6, 5, 6}, max_pool_call({3}, {2}, {1}, {1}, false));
  add(t, {1, 1, 4, 4}, {1, 1, 2, 2}, {1, 2, 8, 11}, max_pool_call({2}, {}, {0}, {1}, false));
  add(t, {1, 1, 2, 2}, {1, 1, 1, 1}, {3}, max_pool_call({2}, {1}, {0}, {1}, false));
  add(t, {1, 1, 3, 3}, {1, 1, 2, 2}, {4, 5, 7, 8}, max_pool_call({2}, {2}, {0}, {1}, true));
  add(t, {1, 1, 5, 5}, {1, 1, 3, 3}, {6, 7, 6, 11, 12, 13, 16, 17, 6},
      max_pool_call({3}, {1}, {1}, {2}, false));
  add(t, {1, 1, 5, 5}, {1, 1, 2, 2}, {0, 2, 10, 12}, max_pool_call({2}, {2}, {0}, {2}, false));
  add(t, {1, 1, 1, 8}, {1, 1, 1, 2}, {3, 4}, max_pool_call({1, 7}, {1, 3}, {0, 1}, {1}, false));
  add(t, {1, 1, 1, 9}, {1, 1, 1, 3}, {0, 4, 8}, max_pool_call({1, 2}, {1, 4}, {0, 0}, {1}, true));
  add(t, {1, 1, 13, 13}, {1, 1, 6, 6}, {84, 97}, max_pool_call({8}, {1}, {0}, {1}, false));
  add(t, {0, 2, 4, 4}, {0, 2, 2, 2}, {}, max_pool_call({2}, {2}, {0}, {1}, false));
  add(t, {1, 1, 2, 3}, {1, 1, 2, 2}, {0, 2, 3, 5}, max_pool_call({1, 2}, {1}, {0}, {1}, false));
  for (DType f : floating_dtypes)
    out.push_back(with_turns(f, {2, 5, 4}, {{3, 2}, {1, 2}, {1, 1}, {1, 1}, false}));
  for (const PoolWindows& w : {PoolWindows{{3, 3}, {1, 1}, {1, 1}, {1, 1}, false},
                               PoolWindows{{2, 3}, {2, 1}, {1, 1}, {2, 1}, true},
                               PoolWindows{{4, 2}, {3, 3}, {0, 1}, {1, 3}, true}})
    out.push_back(with_turns(t, {1, 2, 7, 6}, w));
  // With many addends at one position, they are accumulated unrounded.
  for (DType f : {DType::bf16, DType::f16})
    out.push_back(with_turns(f, {1, 1, 6, 6}, {{5, 5}, {1, 1}, {2, 2}, {1, 1}, false}));
  // Planes enough to be scattered: rows of several vectors, many rows a window, steps.
  for (DType f : {DType::f32, DType::f64}) {
    out.push_back(with_turns(f, {2, 4, 5, 37}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, false}));
    out.push_back(with_turns(f, {8, 12, 9}, {{11, 2}, {1, 3}, {5, 1}, {1, 1}, true}));
    out.push_back(with_turns(f, {9, 1, 7, 6}, {{2, 2}, {1, 2}, {0, 1}, {3, 2}, false}));
  }
  return out;
}

std::vector<Sample> backward_samples_3d() {
  std::vector<Sample> out;
  for (DType t : floating_dtypes)
    out.push_back({{any_of(t, {1, 1, 1, 2, 2}), any_of(t, {1, 1, 2, 4, 4}),
                    i64({1, 1, 1, 2, 2}).with({0, 18, 24, 15})},
                   max_pool_call({2}, {2}, {0}, {1}, false)});
  out.push_back({{f32({1, 2, 2, 2}), f32({1, 3, 3, 3}), i64({1, 2, 2, 2}).with({13})},
                 max_pool_call({2}, {1}, {0}, {1}, false)});
  const Ints one = {1, 1, 1}, none = {0, 0, 0}, two = {2, 2, 2};
  for (DType t : floating_dtypes) {
    out.push_back(with_turns(t, {2, 3, 4, 3}, {{2, 3, 2}, {1, 2, 1}, one, one, true}));
    out.push_back(with_turns(t, {1, 1, 3, 3, 3}, {{3, 3, 3}, one, one, one, false}));
    out.push_back(with_turns(t, {2, 4, 3, 5, 18}, {{2, 3, 3}, {1, 2, 2}, one, one, false}));
  }
  const DType t = DType::f32;
  const std::vector<Sample> more = {
      with_turns(t, {1, 2, 5, 4, 5}, {two, two, none, one, true}),
      with_turns(t, {1, 1, 5, 5, 5}, {two, one, one, {3, 2, 1}, false}),
      with_turns(t, {1, 1, 4, 4, 4}, {{4, 4, 4}, one, two, one, false}),
      with_turns(t, {1, 1, 7, 2, 7}, {two, {4, 1, 4}, none, one, false}),
      with_turns(t, {1, 1, 1, 1, 1}, {one, one, none, one, false}),
      with_turns(t, {1, 2, 1, 1, 9}, {{1, 1, 3}, {1, 1, 2}, {0, 0, 1}, one, false}),
      with_turns(t, {2, 1, 2, 3, 40}, {{2, 3, 2}, {2, 3, 2}, none, one, false}),
      with_turns(t, {1, 1, 5, 4, 7}, {{3, 2, 3}, {2, 1, 3}, {1, 0, 1}, one, true}),
      with_turns(t, {0, 1, 2, 2, 2}, {two, two, none, one, false}),
      with_turns(t, {1, 1, 2, 2, 3}, {two, one, none, one, false})};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::vector<Reject> backward_rejects(const std::string& name) {
  const SampleTensor x = f32({1, 1, 4, 4}), g = f32({1, 1, 2, 2}), i = i64({1, 1, 2, 2});
  const SampleAttrs two = max_pool_call({2}, {2}, {0}, {1}, false);
  return {{"C3",
           {{g, i64({1, 1, 4, 4}), i.range(0, 1)}, two},
           name + ": C3: self is i64[1,1,4,4], expected a floating dtype"},
          {"C6",
           {{f32({1, 1, 2, 3}), x, i.range(0, 1)}, two},
           name + ": C6: grad_output and the windows of self: [1,1,2,3] and [1,1,2,2], expected "
                  "equal shapes"},
          {"C6",
           {{f64({1, 1, 2, 2}), x, i.range(0, 1)}, two},
           name + ": C6: grad_output is f64[1,1,2,2], expected the dtype of self: f32"},
          {"C7",
           {{g, x, i32({1, 1, 2, 2})}, two},
           name + ": C7: indices are i32[1,1,2,2], expected i64"},
          {"index",
           {{g, x, i.with({0, 3, 9, 16})}, two},
           name + ": indices: index 16 is out of range [0, 16)"},
          {"index",
           {{g, x, i.with({0, 3, 9, 9})}, two},
           name + ": indices: an index is outside its window"},
          {"index",
           {{f32({8, 1, 2, 40}), f32({8, 1, 4, 80}), i64({8, 1, 2, 40}).with({77})}, two},
           name + ": indices: an index is outside its window"}};
}

std::vector<Reject> backward_rejects_3d() {
  const std::string name = "max_pool3d_with_indices_backward";
  const SampleTensor x = f32({1, 2, 2, 2}), i = i64({1, 1, 1, 1});
  const SampleAttrs two = max_pool_call({2}, {2}, {0}, {1}, false);
  return {{"C6",
           {{f32({1, 1, 1, 2}), x, i.with({0})}, two},
           name + ": C6: grad_output and the windows of self: [1,1,1,2] and [1,1,1,1], expected "
                  "equal shapes"},
          {"index",
           {{f32({1, 1, 1, 1}), x, i.with({8})}, two},
           name + ": indices: index 8 is out of range [0, 8)"}};
}

OpDef backward(size_t rank, Lazy<Samples> samples, Lazy<Rejects> rejects) {
  const std::string name = fmt::format("max_pool{}d_with_indices_backward", rank);
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor grad_output, Tensor self, int[{0}] kernel_size, int[{0}] "
                               "stride, int[{0}] padding, int[{0}] dilation, bool ceil_mode, "
                               "Tensor indices) -> Tensor",
                               rank),
      .summary = "The gradient of a pooling by maxima.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable | Trait::data_dependent,
      .infer = [rank](const OpView& op) { return infer_backward(op, rank); },
      .reference =
          [rank](const OpView& op, std::span<const Array* const> in) {
            return reference_backward(op, in, rank);
          },
      .decompose = Absent{"a primitive: a sum over windows that is chosen by indices"},
      .grad = [rank](Builder& b, const GradView& op) { return grad_backward(b, op, rank); },
      .lower =
          loop::kernel([rank](KernelBuilder& k, const OpView& op) { lower_backward(k, op, rank); }),
      .cost = cost_per_operand(1),
      .samples = std::move(samples),
      .rejects = std::move(rejects),
  };
}

}  // namespace

CLEAVE_OPS(max_pool_backward) {
  return {backward(2, backward_samples_2d,
                   [] { return backward_rejects("max_pool2d_with_indices_backward"); }),
          backward(3, backward_samples_3d, backward_rejects_3d)};
}

}  // namespace cleave
