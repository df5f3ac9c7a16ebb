// Sums and products of all elements up to and including each one.
//
// cumsum(self; dim, dtype) -> y       y[..., i, ...] = sum over k <= i of x[..., k, ...]
// cumprod(self; dim, dtype) -> y      y[..., i, ...] = product over k <= i of x[..., k, ...]
//
//   (C1) dim in range; a 0-d tensor counts as one dim
// Integers and bool give i64 without dtype; with dtype, x is converted first. Floating elements are
// accumulated in f64: one by one in f32, a million of them would be 1e-2 off. Sums that stay f64
// keep what each addition rounds away, and add it to each result: one by one, n equal numbers lose
// n / 4 roundings.
//
// The gradient of cumsum is the cumulative sum from the other end, that of cumprod is
// cumprod_backward.
#include "op/cost.h"
#include "op/line_kernel.h"
#include "op/reduction.h"
#include "op/reference_sum.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

enum class Fold { sum, product };

Result<Types> infer_cumulative(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim"), x));
  const DType t = op.dtype_attr("dtype").value_or(is_floating(x.dtype) ? x.dtype : DType::i64);
  return Types{typed_like(x, t, x.shape)};
}

void fold_in(ReferenceSum& sum, double x) { sum += x; }
void fold_in(ReferenceProduct& product, double x) { product *= x; }

template <class Folded>
void set_partial(const Array& x, const std::vector<int64_t>& line, Array& y) {
  Folded partial;
  for (int64_t at : line) {
    fold_in(partial, x.f[at]);
    y.set(at, partial);
  }
}

void set_whole(const Array& x, const std::vector<int64_t>& line, Fold fold, Array& y) {
  uint64_t partial = fold == Fold::sum ? 0 : 1;
  for (int64_t at : line) {
    const auto element = static_cast<uint64_t>(x.i[at]);
    partial = fold == Fold::sum ? partial + element : partial * element;
    y.set_int(at, static_cast<int64_t>(partial));
  }
}

ReferenceFn reference_cumulative(Fold fold) {
  return [fold](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
    DType t = in[0]->floating() ? in[0]->dtype : DType::i64;
    if (!op.attr("dtype").is_none()) t = *op.dtype_attr("dtype");
    const Array x = converted_array(*in[0], t);
    Array y(t, x.shape);
    for_each_line(x.shape, folded_dim(op.int_attr("dim"), x.rank()),
                  [&](int64_t, const std::vector<int64_t>& line) {
                    if (x.floating() && fold == Fold::sum)
                      set_partial<ReferenceSum>(x, line, y);
                    else if (x.floating())
                      set_partial<ReferenceProduct>(x, line, y);
                    else
                      set_whole(x, line, fold, y);
                  });
    return Arrays{y};
  };
}

// The sum s and what it has lost, after x:  t = s + x   lost += (s - (t - p)) + (x - p), p = t - s
// The error of an infinite sum is no number, and isn't counted.
Expr add_exactly(loop::KernelBuilder& k, const Expr& sum, const Expr& lost, const Expr& x) {
  const Expr next = k.let(sum + x, "next"), part = k.let(next - sum, "part");
  const Expr error = k.let((sum - (next - part)) + (x - part), "error");
  const Expr counted = select(unary(loop::Op::isnan, error), loop::constant(DType::f64, 0), error);
  k.assign(lost, lost + counted);
  k.assign(sum, next);
  return sum + lost;
}

auto lower_cumulative(Fold fold) {
  return [fold](loop::KernelBuilder& k, const OpView& op) {
    const std::vector<int64_t> shape = static_shape(op.in_type(0));
    const DType from = op.in_type(0).dtype, to = op.out_type(0).dtype;
    std::vector<int64_t> dims;
    if (!shape.empty()) dims = {from_front(op.int_attr("dim"), std::ssize(shape))};
    for_each_line_in(k, shape, dims, [&](const Line& line) {
      const bool sums = fold == Fold::sum;
      const DType kept = is_floating(to) ? DType::f64 : accumulator(to);
      const Expr y = k.define(loop::constant(kept, sums ? 0 : 1), sums ? "sum" : "product");
      const bool is_exact = sums && to == DType::f64;
      const Expr lost = is_exact ? k.define(loop::constant(kept, 0), "lost") : Expr();
      line.each(k, [&](const Exprs& i) {
        const Expr x = cast(converted_for(k.load(0, i), from, to), kept);
        if (is_exact) return k.store(0, i, add_exactly(k, y, lost, k.let(x, "x")));
        k.assign(y, sums ? y + x : y * x);
        k.store(0, i, y);
      });
    });
  };
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

OpDef cumsum() {
  return OpDef{
      .name = "cumsum",
      .signature = "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
      .summary = "Cumulative sums along a dim.",
      .source = "aten::cumsum, PyTorch 2.13",
      .traits = Trait::reduction | Trait::recomputable,
      .infer = infer_cumulative,
      .reference = reference_cumulative(Fold::sum),
      .decompose = Absent{"a primitive: each element depends on the one before"},
      .grad = grad_cumsum,
      .lower = loop::kernel(lower_cumulative(Fold::sum)),
      .cost = cost_per_result(1),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {3, 4}, {{"dim", 1}}),
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
                            {{boolean({4})}, {{"dim", 0}, {"dtype", DType::boolean}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", 2}}},
                 "cumsum: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"}};
      },
  };
}

Values grad_cumprod(Builder& b, const GradView& op) {
  const DType x = op.in_type(0).dtype, w = wide(x);
  const ValueId g = b.convert(op.dout(0), w), v = b.convert(op.in(0), w);
  return {b.convert(b.call1("cumprod_backward", {g, v}, {{"dim", op.int_attr("dim")}}), x)};
}

OpDef cumprod() {
  return OpDef{
      .name = "cumprod",
      .signature = "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
      .summary = "Cumulative products along a dim.",
      .source = "aten::cumprod, PyTorch 2.13",
      .traits = Trait::reduction | Trait::recomputable,
      .infer = infer_cumulative,
      .reference = reference_cumulative(Fold::product),
      .decompose = Absent{"a primitive: each element depends on the one before"},
      .grad = grad_cumprod,
      .lower = loop::kernel(lower_cumulative(Fold::product)),
      .cost = cost_per_result(1),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {3, 4}, {{"dim", 1}}),
                           over_dtypes(all_dtypes, {3, 4}, {{"dim", 0}}),
                           {{{f32({2, 3, 2})}, {{"dim", -2}}},
                            {{f32({3, 70}).range(0.8, 1.2)}, {{"dim", 1}}},
                            {{f32({40}).range(0.8, 1.2)}, {{"dim", 0}}},
                            {{f32({5}).with({2, 0, -3, 0.5, 1})}, {{"dim", 0}}},
                            {{f32({5}).with({2, 0, -3, 0, 1})}, {{"dim", 0}}},
                            {{f64({4}).with({1e-200, 1e-200, 1e200, 2})}, {{"dim", 0}}},
                            {{f32({3}).with({NAN, 0, INFINITY})}, {{"dim", 0}}},
                            {{f32({})}, {{"dim", -1}}},
                            {{f32({0, 2})}, {{"dim", 0}}},
                            {{f32({2, 1})}, {{"dim", 1}}},
                            {{bf16({4})}, {{"dim", 0}, {"dtype", DType::f32}}},
                            {{f32({4})}, {{"dim", 0}, {"dtype", DType::bf16}}},
                            {{f32({4}).range(1, 3)}, {{"dim", 0}, {"dtype", DType::i64}}},
                            {{i64({4})}, {{"dim", 0}, {"dtype", DType::f32}}},
                            {{i64({4}).range(0, 9)}, {{"dim", 0}, {"dtype", DType::i8}}},
                            {{boolean({4})}, {{"dim", 0}, {"dtype", DType::boolean}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", 2}}},
                 "cumprod: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(cumulative) { return {cumsum(), cumprod()}; }

}  // namespace cleave
