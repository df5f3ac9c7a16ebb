// cumsum(self; dim, dtype) -> y      y[..., i, ...] = sum over k <= i of x[..., k, ...]
//
//   (C1) dim in range; a 0-d tensor counts as one dim
// Integers and bool give i64 without dtype; with dtype, x is converted first. The gradient is the
// cumulative sum from the other end.
#include "op/line_kernel.h"
#include "op/reduction.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

DType summed_dtype(const OpView& op) {
  const DType x = op.in_type(0).dtype;
  return op.dtype_attr("dtype").value_or(is_floating(x) ? x : DType::i64);
}

Result<Types> infer_cumsum(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim"), x));
  return Types{typed_like(x, summed_dtype(op), x.shape)};
}

Result<Arrays> reference_cumsum(const OpView& op, std::span<const Array* const> in) {
  DType t = in[0]->floating() ? in[0]->dtype : DType::i64;
  if (!op.attr("dtype").is_none()) t = *op.dtype_attr("dtype");
  const Array x = converted_array(*in[0], t);
  Array y(t, x.shape);
  for_each_line(x.shape, folded_dim(op.int_attr("dim"), x.rank()),
                [&](int64_t, const std::vector<int64_t>& line) {
                  double sum = 0;
                  uint64_t whole = 0;
                  for (int64_t at : line) {
                    if (x.floating())
                      y.set(at, sum += x.f[at]);
                    else
                      y.set_int(at, static_cast<int64_t>(whole += static_cast<uint64_t>(x.i[at])));
                  }
                });
  return Arrays{y};
}

Values grad_cumsum(Builder& b, const GradView& op) {
  const DType x = op.in_type(0).dtype;
  const int64_t dim = op.int_attr("dim");
  const auto flip = [&](ValueId v) {
    return b.call1("flip", {v}, {{"dims", std::vector<int64_t>{dim}}});
  };
  const ValueId g = b.convert(op.dout(0), wide(x));
  return {b.convert(flip(b.call1("cumsum", {flip(g)}, {{"dim", dim}})), x)};
}

void lower_cumsum(loop::KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t> shape = static_shape(op.in_type(0));
  const DType from = op.in_type(0).dtype, to = op.out_type(0).dtype;
  std::vector<int64_t> dims;
  if (!shape.empty()) dims = {from_front(op.int_attr("dim"), std::ssize(shape))};
  for_each_line_in(k, shape, dims, [&](const Line& line) {
    const Expr sum = k.define(loop::constant(accumulator(to), 0), "sum");
    line.each(k, [&](const Exprs& i) {
      k.assign(sum, sum + converted_for(k.load(0, i), from, to));
      k.store(0, i, sum);
    });
  });
}

OpDef cumsum() {
  return OpDef{
      .name = "cumsum",
      .signature = "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
      .summary = "Cumulative sums along a dim.",
      .source = "aten::cumsum, PyTorch 2.13",
      .traits = Trait::reduction | Trait::recomputable,
      .infer = infer_cumsum,
      .reference = reference_cumsum,
      .decompose = Absent{"a primitive: each element depends on the one before"},
      .grad = grad_cumsum,
      .lower = loop::kernel(lower_cumsum),
      .cost = cost_per_result(1),
      .samples = joined({over_dtypes(all_dtypes, {3, 4}, {{"dim", 1}}),
                         over_dtypes(all_dtypes, {3, 4}, {{"dim", 0}}),
                         {{{f32({2, 3, 2})}, {{"dim", -2}}},
                          {{f32({3, 70})}, {{"dim", 0}}},
                          {{f32({40})}, {{"dim", 0}}},
                          {{f32({})}, {{"dim", -1}}},
                          {{f32({0, 2})}, {{"dim", 0}}},
                          {{bf16({4})}, {{"dim", 0}, {"dtype", DType::f32}}},
                          {{f32({4})}, {{"dim", 0}, {"dtype", DType::bf16}}},
                          {{f32({4}).range(1, 3)}, {{"dim", 0}, {"dtype", DType::i64}}},
                          {{i64({4})}, {{"dim", 0}, {"dtype", DType::f32}}},
                          {{i64({4}).range(0, 100)}, {{"dim", 0}, {"dtype", DType::i8}}},
                          {{boolean({4})}, {{"dim", 0}, {"dtype", DType::boolean}}}}}),
      .rejects = {{"C1",
                   {{f32({2, 3})}, {{"dim", 2}}},
                   "cumsum: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"}},
  };
}

}  // namespace

CLEAVE_OPS(cumsum) { return {cumsum()}; }

}  // namespace cleave
