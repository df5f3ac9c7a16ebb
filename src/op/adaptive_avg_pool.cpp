// _adaptive_avg_pool2d(self; output_size) -> y
//   y[o] = mean of self over [floor(o size / out), ceil((o+1) size / out)) in each of the last dims
// _adaptive_avg_pool2d_backward(grad_output, self) -> dself
//   dself[i] = sum of grad_output[o] / elements of o's window, over the windows that contain i
// _adaptive_avg_pool3d and its backward: the same over three dims.
//   (C1) output_size has one entry for each pooled dim, or one for all, none below 0
//   (C2) self is floating; in the backward grad_output has its dtype
//   (C3) self has one or two dims more than are pooled; only the first of two may be empty
//   (C4) in the backward: grad_output has the dims of self that are not pooled
// Source: ATen/native/AdaptiveAveragePooling.cpp, PyTorch 2.13.
#include <cmath>

#include "op/pool.h"
#include "op/reference_sum.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

Status check_input(const OpView& op, int input, size_t rank) {
  const Type& x = op.in_type(input);
  CLEAVE_CHECK(check_floating(op, "C2", input));
  const int64_t lead = x.rank() - static_cast<int64_t>(rank);
  if (lead != 1 && lead != 2)
    return op.broken("C3", "self is {}, expected rank {} or {}", x.text(), rank + 1, rank + 2);
  for (int64_t d = lead - 1; d < x.rank(); ++d)
    if (op.env().range_of(x.shape[d]).hi < 1)
      return op.broken("C3", "dim {} of self: {} is empty, expected at least 1", d, x.text());
  return {};
}

Result<Types> infer(const OpView& op, size_t rank) {
  CLEAVE_CHECK(check_input(op, 0, rank));
  const Type& x = op.in_type(0);
  Shape out = op.dims_attr("output_size");
  if (out.size() == 1) out.resize(rank, out.front());
  if (out.size() != rank)
    return op.broken("C1", "output_size has {} entries, expected {} or 1", out.size(), rank);
  for (const Dim& d : out)
    if (op.env().range_of(d).lo < 0)
      return op.broken("C1", "output_size has {}, expected at least 0", d.text());
  Shape shape(x.shape.begin(), x.shape.end() - static_cast<std::ptrdiff_t>(rank));
  shape.insert(shape.end(), out.begin(), out.end());
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Types> infer_backward(const OpView& op, size_t rank) {
  CLEAVE_CHECK(check_input(op, 1, rank));
  const Type &g = op.in_type(0), &x = op.in_type(1);
  CLEAVE_CHECK(check_same_dtype(op, "C2", 0, 1));
  if (g.rank() != x.rank())
    return op.broken("C4", "grad_output is {}, expected the rank of self: {}", g.text(), x.text());
  const auto lead = x.rank() - static_cast<int64_t>(rank);
  CLEAVE_CHECK(check_same_shape(op, "C4", "the first dims of grad_output and self",
                                Shape(g.shape.begin(), g.shape.begin() + lead),
                                Shape(x.shape.begin(), x.shape.begin() + lead)));
  return Types{typed_like(x, x.dtype, x.shape)};
}

// Calls f(result, element of the image, elements of the window) for every term, by plain loops.
template <class F>
void for_each_term(const Ints& image, const Ints& results, size_t rank, F f) {
  const Ints size(image.end() - static_cast<std::ptrdiff_t>(rank), image.end()),
      out(results.end() - static_cast<std::ptrdiff_t>(rank), results.end());
  int64_t number = 0;
  for_each_position(results, rank, [&](int64_t plane, const Ints& window) {
    Ints begin, count;
    for (size_t d = 0; d < rank; ++d) {
      const auto n = static_cast<double>(size[d]), m = static_cast<double>(out[d]),
                 o = static_cast<double>(window[d]);
      begin.push_back(static_cast<int64_t>(std::floor(o * n / m)));
      count.push_back(static_cast<int64_t>(std::ceil((o + 1) * n / m)) - begin.back());
    }
    Ints at(rank, 0);
    do {
      int64_t p = plane;
      for (size_t d = 0; d < rank; ++d) p = p * size[d] + begin[d] + at[d];
      f(number, p, static_cast<double>(numel_of(count)));
    } while (next_index(at, count));
    ++number;
  });
}

// ---- loops

// One pooled dim: maps `size` elements to `out` windows.
struct Windows1d {
  int64_t size, out;
  int64_t begin(int64_t o) const { return o * size / out; }
  int64_t end(int64_t o) const { return ((o + 1) * size + out - 1) / out; }
  Expr begin(const Expr& o) const { return quotient(o * Expr(size), out); }
  Expr end(const Expr& o) const { return quotient_up((o + Expr(1)) * Expr(size), out); }
  bool even() const { return out > 0 && size % out == 0; }
  int64_t longest() const {
    int64_t n = 0;
    for (int64_t o = 0; o < out; ++o) n = std::max(n, end(o) - begin(o));
    return n;
  }
  // The maximum number of windows that contain one element.
  int64_t max_over() const {
    int64_t n = 0;
    for (int64_t i = 0; i < size && out > 0; ++i)
      n = std::max(n, ((i + 1) * out + size - 1) / size - i * out / size);
    return n;
  }
};

std::vector<Windows1d> windows_of(const Type& image, const Type& results, size_t rank) {
  const Ints i = static_shape(image), o = static_shape(results);
  std::vector<Windows1d> out;
  for (size_t d = 0; d < rank; ++d) out.push_back({i[i.size() - rank + d], o[o.size() - rank + d]});
  return out;
}

Exprs lower(KernelBuilder& k, const OpView& op, const Exprs& index, size_t rank) {
  const DType t = loop::compute_type(op.out_type(0).dtype);
  std::vector<DimTaps> dims;
  Expr divisor(1);
  for (const Windows1d& w : windows_of(op.in_type(0), op.out_type(0), rank)) {
    if (w.out == 0) return {loop::constant(t, 0)};
    const Expr& o = index[index.size() - rank + dims.size()];
    dims.push_back({w.longest(), [w](KernelBuilder&, const Expr& at, const Expr& tap) {
                      const Expr i = w.begin(at) + tap;
                      if (w.even()) return Tap{i, {}, {}};
                      return Tap{
                          at_most(i, Expr(w.size - 1)), {}, binary(loop::Op::lt, i, w.end(at))};
                    }});
    divisor = divisor * (w.even() ? Expr(w.size / w.out) : k.let(w.end(o) - w.begin(o), "count"));
  }
  const Expr sum = sum_of_taps(k, 0, index, dims);
  if (const int64_t* n = divisor.as_const_int())
    return {sum / loop::constant(t, static_cast<double>(*n))};
  return {sum / cast(divisor, t)};
}

Exprs lower_backward(KernelBuilder& k, const OpView& op, const Exprs& index, size_t rank) {
  const DType t = loop::compute_type(op.out_type(0).dtype);
  int64_t divisor = 1;
  std::vector<DimTaps> dims;
  for (const Windows1d& w : windows_of(op.in_type(1), op.in_type(0), rank)) {
    if (w.even()) divisor *= w.size / w.out;
    dims.push_back({w.max_over(), [w, t](KernelBuilder& kb, const Expr& i, const Expr& tap) {
                      const Expr o = quotient(i * Expr(w.out), w.size) + tap;
                      if (w.even()) return Tap{o, {}, {}};
                      const Expr at = kb.let(at_most(o, Expr(w.out - 1)), "o");
                      const Expr begin = kb.let(w.begin(at), "begin"),
                                 end = kb.let(w.end(at), "end");
                      const Expr sees =
                          both_hold(binary(loop::Op::le, begin, i), binary(loop::Op::lt, i, end));
                      return Tap{at, loop::constant(t, 1) / cast(end - begin, t),
                                 both_hold(binary(loop::Op::lt, o, Expr(w.out)), sees)};
                    }});
  }
  const Expr sum = sum_of_taps(k, 0, index, dims);
  return {divisor == 1 ? sum : sum / loop::constant(t, static_cast<double>(divisor))};
}

// ---- entries

struct Case {
  DType t;
  Ints image, out;
};

std::vector<Case> cases_2d() {
  std::vector<Case> all;
  for (DType t : floating_dtypes) {
    all.push_back({t, {2, 2, 5, 4}, {3, 3}});
    all.push_back({t, {2, 3, 4, 6}, {2, 2}});
    all.push_back({t, {1, 2, 7, 7}, {1, 1}});
  }
  for (const auto& [image, out] : std::vector<std::pair<Ints, Ints>>{{{2, 4, 4}, {2, 2}},
                                                                     {{1, 1, 2, 2}, {1, 1}},
                                                                     {{1, 1, 3, 2}, {2, 1}},
                                                                     {{1, 2, 2, 3}, {4, 5}},
                                                                     {{1, 1, 10, 9}, {3, 7}},
                                                                     {{1, 1, 13, 11}, {2, 3}},
                                                                     {{1, 1, 4, 4}, {4, 4}},
                                                                     {{1, 1, 1, 1}, {3, 2}},
                                                                     {{0, 2, 4, 4}, {2, 2}},
                                                                     {{1, 1, 3, 3}, {0, 2}},
                                                                     {{1, 1, 20, 20}, {1, 1}},
                                                                     {{1, 1, 19, 5}, {2, 5}},
                                                                     {{1, 3, 5}, {1, 2}}})
    all.push_back({DType::f32, image, out});
  return all;
}

std::vector<Case> cases_3d() {
  std::vector<Case> all;
  for (DType t : floating_dtypes) all.push_back({t, {1, 2, 3, 4, 5}, {2, 2, 3}});
  all.push_back({DType::f32, {1, 2, 4, 4, 2}, {2, 2, 2}});
  all.push_back({DType::f32, {2, 3, 3, 3}, {1, 1, 1}});
  for (DType t : floating_dtypes) all.push_back({t, {2, 3, 4, 3}, {2, 3, 2}});
  for (const auto& [image, out] : std::vector<std::pair<Ints, Ints>>{{{1, 1, 2, 2, 2}, {3, 2, 1}},
                                                                     {{1, 1, 4, 4, 4}, {1, 1, 1}},
                                                                     {{1, 1, 5, 7, 3}, {2, 3, 2}},
                                                                     {{1, 1, 3, 3, 3}, {3, 3, 3}},
                                                                     {{1, 1, 1, 1, 1}, {2, 3, 2}},
                                                                     {{1, 2, 7, 1, 5}, {3, 1, 2}},
                                                                     {{1, 1, 2, 3, 11}, {1, 2, 4}},
                                                                     {{2, 1, 6, 2, 2}, {4, 1, 2}},
                                                                     {{1, 1, 8, 8, 8}, {1, 2, 1}},
                                                                     {{3, 1, 2, 2, 2}, {1, 1, 2}},
                                                                     {{0, 2, 4, 4, 4}, {2, 2, 2}},
                                                                     {{1, 1, 3, 3, 3}, {0, 2, 1}},
                                                                     {{1, 3, 4, 5}, {2, 2, 5}},
                                                                     {{1, 1, 2, 2, 40}, {1, 1, 3}},
                                                                     {{2, 2, 2, 2, 2}, {5, 4, 3}}})
    all.push_back({DType::f32, image, out});
  return all;
}

std::vector<Sample> forward_samples(const std::vector<Case>& cases) {
  std::vector<Sample> out;
  for (const Case& c : cases) out.push_back({{any_of(c.t, c.image)}, {{"output_size", c.out}}});
  return out;
}

std::vector<Sample> backward_samples(const std::vector<Case>& cases) {
  std::vector<Sample> out;
  for (const Case& c : cases) {
    Ints g(c.image.begin(), c.image.end() - std::ssize(c.out));
    g.insert(g.end(), c.out.begin(), c.out.end());
    out.push_back({{any_of(c.t, g), any_of(c.t, c.image)}, {}});
  }
  return out;
}

std::vector<Reject> rejects() {
  return {{"C1",
           {{f32({1, 2, 4, 4})}, {{"output_size", {1, 2, 3}}}},
           "_adaptive_avg_pool2d: C1: output_size has 3 entries, expected 2 or 1"},
          {"C1",
           {{f32({1, 2, 4, 4})}, {{"output_size", {-1, 2}}}},
           "_adaptive_avg_pool2d: C1: output_size has -1, expected at least 0"},
          {"C2",
           {{i64({1, 2, 4, 4})}, {{"output_size", {1, 1}}}},
           "_adaptive_avg_pool2d: C2: self is i64[1,2,4,4], expected a floating dtype"},
          {"C3",
           {{f32({4, 4})}, {{"output_size", {1, 1}}}},
           "_adaptive_avg_pool2d: C3: self is f32[4,4], expected rank 3 or 4"},
          {"C3",
           {{f32({1, 2, 4, 0})}, {{"output_size", {1, 1}}}},
           "_adaptive_avg_pool2d: C3: dim 3 of self: f32[1,2,4,0] is empty, expected at least 1"}};
}

std::vector<Reject> backward_rejects() {
  return {{"C2",
           {{f64({1, 2, 1, 1}), f32({1, 2, 4, 4})}},
           "_adaptive_avg_pool2d_backward: C2: grad_output is f64[1,2,1,1], expected the dtype of "
           "self: f32"},
          {"C4",
           {{f32({2, 1, 1}), f32({1, 2, 4, 4})}},
           "_adaptive_avg_pool2d_backward: C4: grad_output is f32[2,1,1], expected the rank of "
           "self: f32[1,2,4,4]"},
          {"C4",
           {{f32({1, 3, 1, 1}), f32({1, 2, 4, 4})}},
           "_adaptive_avg_pool2d_backward: C4: the first dims of grad_output and self: [1,3] and "
           "[1,2], expected equal shapes"}};
}

std::vector<Reject> rejects_3d() {
  return {{"C1",
           {{f32({1, 4, 4, 4})}, {{"output_size", {1, 2}}}},
           "_adaptive_avg_pool3d: C1: output_size has 2 entries, expected 3 or 1"},
          {"C3",
           {{f32({4, 4, 4})}, {{"output_size", {1, 1, 1}}}},
           "_adaptive_avg_pool3d: C3: self is f32[4,4,4], expected rank 4 or 5"}};
}

std::vector<Reject> backward_rejects_3d() {
  return {{"C4",
           {{f32({3, 1, 1, 1}), f32({2, 4, 4, 4})}},
           "_adaptive_avg_pool3d_backward: C4: the first dims of grad_output and self: [3] and "
           "[2], expected equal shapes"}};
}

OpDef forward(size_t rank, std::vector<Case> (*cases)(), Lazy<Rejects> rejects) {
  const std::string name = fmt::format("_adaptive_avg_pool{}d", rank);
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor self, SymInt[{}] output_size) -> Tensor", rank),
      .summary = "Means over windows that divide the input evenly into so many.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [rank](const OpView& op) { return infer(op, rank); },
      .reference = [rank](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[0]->dtype, static_shape(op.out_type(0)));
        std::vector<double> counts(y.f.size(), 1);
        ReferenceSums sums(y.f.size());
        for_each_term(in[0]->shape, y.shape, rank, [&](int64_t o, int64_t i, double count) {
          sums[o] += in[0]->f[i];
          counts[static_cast<size_t>(o)] = count;
        });
        for (size_t o = 0; o < counts.size(); ++o) y.f[o] = sums[o] / counts[o];
        return Arrays{y};
      },
      .decompose = Absent{"a primitive: sums over windows of several sizes"},
      .grad = [name](Builder& b, const GradView& op) -> Values {
        return {b.call1(name + "_backward", {op.dout(0), op.in(0)})};
      },
      .lower = loop::elementwise([rank](KernelBuilder& k, const OpView& op, const Exprs& index) {
        return lower(k, op, index, rank);
      }),
      .cost = cost_per_operand(1),
      .samples = [cases] { return forward_samples(cases()); },
      .rejects = std::move(rejects),
  };
}

OpDef backward(size_t rank, std::vector<Case> (*cases)(), Lazy<Rejects> rejects) {
  const std::string forward = fmt::format("_adaptive_avg_pool{}d", rank),
                    name = forward + "_backward";
  return OpDef{
      .name = name,
      .signature = "(Tensor grad_output, Tensor self) -> Tensor",
      .summary = "The gradient of an adaptive pooling by means.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [rank](const OpView& op) { return infer_backward(op, rank); },
      .reference = [rank](const OpView&, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[1]->dtype, in[1]->shape);
        for_each_term(y.shape, in[0]->shape, rank,
                      [&](int64_t o, int64_t i, double count) { y.f[i] += in[0]->f[o] / count; });
        return Arrays{y};
      },
      .decompose = Absent{"a primitive: sums over the windows that see an element"},
      .grad = [forward, rank](Builder& b, const GradView& op) -> Values {
        Values d = op.no_grads();
        const Shape& g = op.in_type(0).shape;
        const Shape out(g.end() - static_cast<std::ptrdiff_t>(rank), g.end());
        if (op.needs(0)) d[0] = b.call1(forward, {op.dout(0)}, {{"output_size", out}});
        return d;
      },
      .lower = loop::elementwise([rank](KernelBuilder& k, const OpView& op, const Exprs& index) {
        return lower_backward(k, op, index, rank);
      }),
      .cost = cost_per_result(1),
      .samples = [cases] { return backward_samples(cases()); },
      .rejects = std::move(rejects),
  };
}

}  // namespace

CLEAVE_OPS(adaptive_avg_pool) {
  return {forward(2, cases_2d, rejects), backward(2, cases_2d, backward_rejects),
          forward(3, cases_3d, rejects_3d), backward(3, cases_3d, backward_rejects_3d)};
}

}  // namespace cleave
