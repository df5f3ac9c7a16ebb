// sum(self; dim, keepdim, dtype)     y = sum of x           over dim; no elements: 0
// mean(self; dim, keepdim, dtype)    y = sum of x / count   over dim; no elements: NaN
//   (C3) self, or dtype where it is given, is floating
// prod(self; dim, keepdim, dtype)    y = product of x       over one dim or all; no elements: 1
//   integers and bool give i64 without dtype. With dtype, x is converted first.
//   (C1) dims in range  (C2) each once
//
// The gradient of a product is the product of the other elements. With z zeros on a line, their sum
// s (0, but with a gradient), and p the product of the others:
//
//            z = 0   z = 1   z = 2      more
//   x != 0   p / x   p*s/x   0          0       each entry is correct to second order
//   x == 0           p       p*(s-x)    0
#include <cmath>
#include <limits>

#include "op/reduction.h"
#include "op/reference_sum.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

using loop::Expr;

DType summed_dtype(const OpView& op) {
  const DType x = op.in_type(0).dtype;
  return op.dtype_attr("dtype").value_or(is_floating(x) ? x : DType::i64);
}

Result<Types> infer_sum(const OpView& op) { return reduced_type(op, summed_dtype(op)); }

// x converted to the dtype of the sum.
Array summand(const OpView& op, const Array& x) {
  const DType fallback = x.floating() ? x.dtype : DType::i64;
  return converted_array(x, op.attr("dtype").is_none() ? fallback : *op.dtype_attr("dtype"));
}

double sum_floats(const Array& x, const std::vector<int64_t>& line) {
  ReferenceSum sum;
  for (int64_t at : line) sum += x.f[at];
  return sum;
}

// Wraps around, as integer arithmetic does.
int64_t sum_integers(const Array& x, const std::vector<int64_t>& line) {
  uint64_t sum = 0;
  for (int64_t at : line) sum += static_cast<uint64_t>(x.i[at]);
  return static_cast<int64_t>(sum);
}

Result<Arrays> reference_sum(const OpView& op, std::span<const Array* const> in) {
  const Array x = summand(op, *in[0]);
  return Arrays{fold_lines(op, x, x.dtype, sum_floats, sum_integers)};
}

Values grad_sum(Builder& b, const GradView& op) {
  const Type& x = op.in_type(0);
  const ValueId d = kept_dout(b, op, reduction_dims(op));
  return {b.convert(b.expand(d, x.shape), x.dtype)};
}

std::vector<Sample> dtype_samples(std::initializer_list<DType> results) {
  std::vector<Sample> out;
  for (DType t : results)
    for (DType x : {DType::f32, DType::bf16, DType::i32, DType::boolean})
      out.push_back({{any_of(x, {2, 3}).range(0, 4)}, {{"dim", {1}}, {"dtype", t}}});
  return out;
}

std::vector<Reject> dim_rejects(const std::string& name) {
  return {{"C1",
           {{f32({2, 3})}, {{"dim", {2}}}},
           name + ": C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
          {"C2",
           {{f32({2, 3})}, {{"dim", {1, -1}}}},
           name + ": C2: dim 1 is named twice in [1,-1], expected once"}};
}

OpDef sum() {
  return OpDef{
      .name = "sum",
      .signature =
          "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
          "-> Tensor",
      .summary = "The sum over dims.",
      .source = "aten::sum, sum.dim_IntList, PyTorch 2.13",
      .traits = reduction_traits,
      .infer = infer_sum,
      .reference = reference_sum,
      .decompose = Absent{"a primitive reduction"},
      .grad = grad_sum,
      .lower = loop::reduction(reduction_rule(loop::ReduceOp::sum)),
      .cost = cost_per_operand(1),
      .samples =
          [] {
            return joined({fold_samples(DType::f32),
                           fold_samples(DType::i64),
                           over_dtypes(all_dtypes, {3, 4}, {{"dim", {0}}}),
                           dtype_samples({DType::f64, DType::bf16, DType::i64, DType::boolean}),
                           {{{f32({0, 2})}, {{"dim", {0}}}},
                            {{i64({0})}},
                            {{sample(DType::i32, {3}).with({2147483647, 1, 5})}},
                            {{sample(DType::u8, {3}).with({200, 100, 5})}, {{"dtype", DType::u8}}},
                            {{f32({3}).with({1.0, -INFINITY, 2.0})}}}});
          },
      .rejects = [] { return dim_rejects("sum"); },
  };
}

// ---- mean

DType mean_dtype(const OpView& op) { return op.dtype_attr("dtype").value_or(op.in_type(0).dtype); }

Result<Types> infer_mean(const OpView& op) {
  if (!is_floating(mean_dtype(op)))
    return op.broken("C3", "{} is {}, expected a floating dtype",
                     op.given("dtype") ? "dtype" : "the dtype of self", name_of(mean_dtype(op)));
  return reduced_type(op, mean_dtype(op));
}

Result<Arrays> reference_mean(const OpView& op, std::span<const Array* const> in) {
  const Array x = summand(op, *in[0]);
  return Arrays{fold_lines(
      op, x, x.dtype,
      [](const Array& a, const std::vector<int64_t>& line) {
        return sum_floats(a, line) / static_cast<double>(line.size());
      },
      nullptr)};
}

Values decompose_mean(Builder& b, const OpView& op) {
  const std::vector<int64_t> dims = reduction_dims(op);
  const DType y = op.out_type(0).dtype;
  const bool keepdim = op.bool_attr("keepdim");
  const ValueId x = b.convert(b.convert(op.in(0), y), y == DType::f64 ? y : DType::f32);
  const ValueId total = dims.empty() ? x : b.sum(x, dims, keepdim);
  return {b.convert(b.div(total, count_operand(b, op.in(0), dims)), y)};
}

Values grad_mean(Builder& b, const GradView& op) {
  const Type& x = op.in_type(0);
  const std::vector<int64_t> dims = reduction_dims(op);
  const ValueId d = b.div(kept_dout(b, op, dims), count_operand(b, op.in(0), dims));
  return {b.convert(b.expand(d, x.shape), x.dtype)};
}

loop::ReductionRule mean_rule() {
  loop::ReductionRule rule = reduction_rule(loop::ReduceOp::sum);
  rule.finish = [](const OpView&, Expr sum, int64_t count) {
    return sum / loop::constant(sum.type(), static_cast<double>(count));
  };
  return rule;
}

OpDef mean() {
  const auto rejects = [] {
    Rejects out = dim_rejects("mean");
    out.push_back({"C3",
                   {{i64({2})}},
                   "mean: C3: the dtype of self is i64, expected a floating "
                   "dtype"});
    out.push_back({"C3",
                   {{f32({2})}, {{"dtype", DType::i64}}},
                   "mean: C3: dtype is i64, expected a floating dtype"});
    return out;
  };
  return OpDef{
      .name = "mean",
      .signature =
          "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
          "-> Tensor",
      .summary = "The mean over dims.",
      .source = "aten::mean, mean.dim, PyTorch 2.13",
      .traits = reduction_traits,
      .infer = infer_mean,
      .reference = reference_mean,
      .decompose = decompose_mean,
      .grad = grad_mean,
      .lower = loop::reduction(mean_rule()),
      .cost = cost_per_operand(1),
      .samples =
          [] {
            return joined({fold_samples(DType::f32),
                           fold_samples(DType::bf16),
                           over_dtypes(floating_dtypes, {3, 4}, {{"dim", {0}}}),
                           dtype_samples({DType::f64, DType::f16}),
                           {{{f32({0, 2})}, {{"dim", {0}}}}, {{f32({0})}}}});
          },
      .rejects = rejects,
  };
}

// ---- prod

Result<Arrays> reference_prod(const OpView& op, std::span<const Array* const> in) {
  const Array x = summand(op, *in[0]);
  const auto floats = [](const Array& a, const std::vector<int64_t>& line) {
    ReferenceProduct product;
    for (int64_t at : line) product *= a.f[at];
    return static_cast<double>(product);
  };
  const auto integers = [](const Array& a, const std::vector<int64_t>& line) {
    uint64_t product = 1;
    for (int64_t at : line) product *= static_cast<uint64_t>(a.i[at]);
    return static_cast<int64_t>(product);
  };
  return Arrays{fold_lines(op, x, x.dtype, floats, integers)};
}

Values grad_prod(Builder& b, const GradView& op) {
  const DType operand = op.in_type(0).dtype, t = op.out_type(0).dtype;
  const Shape shape = op.in_type(0).shape;
  const std::vector<int64_t> dims = reduction_dims(op);
  if (dims.empty()) return {b.convert(op.dout(0), operand)};
  const auto fold = [&](const char* name, ValueId v) {
    // prod takes one dim, or all of them.
    if (dims.size() > 1) return with_kept_dims(b, b.call1(name, {v}), shape, dims);
    return b.call1(name, {v}, {{"dim", dims[0]}, {"keepdim", true}});
  };
  const ValueId x = b.convert(op.in(0), t), d = kept_dout(b, op, dims);
  const ValueId is_zero = b.eq(x, 0), others = b.where(is_zero, 1.0, x);
  const ValueId p = fold("prod", others), z = fold("sum", is_zero);
  const ValueId s = fold("sum", b.where(is_zero, x, 0.0));
  const ValueId at_zero = b.where(b.eq(z, 1), 1.0, b.where(b.eq(z, 2), b.sub(s, x), 0.0));
  const ValueId beside = b.where(b.eq(z, 0), 1.0, b.where(b.eq(z, 1), s, 0.0));
  const ValueId rest = b.where(is_zero, at_zero, b.div(beside, others));
  return {b.convert(b.mul(b.mul(d, p), rest), operand)};
}

OpDef prod() {
  return OpDef{
      .name = "prod",
      .signature =
          "(Tensor self, int? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
          "-> Tensor",
      .summary = "The product over one dim or all.",
      .source = "aten::prod, prod.dim_int, PyTorch 2.13",
      .traits = reduction_traits,
      .infer = infer_sum,
      .reference = reference_prod,
      .decompose = Absent{"a primitive reduction"},
      .grad = wide_grad(grad_prod),
      .lower = loop::reduction(reduction_rule(loop::ReduceOp::prod)),
      .cost = cost_per_operand(1),
      .samples =
          [] {
            const auto one_dim = [](DType t) {
              return std::vector<Sample>{{{any_of(t, {2, 3})}},
                                         {{any_of(t, {2, 3})}, {{"dim", 1}}},
                                         {{any_of(t, {3, 2})}, {{"dim", 0}, {"keepdim", true}}},
                                         {{any_of(t, {2, 20})}, {{"dim", -2}}},
                                         {{any_of(t, {})}},
                                         {{any_of(t, {})}, {{"dim", 0}}},
                                         {{any_of(t, {0, 2})}, {{"dim", 1}}},
                                         {{any_of(t, {0, 2})}, {{"dim", 0}}}};
            };
            return joined({one_dim(DType::f32),
                           one_dim(DType::i64),
                           over_dtypes(all_dtypes, {3, 4}, {{"dim", 0}}),
                           {{{f32({2, 3}).with({1.5, 0, 2, 0.5, 3, -1})}, {{"dim", 1}}},
                            {{f32({3}).with({0, 2, 0})}},
                            {{f32({4}).with({0, 2, 0, 0})}},
                            {{bf16({3})}, {{"dtype", DType::f32}}},
                            {{f32({3}).range(1, 4)}, {{"dtype", DType::i64}}},
                            {{boolean({4})}, {{"dtype", DType::boolean}}},
                            {{i64({3})}, {{"dtype", DType::f32}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", 2}}},
                 "prod: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(sum) { return {sum(), mean(), prod()}; }

}  // namespace cleave
