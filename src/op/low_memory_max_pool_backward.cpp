// _low_memory_max_pool_backward(grad_output, offsets; input_size, kernel_size, stride, padding,
//                               dilation, ceil_mode) -> dself
//   The gradient of _low_memory_max_pool_with_offsets:
//   dself[i] = sum of grad_output over the windows that contain i at their offset. Another number
//   than those of elements that lie within the image stands for none.
//   (C1, C2) pool.h   (C3) grad_output is floating
//   (C4) it has one or two dims more than are pooled
//   (C5) its pooled dims are the windows of input_size, the pooled dims of self
//   (C6) a window has at most 127 elements   (C7) offsets are i8, of grad_output's shape
// Source: max_pool2d_with_indices_backward of torch/_inductor/lowering.py, PyTorch 2.13.
#include "op/kernel_loops.h"
#include "op/pool_offsets.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

namespace {

Result<Types> infer_backward(const OpView& op) {
  CLEAVE_CHECK(check_window(op));
  const size_t rank = pooled_rank(op);
  const Type &g = op.in_type(0), &offsets = op.in_type(1);
  CLEAVE_CHECK(check_floating(op, "C3", 0));
  CLEAVE_CHECK(check_pool_windows(op, rank));
  CLEAVE_CHECK(check_offsets(op));
  const auto lead = g.rank() - static_cast<int64_t>(rank);
  if (lead != 1 && lead != 2)
    return op.broken("C4", "grad_output is {}, expected rank {} or {}", g.text(), rank + 1,
                     rank + 2);
  const std::vector<Dim> size = op.dims_attr("input_size");
  if (size.size() != rank)
    return op.broken("C5", "input_size has {} entries, expected {}", size.size(), rank);
  const PoolWindows w = pool_windows(op, rank);
  Shape shape(g.shape.begin(), g.shape.begin() + lead), windows = shape;
  for (size_t d = 0; d < rank; ++d) {
    shape.push_back(size[d]);
    windows.push_back(w.count(size[d], d));
  }
  CLEAVE_CHECK(
      check_same_shape(op, "C5", "grad_output and the windows of input_size", g.shape, windows));
  if (offsets.dtype != DType::i8)
    return op.broken("C7", "offsets are {}, expected i8", offsets.text());
  CLEAVE_CHECK(check_same_shape(op, "C7", "offsets and grad_output", offsets.shape, g.shape));
  return Types{typed_like(g, g.dtype, std::move(shape))};
}

Result<Arrays> reference_backward(const OpView& op, std::span<const Array* const> in) {
  const size_t rank = pooled_rank(op);
  const Array &g = *in[0], &offsets = *in[1];
  Array dx(g.dtype, static_shape(op.out_type(0)));
  const Ints size = pooled_part(dx.shape, rank);
  const PoolEntries given(op, rank);
  int64_t k = 0;
  for_each_position(g.shape, rank, [&](int64_t plane, const Ints& window) {
    int64_t rest = offsets.i[k];
    Ints tap(rank, 0);
    for (size_t d = rank; d-- > 0; rest /= given.kernel[d]) tap[d] = rest % given.kernel[d];
    const int64_t p = offsets.i[k] < 0 || rest > 0 ? -1 : position_of_tap(given, size, window, tap);
    if (p >= 0) dx.f[plane * numel_of(size) + p] += g.f[k];
    ++k;
  });
  return Arrays{dx};
}

// Each element of the result looks at the windows that may contain it.
Expr element_of(KernelBuilder& k, const OpView& op, const Exprs& index) {
  const size_t rank = pooled_rank(op);
  const PoolWindows w = pool_windows(op, rank);
  const Ints count = pooled_part(static_shape(op.in_type(0)), rank);
  const Exprs own(index.end() - static_cast<std::ptrdiff_t>(rank), index.end());
  const Expr zero = loop::constant(loop::compute_type(op.in_type(0).dtype), 0);
  // By dim the windows: each with the element's number within it.
  struct Seen {
    Expr at, number, inside;
  };
  std::vector<DimTaps> dims;
  Ints counts;
  for (size_t d = 0; d < rank; ++d) {
    dims.push_back(windows_that_contain(w, d, count[d]));
    counts.push_back(dims[d].count);
  }
  const auto seen_at = [&](size_t d, const Expr& t) {
    const Tap tap = dims[d].tap(k, own[d], t);
    const Expr at = k.let(tap.at, "at");
    const Expr off = own[d] + Expr(w.padding[d]) - at * Expr(w.stride[d]);
    return Seen{at, w.kernel[d] == 1 ? Expr(0) : k.let(quotient(off, w.dilation[d]), "number"),
                tap.inside.defined() ? k.let(tap.inside, "inside") : tap.inside};
  };
  std::vector<std::vector<Seen>> seen(rank);
  for (size_t d = 0; d < rank; ++d)
    for (int64_t t = 0; t < counts[d]; ++t) seen[d].push_back(seen_at(d, Expr(t)));
  Expr sum;
  Ints t(rank, 0);
  do {
    Exprs at = lead_part(index, rank);
    Expr number(0), inside;
    for (size_t d = 0; d < rank; ++d) {
      const Seen& s = seen[d][static_cast<size_t>(t[d])];
      at.push_back(s.at);
      number = number * Expr(w.kernel[d]) + s.number;
      inside = both_hold(inside, s.inside);
    }
    const Expr offset = k.let(k.load(1, at), "offset"), g = k.let(k.load(0, at), "g");
    const Expr is_own = binary(loop::Op::eq, offset, loop::cast(number, offset.type()));
    const Expr x = select(both_hold(inside, is_own), g, zero);
    sum = k.let(sum.defined() ? sum + x : x, "sum");
  } while (next_index(t, counts));
  return sum;
}

// A kernel of its own: fused with a fold of columns, threads hold the reads of all windows
// (decision 045).
void lower_backward(KernelBuilder& k, const OpView& op) {
  const Ints shape = static_shape(op.out_type(0));
  if (numel_of(shape) == 0) return;
  for_each_element(k, shape, [&](const Exprs& i) { k.store(0, i, element_of(k, op, i)); });
}

int64_t windows_of_element(const OpView& op) {
  const PoolWindows w = pool_windows(op, pooled_rank(op));
  int64_t out = 1;
  for (size_t d = 0; d < w.rank(); ++d)
    out *= w.dilation[d] == 1 ? (w.kernel[d] + w.stride[d] - 1) / w.stride[d] : w.kernel[d];
  return out;
}

SampleAttrs with_input(SampleAttrs attrs, const Ints& size) {
  attrs.emplace_back("input_size", size);
  return attrs;
}

Samples backward_samples() {
  Samples out;
  const auto add = [&](DType t, const PoolCase& c) {
    const size_t rank = c.windows.rank(), lead = c.image.size() - rank;
    Ints windows(c.image.begin(), c.image.begin() + static_cast<std::ptrdiff_t>(lead));
    for (size_t d = 0; d < rank; ++d)
      windows.push_back(c.windows.count(Dim(c.image[lead + d]), d).value());
    std::vector<double> offsets;  // all of a window's, and some that are none
    for (int64_t k = 0; k < numel_of(windows); ++k)
      offsets.push_back(static_cast<double>(k % (numel_of(c.windows.kernel) + 2) - 1));
    out.push_back({{any_of(t, windows), any_of(DType::i8, windows).with(offsets)},
                   with_input(pool_call(c.windows), pooled_part(c.image, rank))});
  };
  for (const PoolCase& c : pool_cases()) add(DType::f32, c);
  for (DType t : {DType::f64, DType::bf16, DType::f16}) add(t, pool_cases()[0]);
  return out;
}

Rejects backward_rejects() {
  const std::string name = "_low_memory_max_pool_backward: ";
  const SampleTensor g = f32({1, 1, 2, 2}), o = any_of(DType::i8, {1, 1, 2, 2});
  const SampleAttrs two = max_pool_call({2, 2}, {2, 2}, {0, 0}, {1, 1}, false);
  return {{"C5", {{g, o}, with_input(two, {4})}, name + "C5: input_size has 1 entries, expected 2"},
          {"C5",
           {{g, o}, with_input(two, {4, 6})},
           name + "C5: grad_output and the windows of input_size: [1,1,2,2] and [1,1,2,3], "
                  "expected equal shapes"},
          {"C7",
           {{g, i64({1, 1, 2, 2})}, with_input(two, {4, 4})},
           name + "C7: offsets are i64[1,1,2,2], expected i8"},
          {"C7",
           {{g, any_of(DType::i8, {1, 1, 2, 3})}, with_input(two, {4, 4})},
           name + "C7: offsets and grad_output: [1,1,2,3] and [1,1,2,2], expected equal shapes"},
          {"C6",
           {{g, o}, with_input(max_pool_call({12, 11}, {2, 2}, {0, 0}, {1, 1}, false), {4, 4})},
           name + "C6: a window has more than 127 elements"}};
}

OpDef backward() {
  return OpDef{
      .name = "_low_memory_max_pool_backward",
      .signature =
          "(Tensor grad_output, Tensor offsets, SymInt[] input_size, int[] kernel_size, "
          "int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor",
      .summary = "The gradient of a pooling by maxima whose places are known within their windows.",
      .source = "max_pool2d_with_indices_backward of torch/_inductor/lowering.py, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer_backward,
      .reference = reference_backward,
      .decompose = Absent{"a primitive: a sum over windows that is chosen by offsets"},
      .grad = Absent{"calls are made after the gradient"},
      .lower = loop::kernel(lower_backward),
      .cost =
          [](const OpView& op) {
            return Cost{4 * windows_of_element(op) * numel_hint(op, op.out_type(0)),
                        bytes_moved(op)};
          },
      .samples = backward_samples,
      .rejects = backward_rejects,
  };
}

}  // namespace

CLEAVE_OPS(low_memory_max_pool_backward) { return {backward()}; }

}  // namespace cleave
