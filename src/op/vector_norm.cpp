// linalg_vector_norm(self; ord, dim, keepdim, dtype) -> y        a = |x|, converted to dtype first
//
//   ord 0      number of x != 0             ord inf    max of a
//   ord p      (sum of a^p) ^ (1/p)         ord -inf   min of a
//
//   (C1) dims in range  (C2) each once  (C3) self is floating
//   (C4) dtype is floating and represents every value of self's
//   (C5) if ord is negative or inf, every folded dim has an element
// Gradient: dx = dy * sign(x) * (a / y)^(p-1), 0 where x or y is 0; for inf, divided among the
// ties, including NaN.
#include <cmath>

#include "op/reduction.h"
#include "op/reference_sum.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

double order_of(const OpView& op) { return op.float_attr("ord"); }

Result<Types> infer_norm(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_floating(op, "C3", 0));
  const DType y = op.dtype_attr("dtype").value_or(x.dtype);
  if (!is_floating(y) || promote(x.dtype, y) != y)
    return op.broken("C4", "dtype is {}, expected a floating one that holds every value of {}",
                     name_of(y), name_of(x.dtype));
  CLEAVE_TRY(Types types, reduced_type(op, y));
  const double ord = order_of(op);
  if (ord < 0 || std::isinf(ord))
    for (int64_t d : reduction_dims(op))
      if (op.env().range_of(x.shape[d]).hi == 0)
        return op.broken("C5",
                         "dim {} of self: {} is folded and empty, and the norm of order {} has "
                         "no value there",
                         d, x.text(), double_text(ord));
  return types;
}

double norm_of_line(const Array& x, const std::vector<int64_t>& line, double ord) {
  double most = ord == -INFINITY ? INFINITY : 0;
  ReferenceSum sum;
  for (int64_t at : line) {
    const double a = std::fabs(x.f[at]);
    if (std::isnan(a) || std::isnan(most))
      most = NAN;
    else
      most = ord > 0 ? std::max(most, a) : std::min(most, a);
    sum += ord == 0 ? static_cast<double>(a != 0) : std::isinf(ord) ? 0 : std::pow(a, ord);
  }
  if (std::isinf(ord)) return most;
  return ord == 0 ? static_cast<double>(sum) : std::pow(sum, 1 / ord);
}

Result<Arrays> reference_norm(const OpView& op, std::span<const Array* const> in) {
  const DType t = op.attr("dtype").is_none() ? in[0]->dtype : *op.dtype_attr("dtype");
  const Array x = converted_array(*in[0], t);
  const double ord = op.float_attr("ord");
  return Arrays{fold_lines(
      op, x, t,
      [ord](const Array& a, const std::vector<int64_t>& line) {
        return norm_of_line(a, line, ord);
      },
      nullptr)};
}

Values decompose_norm(Builder& b, const OpView& op) {
  const std::vector<int64_t> dims = reduction_dims(op);
  const DType y = op.out_type(0).dtype;
  const bool keepdim = op.bool_attr("keepdim");
  const double ord = order_of(op);
  const ValueId x = b.convert(op.in(0), wide(y));
  const auto fold = [&](const char* name, ValueId v) {
    if (dims.empty()) return v;
    return b.call1(name, {v}, {{"dim", dims}, {"keepdim", keepdim}});
  };
  ValueId n;
  if (std::isinf(ord))
    n = fold(ord > 0 ? "amax" : "amin", b.abs(x));
  else if (ord == 0)
    n = fold("sum", b.convert(b.ne(x, 0.0), wide(y)));
  else if (ord == 1)
    n = fold("sum", b.abs(x));
  else if (ord == 2)
    n = b.sqrt(fold("sum", b.mul(x, x)));
  else
    n = b.pow(fold("sum", b.pow(b.abs(x), ord)), 1 / ord);
  return {b.convert(n, y)};
}

Values grad_norm(Builder& b, const GradView& op) {
  const Type& self = op.in_type(0);
  const std::vector<int64_t> dims = reduction_dims(op);
  const double ord = order_of(op);
  if (ord == 0) return {zeros(b, self)};
  const ValueId x = b.convert(op.in(0), op.out_type(0).dtype);
  const ValueId d = kept_dout(b, op, dims), y = kept_out(b, op, dims);
  ValueId slope;
  if (std::isinf(ord)) {
    const ValueId nan = b.logical_and(b.call1("isnan", {x}), b.call1("isnan", {y}));
    const ValueId hit = b.convert(b.logical_or(b.eq(b.abs(x), y), nan), op.out_type(0).dtype);
    slope = b.mul(b.sign(x), dims.empty() ? hit : b.div(hit, b.sum(hit, dims, true)));
  } else if (ord == 2) {
    slope = b.div(x, b.where(b.eq(y, 0.0), 1.0, y));
  } else if (ord == 1) {
    slope = b.sign(x);
  } else {
    const ValueId a = b.where(b.eq(x, 0.0), 1.0, b.abs(x));
    const ValueId by = b.where(b.eq(y, 0.0), 1.0, y);
    slope = b.mul(b.sign(x), b.pow(b.div(a, by), ord - 1));
  }
  return {b.convert(b.mul(slope, d), self.dtype)};
}

OpDef linalg_vector_norm() {
  return OpDef{
      .name = "linalg_vector_norm",
      .signature =
          "(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
          "ScalarType? dtype=None) -> Tensor",
      .summary = "The norm of the elements over dims.",
      .source = "aten::linalg_vector_norm, PyTorch 2.13",
      .traits = reduction_traits,
      .infer = infer_norm,
      .reference = reference_norm,
      .decompose = decompose_norm,
      .grad = wide_grad(grad_norm),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(2),
      .samples =
          [] {
            // Away from 0, where norms of small order have a kink.
            const auto x = [](std::vector<int64_t> shape) {
              return f32(std::move(shape)).range(0.5, 2);
            };
            return joined({fold_samples(DType::f32),
                           over_dtypes(floating_dtypes, {3, 4}, {{"dim", {0}}}),
                           {{{x({2, 3})}, {{"ord", 1}, {"dim", {1}}}},
                            {{f32({2, 3}).range(-2, -0.5)}, {{"ord", 1}}},
                            {{f32({2, 2})}, {{"ord", 0}, {"dim", {0}}}},
                            {{x({2, 3})}, {{"ord", 3.5}, {"dim", {1}}, {"keepdim", true}}},
                            {{x({4})}, {{"ord", 0.5}}},
                            {{x({4})}, {{"ord", -1}}},
                            {{x({2, 3})}, {{"ord", INFINITY}, {"dim", {1}}}},
                            {{f32({2, 3}).range(-2, -0.5)}, {{"ord", INFINITY}, {"dim", {1}}}},
                            {{x({2, 3})}, {{"ord", -INFINITY}, {"dim", {0}}}},
                            {{f32({3}).with({1, NAN, 2})}, {{"ord", INFINITY}}},
                            {{f32({3}).with({0, 0, 0})}, {{"ord", 0}}},
                            {{f32({0})}},
                            {{f32({0, 2})}, {{"dim", {0}}, {"ord", 1}}},
                            {{bf16({2, 3})}, {{"dim", {1}}, {"dtype", DType::f32}}},
                            {{f32({2, 3})}, {{"dtype", DType::f64}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", {2}}}},
                 "linalg_vector_norm: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
                {"C2",
                 {{f32({2, 3})}, {{"dim", {0, 0}}}},
                 "linalg_vector_norm: C2: dim 0 is named twice in [0,0], expected once"},
                {"C3",
                 {{i64({2})}},
                 "linalg_vector_norm: C3: self is i64[2], expected a floating dtype"},
                {"C4",
                 {{f64({2})}, {{"dtype", DType::f32}}},
                 "linalg_vector_norm: C4: dtype is f32, expected a floating one that holds every "
                 "value of f64"},
                {"C5",
                 {{f32({0})}, {{"ord", INFINITY}}},
                 "linalg_vector_norm: C5: dim 0 of self: f32[0] is folded and empty, and the norm "
                 "of order inf has no value there"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(vector_norm) { return {linalg_vector_norm()}; }

}  // namespace cleave
