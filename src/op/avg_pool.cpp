// avg_pool2d(self; kernel_size, stride, padding, ceil_mode, count_include_pad,
//            divisor_override) -> y
//   y = sum of each window / divisor
//   divisor: divisor_override, else the elements of the window inside the input, with
//   count_include_pad inside the input and its padding
// avg_pool2d_backward(grad_output, self; ...) -> dself
//   dself[i] = sum over the windows that contain i of grad_output / divisor
// avg_pool3d and its backward: the same over three dims.
//   (C1..C5) pool.h, self is floating   (C6) divisor_override is not 0
//   (C7) grad_output has the dtype of self and the shape of the result
// Source: ATen/native/cpu/AvgPoolKernel.cpp, PyTorch 2.13.
#include "op/kernel_loops.h"
#include "op/pool.h"
#include "op/reference_sum.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

constexpr const char* shared_attrs[] = {
    "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"};

Result<Shape> checked_shape(const OpView& op, int input, size_t rank) {
  CLEAVE_CHECK(check_floating(op, "C3", input));
  if (op.given("divisor_override") && op.int_attr("divisor_override") == 0)
    return op.broken("C6", "divisor_override is 0, expected another number");
  return pooled_shape(op, input, rank);
}

Result<Types> infer(const OpView& op, size_t rank) {
  CLEAVE_TRY(Shape shape, checked_shape(op, 0, rank));
  return Types{typed_like(op.in_type(0), op.in_type(0).dtype, std::move(shape))};
}

Result<Types> infer_backward(const OpView& op, size_t rank) {
  CLEAVE_TRY(const Shape shape, checked_shape(op, 1, rank));
  const Type &g = op.in_type(0), &x = op.in_type(1);
  CLEAVE_CHECK(check_same_dtype(op, "C7", 0, 1));
  CLEAVE_CHECK(check_same_shape(op, "C7", "grad_output and the windows of self", g.shape, shape));
  return Types{typed_like(x, x.dtype, x.shape)};
}

// Calls f(plane, window, position inside it, divisor) for every term, by plain loops.
template <class F>
void for_each_term(const OpView& op, const Ints& image, const Ints& windows, size_t rank, F f) {
  const Ints size(image.end() - static_cast<std::ptrdiff_t>(rank), image.end());
  int64_t number = 0;
  const PoolEntries given(op, rank);
  const bool pads = op.bool_attr("count_include_pad");
  for_each_position(windows, rank, [&](int64_t plane, const Ints& window) {
    Ints begin(rank), count(rank);
    int64_t divisor = 1;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t padding = given.padding[d];
      int64_t from = window[d] * given.stride[d] - padding;
      int64_t to = std::min(from + given.kernel[d], size[d] + padding);
      const int64_t padded = to - from;
      from = std::max<int64_t>(from, 0);
      to = std::min(to, size[d]);
      divisor *= pads ? padded : to - from;
      begin[d] = from;
      count[d] = to - from;
    }
    if (op.given("divisor_override")) divisor = op.int_attr("divisor_override");
    Ints at(rank, 0);
    do {
      int64_t p = plane;
      for (size_t d = 0; d < rank; ++d) p = p * size[d] + begin[d] + at[d];
      f(number, p, static_cast<double>(divisor));
    } while (next_index(at, count));
    ++number;
  });
}

// ---- loops

// The elements of window o that the divisor counts, in one dim; undefined if every window counts
// `kernel` elements.
Expr counted(KernelBuilder& k, const OpView& op, const PoolWindows& w, size_t d, int64_t size,
             int64_t count, const Expr& o) {
  const bool pads = op.bool_attr("count_include_pad");
  const int64_t end = size + (pads ? w.padding[d] : 0);
  const bool cut_after = (count - 1) * w.stride[d] - w.padding[d] + w.kernel[d] > end;
  const bool cut_before = !pads && w.padding[d] > 0;
  if (!cut_after && !cut_before) return {};
  Expr from = k.let(o * Expr(w.stride[d]) - Expr(w.padding[d]), "from");
  Expr to = from + Expr(w.kernel[d]);
  if (cut_after) to = at_most(to, Expr(end));
  if (cut_before) from = at_least(from, Expr(0));
  return k.let(to - from, "count");
}

struct Sizes {
  Ints size, count;  // pooled dims of the image, and of the windows
  Sizes(const Type& image, const Type& windows, size_t rank) {
    const Ints i = static_shape(image), o = static_shape(windows);
    size.assign(i.end() - static_cast<std::ptrdiff_t>(rank), i.end());
    count.assign(o.end() - static_cast<std::ptrdiff_t>(rank), o.end());
  }
};

Exprs lower(KernelBuilder& k, const OpView& op, const Exprs& index, size_t rank) {
  const PoolWindows w = pool_windows(op, rank);
  const Sizes s(op.in_type(0), op.out_type(0), rank);
  const DType t = loop::compute_type(op.out_type(0).dtype);
  std::vector<DimTaps> dims;
  Expr divisor(1);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t stride = w.stride[d], padding = w.padding[d], size = s.size[d];
    const bool whole = padding == 0 && (s.count[d] - 1) * stride + w.kernel[d] <= size;
    dims.push_back({w.kernel[d], [=](KernelBuilder&, const Expr& o, const Expr& tap) {
                      const Expr at = o * Expr(stride) + tap - Expr(padding);
                      if (whole) return Tap{at, {}, {}};
                      return Tap{clamped(at, size), {}, in_range(at, size)};
                    }});
    const Expr n = counted(k, op, w, d, size, s.count[d], index[index.size() - rank + d]);
    divisor = divisor * (n.defined() ? n : Expr(w.kernel[d]));
  }
  if (op.given("divisor_override")) divisor = Expr(op.int_attr("divisor_override"));
  const Expr sum = sum_of_taps(k, 0, index, dims);
  if (const int64_t* n = divisor.as_const_int())
    return {sum / loop::constant(t, static_cast<double>(*n))};
  return {sum / cast(divisor, t)};
}

Exprs lower_backward(KernelBuilder& k, const OpView& op, const Exprs& index, size_t rank) {
  const PoolWindows w = pool_windows(op, rank);
  const Sizes s(op.in_type(1), op.in_type(0), rank);
  const DType t = loop::compute_type(op.out_type(0).dtype);
  const bool overridden = op.given("divisor_override");
  double divisor = overridden ? static_cast<double>(op.int_attr("divisor_override")) : 1;
  std::vector<DimTaps> dims;
  for (size_t d = 0; d < rank; ++d) {
    DimTaps taps = windows_over(w, d, s.count[d]);
    const int64_t size = s.size[d], count = s.count[d];
    const bool even = !counted(k, op, w, d, size, count, Expr(0)).defined();
    if (!overridden && even) divisor *= static_cast<double>(w.kernel[d]);
    if (!overridden && !even)
      taps.tap = [=, &op, all = taps.tap](KernelBuilder& kb, const Expr& i, const Expr& number) {
        Tap tap = all(kb, i, number);
        const Expr n = counted(kb, op, w, d, size, count, tap.at);
        tap.weight = loop::constant(t, 1) / cast(n, t);
        return tap;
      };
    dims.push_back(std::move(taps));
  }
  const Expr sum = sum_of_taps(k, 0, index, dims);
  return {divisor == 1 ? sum : sum / loop::constant(t, divisor)};
}

// ---- entries

NamedAttrs pool_attrs(const OpView& op) {
  NamedAttrs attrs;
  for (const char* name : shared_attrs)
    if (op.given(name)) attrs.emplace_back(name, op.attr(name));
  return attrs;
}

struct Options {
  bool ceil_mode = false, include_pad = true;
  int64_t divisor = 0;
};

SampleAttrs call(Ints kernel, Ints stride, Ints padding, Options o = {}) {
  SampleAttrs out = {{"kernel_size", kernel},
                     {"stride", stride},
                     {"padding", padding},
                     {"ceil_mode", o.ceil_mode},
                     {"count_include_pad", o.include_pad}};
  if (o.divisor != 0) out.emplace_back("divisor_override", o.divisor);
  return out;
}

struct Case {
  DType t;
  Ints image, windows;
  SampleAttrs attrs;
};

std::vector<Case> cases_2d() {
  std::vector<Case> out;
  for (DType t : floating_dtypes) {
    out.push_back({t, {2, 2, 5, 4}, {2, 2, 3, 5}, call({3, 2}, {2, 1}, {1, 1}, {true, false})});
    out.push_back({t, {1, 2, 4, 4}, {1, 2, 2, 2}, call({2}, {2}, {0})});
  }
  const auto add = [&](Ints image, Ints windows, SampleAttrs attrs) {
    out.push_back({DType::f32, std::move(image), std::move(windows), std::move(attrs)});
  };
  add({2, 4, 4}, {2, 2, 2}, call({2}, {}, {0}));
  add({1, 1, 2, 2}, {1, 1, 1, 1}, call({2}, {1}, {0}));
  add({1, 1, 5, 5}, {1, 1, 3, 3}, call({2}, {2}, {0}, {true, true}));
  add({1, 1, 5, 5}, {1, 1, 3, 3}, call({2}, {2}, {0}, {true, false}));
  add({1, 1, 6, 7}, {1, 1, 4, 3}, call({3, 3}, {2, 3}, {1, 1}, {true, true}));
  add({1, 1, 6, 7}, {1, 1, 4, 3}, call({3, 3}, {2, 3}, {1, 1}, {true, false}));
  add({1, 1, 6, 7}, {1, 1, 6, 7}, call({3}, {1}, {1}, {false, true}));
  add({1, 1, 6, 7}, {1, 1, 6, 7}, call({3}, {1}, {1}, {false, false}));
  add({1, 1, 6, 7}, {1, 1, 6, 7}, call({3}, {1}, {1}, {false, true, 5}));
  add({1, 1, 5, 5}, {1, 1, 3, 3}, call({2}, {2}, {0}, {true, true, -3}));
  add({1, 1, 8, 9}, {1, 1, 5, 5}, call({7}, {2}, {3}, {true, false}));
  add({1, 1, 8, 9}, {1, 1, 2, 3}, call({7}, {1}, {0}));
  add({1, 1, 7, 7}, {1, 1, 2, 2}, call({2}, {4}, {0}));
  add({1, 2, 1, 5}, {1, 2, 1, 2}, call({1, 3}, {1, 2}, {0, 0}));
  add({1, 1, 1, 1}, {1, 1, 1, 1}, call({1}, {1}, {0}));
  add({0, 2, 4, 4}, {0, 2, 2, 2}, call({2}, {2}, {0}));
  return out;
}

std::vector<Case> cases_3d() {
  std::vector<Case> out;
  for (DType t : floating_dtypes)
    out.push_back({t,
                   {1, 2, 3, 4, 3},
                   {1, 2, 4, 2, 2},
                   call({2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {false, false})});
  const auto add = [&](Ints image, Ints windows, SampleAttrs attrs) {
    out.push_back({DType::f32, std::move(image), std::move(windows), std::move(attrs)});
  };
  add({2, 4, 4, 4}, {2, 2, 2, 2}, call({2}, {}, {0}));
  add({1, 1, 5, 4, 5}, {1, 1, 3, 2, 3}, call({2}, {2}, {0}, {true, true}));
  add({1, 1, 3, 3, 3}, {1, 1, 3, 3, 3}, call({3}, {1}, {1}, {false, true}));
  add({1, 1, 4, 4, 4}, {1, 1, 1, 1, 1}, call({4}, {1}, {0}, {false, true, 2}));
  add({0, 1, 2, 2, 2}, {0, 1, 1, 1, 1}, call({2}, {2}, {0}));
  for (DType t : floating_dtypes)
    out.push_back({t, {2, 3, 4, 5}, {2, 2, 2, 3}, call({2, 3, 2}, {1, 1, 2}, {0, 0, 1}, {})});
  add({1, 1, 5, 4, 5}, {1, 1, 3, 2, 3}, call({2}, {2}, {0}, {true, false}));
  add({1, 1, 3, 3, 3}, {1, 1, 3, 3, 3}, call({3}, {1}, {1}, {false, false}));
  add({1, 1, 3, 3, 3}, {1, 1, 3, 3, 3}, call({3}, {1}, {1}, {false, true, -5}));
  add({1, 2, 4, 3, 5}, {1, 2, 3, 2, 3}, call({2}, {2}, {1}, {true, true}));
  add({1, 2, 4, 3, 5}, {1, 2, 3, 2, 3}, call({2}, {2}, {1}, {true, false}));
  add({1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, call({1}, {1}, {0}));
  add({1, 1, 7, 2, 7}, {1, 1, 2, 1, 2}, call({2}, {4}, {0}));
  add({1, 2, 1, 1, 5}, {1, 2, 1, 1, 2}, call({1, 1, 3}, {1, 1, 2}, {0, 0, 0}));
  add({1, 1, 2, 2, 9}, {1, 1, 2, 2, 3}, call({1, 1, 7}, {1, 1, 3}, {0, 0, 3}, {false, false}));
  add({1, 1, 3, 3, 3}, {1, 1, 2, 2, 2}, call({2}, {1}, {0}, {true, true, 3}));
  add({2, 1, 2, 3, 40}, {2, 1, 1, 1, 20}, call({2, 3, 2}, {}, {0}));
  add({3, 2, 2, 2, 2}, {3, 2, 1, 1, 1}, call({2}, {}, {0}));
  return out;
}

std::vector<Sample> forward_samples(const std::vector<Case>& cases) {
  std::vector<Sample> out;
  for (const Case& c : cases) out.push_back({{any_of(c.t, c.image)}, c.attrs});
  return out;
}

std::vector<Sample> backward_samples(const std::vector<Case>& cases) {
  std::vector<Sample> out;
  for (const Case& c : cases)
    out.push_back({{any_of(c.t, c.windows), any_of(c.t, c.image)}, c.attrs});
  return out;
}

std::vector<Reject> rejects() {
  const SampleTensor x = f32({1, 1, 4, 4});
  return {{"C1",
           {{x}, call({2}, {1, 1, 1}, {0})},
           "avg_pool2d: C1: stride has 3 entries, expected 2 or 1"},
          {"C2",
           {{x}, call({2}, {1}, {2})},
           "avg_pool2d: C2: padding has 2, expected at most 1, half of the window"},
          {"C3",
           {{i64({1, 1, 4, 4})}, call({2}, {1}, {0})},
           "avg_pool2d: C3: self is i64[1,1,4,4], expected a floating dtype"},
          {"C4",
           {{f32({1, 1, 0, 4})}, call({2}, {1}, {1})},
           "avg_pool2d: C4: dim 2 of self: f32[1,1,0,4] is empty, expected at least 1"},
          {"C4",
           {{f32({1, 1, 4, 0})}, call({2}, {1}, {1})},
           "avg_pool2d: C4: dim 3 of self: f32[1,1,4,0] is empty, expected at least 1"},
          {"C5",
           {{x}, call({5}, {1}, {0})},
           "avg_pool2d: C5: a window of 5 with dilation 1 doesn't fit into 4 padded by 0"},
          {"C6",
           {{x}, {{"kernel_size", {2}}, {"divisor_override", 0}}},
           "avg_pool2d: C6: divisor_override is 0, expected another number"}};
}

std::vector<Reject> backward_rejects() {
  const SampleTensor x = f32({1, 1, 4, 4});
  return {{"C7",
           {{f64({1, 1, 2, 2}), x}, call({2}, {2}, {0})},
           "avg_pool2d_backward: C7: grad_output is f64[1,1,2,2], expected the dtype of self: f32"},
          {"C7",
           {{f32({1, 1, 3, 3}), x}, call({2}, {2}, {0})},
           "avg_pool2d_backward: C7: grad_output and the windows of self: [1,1,3,3] and [1,1,2,2], "
           "expected equal shapes"}};
}

std::vector<Reject> rejects_3d() {
  return {{"C1",
           {{f32({1, 4, 4, 4})}, call({2}, {1, 1}, {0})},
           "avg_pool3d: C1: stride has 2 entries, expected 3 or 1"},
          {"C4",
           {{f32({4, 4, 4})}, call({2}, {1}, {0})},
           "avg_pool3d: C4: self is f32[4,4,4], expected rank 4 or 5"}};
}

std::vector<Reject> backward_rejects_3d() {
  return {
      {"C7",
       {{f64({1, 2, 2, 2}), f32({1, 4, 4, 4})}, call({2}, {2}, {0})},
       "avg_pool3d_backward: C7: grad_output is f64[1,2,2,2], expected the dtype of self: f32"}};
}

OpDef forward(size_t rank, std::vector<Case> (*cases)(), Lazy<Rejects> rejects) {
  const std::string name = fmt::format("avg_pool{}d", rank);
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor self, int[{0}] kernel_size, int[{0}] stride=[], int[{0}] "
                               "padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "
                               "divisor_override=None) -> Tensor",
                               rank),
      .summary = "The mean of each window.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [rank](const OpView& op) { return infer(op, rank); },
      .reference = [rank](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[0]->dtype, static_shape(op.out_type(0)));
        std::vector<double> divisors(y.f.size(), 1);
        ReferenceSums sums(y.f.size());
        for_each_term(op, in[0]->shape, y.shape, rank, [&](int64_t o, int64_t i, double divisor) {
          sums[o] += in[0]->f[i];
          divisors[static_cast<size_t>(o)] = divisor;
        });
        for (size_t o = 0; o < divisors.size(); ++o) y.f[o] = sums[o] / divisors[o];
        return Arrays{y};
      },
      .decompose = Absent{"a primitive: sums over windows that overlap"},
      .grad = [name](Builder& b, const GradView& op) -> Values {
        return {b.call1(name + "_backward", {op.dout(0), op.in(0)}, pool_attrs(op))};
      },
      .lower = loop::elementwise([rank](KernelBuilder& k, const OpView& op, const Exprs& index) {
        return lower(k, op, index, rank);
      }),
      .cost =
          [rank](const OpView& op) {
            return Cost{numel_of(pool_windows(op, rank).kernel) * numel_hint(op, op.out_type(0)),
                        bytes_moved(op)};
          },
      .samples = [cases] { return forward_samples(cases()); },
      .rejects = std::move(rejects),
  };
}

OpDef backward(size_t rank, std::vector<Case> (*cases)(), Lazy<Rejects> rejects) {
  const std::string forward = fmt::format("avg_pool{}d", rank), name = forward + "_backward";
  return OpDef{
      .name = name,
      .signature =
          fmt::format("(Tensor grad_output, Tensor self, int[{0}] kernel_size, int[{0}] stride, "
                      "int[{0}] padding, bool ceil_mode, bool count_include_pad, int? "
                      "divisor_override) -> Tensor",
                      rank),
      .summary = "The gradient of a pooling by means.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [rank](const OpView& op) { return infer_backward(op, rank); },
      .reference = [rank](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[1]->dtype, in[1]->shape);
        for_each_term(op, y.shape, in[0]->shape, rank, [&](int64_t o, int64_t i, double divisor) {
          y.f[i] += in[0]->f[o] / divisor;
        });
        return Arrays{y};
      },
      .decompose = Absent{"a primitive: sums over the windows that see an element"},
      .grad = [forward](Builder& b, const GradView& op) -> Values {
        Values d = op.no_grads();
        if (op.needs(0)) d[0] = b.call1(forward, {op.dout(0)}, pool_attrs(op));
        return d;
      },
      .lower = loop::elementwise([rank](KernelBuilder& k, const OpView& op, const Exprs& index) {
        return lower_backward(k, op, index, rank);
      }),
      .cost =
          [rank](const OpView& op) {
            return Cost{numel_of(pool_windows(op, rank).kernel) * numel_hint(op, op.in_type(0)),
                        bytes_moved(op)};
          },
      .samples = [cases] { return backward_samples(cases()); },
      .rejects = std::move(rejects),
  };
}

}  // namespace

CLEAVE_OPS(avg_pool) {
  return {forward(2, cases_2d, rejects), backward(2, cases_2d, backward_rejects),
          forward(3, cases_3d, rejects_3d), backward(3, cases_3d, backward_rejects_3d)};
}

}  // namespace cleave
