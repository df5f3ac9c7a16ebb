// cumprod_backward(grad, input; dim) -> dx
//
//   dx_j = sum over i >= j of  grad_i * (product over k <= i, k != j of x_k)
//        = before_j * after_j
//   before_j = product over k < j of x_k         after_j = grad_j + x_{j+1} * after_{j+1}
//
// One pass from each end and no division: zeros and products that underflow don't destroy the
// gradients of other elements. A product with a factor 0 is 0, whatever its other factors: elements
// after the first 0 have no gradient, even where an after_j has overflowed. The kernel's products
// are in f64, and before_j stays f64 until it is multiplied: a gradient may be in the range of f16
// where before_j isn't.
//
//   (C1) dim in range; a 0-d tensor counts as one dim
//   (C2) input is floating and grad has its type
// ATen's operator has the result of cumprod as a last operand and divides by input where it can.
//
// The gradients of grad and input are built from the products themselves, a matrix of size^2 for
// each line, as ATen's second derivatives are.
#include "op/cost.h"
#include "op/line_kernel.h"
#include "op/reduction.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

enum Operand { at_grad, at_input };

Result<Types> infer(const OpView& op) {
  const Type &g = op.in_type(at_grad), &x = op.in_type(at_input);
  CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim"), x, Rank0::as_one, "input"));
  CLEAVE_CHECK(check_floating(op, "C2", at_input));
  CLEAVE_CHECK(check_same_dtype(op, "C2", at_grad, at_input));
  CLEAVE_CHECK(check_same_shape(op, "C2", "grad and input", g.shape, x.shape));
  return Types{typed_like(x, x.dtype, x.shape)};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &g = *in[at_grad], &x = *in[at_input];
  Array dx(x.dtype, x.shape);
  for_each_line(x.shape, folded_dim(op.int_attr("dim"), x.rank()),
                [&](int64_t, const std::vector<int64_t>& line) {
                  std::vector<double> before = {1};
                  for (const int64_t at : line)
                    before.push_back(x.f[at] == 0 ? 0 : before.back() * x.f[at]);
                  double later = 0;
                  for (size_t j = line.size(); j-- > 0;) {
                    const int64_t at = line[j];
                    const double after = g.f[at] + later;
                    dx.set(at, before[j] == 0 ? 0 : before[j] * after);
                    later = x.f[at] == 0 ? 0 : x.f[at] * after;
                  }
                });
  return Arrays{dx};
}

void lower(loop::KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t> shape = static_shape(op.in_type(at_input));
  std::vector<int64_t> dims;
  if (!shape.empty()) dims = {from_front(op.int_attr("dim"), std::ssize(shape))};
  const Expr zero = loop::constant(DType::f64, 0);
  const auto times = [&](const Expr& factor, const Expr& y) {
    return select(binary(loop::Op::eq, factor, zero), zero, factor * y);
  };
  const auto loaded = [&](int operand, const Exprs& i) {
    return k.let(cast(k.load(operand, i), DType::f64));
  };
  // The result that holds before_j.
  const int kept = op.in_type(at_input).dtype == DType::f64 ? 0 : k.scratch(DType::f64, shape);
  for_each_line_in(k, shape, dims, [&](const Line& line) {
    const Expr before = k.define(loop::constant(DType::f64, 1), "before");
    line.each(k, [&](const Exprs& i) {
      k.store(kept, i, before);
      k.assign(before, times(loaded(at_input, i), before));
    });
    const Expr later = k.define(zero, "later");
    line.each(k, [&](const Exprs& i) {
      Exprs at = i;
      for (const int64_t d : dims) at[d] = Expr(shape[d] - 1) - i[d];
      const Expr after = k.let(loaded(at_grad, at) + later, "after");
      k.store(0, at, times(k.let(k.load_result(kept, at)), after));
      k.assign(later, times(loaded(at_input, at), after));
    });
  });
}

// Row j of `without` is the line with x_j as 1, so that products[j, i] is grad_i's factor in dx_j
// where i >= j.
Values grad(Builder& b, const GradView& op) {
  const Type& x = op.in_type(at_input);
  const DType w = wide(x.dtype);
  const ValueId u = b.convert(op.dout(0), w), g = b.convert(op.in(at_grad), w),
                v = b.convert(op.in(at_input), w);
  if (x.rank() == 0) return {op.dout(0), zeros(b, x)};
  const int64_t rank = x.rank(), dim = from_front(op.int_attr("dim"), rank);
  const auto last = [&](ValueId a) {
    return b.call1("transpose", {a}, {{"dim0", dim}, {"dim1", rank - 1}});
  };
  const auto across = [&](ValueId a) { return b.unsqueeze(last(a), rank - 1); };  // [.., 1, i]
  const Dim size = x.shape[static_cast<size_t>(dim)];
  const ValueId i = b.call1("arange", {}, {{"end", size}, {"dtype", DType::i64}});
  const ValueId j = b.view(i, Shape{size, 1});
  const auto number = [&](double value) { return b.full({}, value, w); };
  const ValueId counts = b.call1("ge", {i, j}), own = b.call1("eq", {i, j});
  const ValueId without = b.call1("where", {own, number(1), across(v)});
  const ValueId products = b.call1("cumprod", {without}, {{"dim", rank}});
  const ValueId down = b.unsqueeze(last(u), rank);  // [.., j, 1]
  const ValueId dproducts = b.call1("where", {counts, b.mul(down, across(g)), number(0)});
  const ValueId dwithout = b.call1("cumprod_backward", {dproducts, without}, {{"dim", rank}});
  const auto over_rows = [&](ValueId a) {
    return b.convert(last(b.sum(a, {rank - 1}, false)), x.dtype);
  };
  return {over_rows(b.call1("where", {counts, b.mul(down, products), number(0)})),
          over_rows(b.call1("where", {own, number(0), dwithout}))};
}

Sample call(const SampleTensor& x, int64_t dim) {
  SampleTensor g = sample(x.type.dtype, {});
  g.type.shape = x.type.shape;
  return {{g, x}, {{"dim", dim}}};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const DType t : floating_dtypes) out.push_back(call(sample(t, {3, 4}), 1));
  for (const DType t : floating_dtypes) out.push_back(call(sample(t, {3, 4}), 0));
  const std::vector<Sample> more = {
      call(f32({2, 3, 2}), -2),
      call(f32({3, 20}).range(0.8, 1.2), 1),
      call(f32({20, 70}).range(0.8, 1.2), 0),
      call(f64({5}).with({2, 0, -3, 0.5, 1}), 0),
      call(f64({5}).with({2, 0, -3, 0, 1}), 0),
      call(f64({4}).with({0, 0, 0, 0}), 0),
      call(f64({2, 3}).with({0, 2, 3, 2, 3, 0}), 1),
      call(f64({4}).with({1e-200, 1e-200, 1e200, 2}), 0),
      call(f64({4}).with({1e-200, 1e-200, 0, 1e200}), 0),
      call(f32({3}).with({NAN, 0, INFINITY}), 0),
      {{f32({3}).with({1, 1, 1e-20}), f32({3}).with({1e25, 1e25, 1e-9})}, {{"dim", 0}}},
      call(f32({}), -1),
      call(f32({0, 2}), 0),
      call(f32({2, 0}), 0),
      call(f32({2, 1}), 1)};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace

CLEAVE_OPS(cumprod_backward) {
  return {OpDef{
      .name = "cumprod_backward",
      .signature = "(Tensor grad, Tensor input, int dim) -> Tensor",
      .summary = "The gradient of cumprod: for each element, that of the products without it.",
      .source = "aten::cumprod_backward, PyTorch 2.13, without its last operand",
      .traits = Trait::reduction | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive: each element depends on those before and after it"},
      .grad = grad,
      .lower = loop::kernel(lower),
      .cost = cost_per_result(4),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3}), f32({2, 3})}, {{"dim", 2}}},
                 "cumprod_backward: C1: dim 2 is outside [-2, 2) of input: f32[2,3]"},
                {"C2",
                 {{i64({3}), i64({3})}, {{"dim", 0}}},
                 "cumprod_backward: C2: input is i64[3], expected a floating dtype"},
                {"C2",
                 {{f64({3}), f32({3})}, {{"dim", 0}}},
                 "cumprod_backward: C2: grad is f64[3], expected the dtype of input: f32"},
                {"C2",
                 {{f32({4}), f32({3})}, {{"dim", 0}}},
                 "cumprod_backward: C2: grad and input: [4] and [3], expected equal shapes"}};
      },
  }};
}

}  // namespace cleave
