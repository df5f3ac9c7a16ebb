// Matrix products, with and without a batch dim and an added term.
//
//   mm(self, mat2) -> y                       y[i,j] = sum_k self[i,k] * mat2[k,j]
//   bmm(self, mat2) -> y                      the same for each b: [b,n,k] x [b,k,m] -> [b,n,m]
//   addmm(self, mat1, mat2; beta, alpha)      y = beta * self + alpha * (mat1 @ mat2)
//   baddbmm(self, batch1, batch2; ...)        the same with a batch dim
//     (C1) the factors have rank 2 (rank 3 with a batch)
//     (C2) operands have one dtype, floating or integer
//     (C3) the inner sizes are equal
//     (C4) the batch sizes are equal (with a batch)
//     (C5) operands are on one device
//     (C6) self broadcasts to the product (with an added term)
//
// Sums are in f32 (f64 for f64, the integer's own width for integers, which wrap). The added term
// and the factors beta and alpha are applied before the single rounding to the result's dtype. beta
// = 0 ignores self, even where it is NaN. For integers both factors are truncated, as in ATen.
#include <array>
#include <cmath>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/product.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

// The operand positions of the factors, and whether they have a batch dim.
struct Form {
  int a, b;
  bool batch;
  bool added() const { return a == 1; }
  int64_t rank() const { return batch ? 3 : 2; }
};
constexpr Form plain{0, 1, false}, batched{0, 1, true}, plain_added{1, 2, false},
    batched_added{1, 2, true};

Status check_factors(const OpView& op, Form form) {
  for (int k : {form.a, form.b})
    if (op.in_type(k).rank() != form.rank())
      return op.broken("C1", "{} is {}, expected rank {}", operand_name(op, k),
                       op.in_type(k).text(), form.rank());
  const DType t = op.in_type(form.a).dtype;
  if (!is_floating(t) && !is_integer(t))
    return op.broken("C2", "{} is {}, expected a floating or integer dtype",
                     operand_name(op, form.a), op.in_type(form.a).text());
  for (int k = 0; k <= form.b; ++k) CLEAVE_CHECK(check_same_dtype(op, "C2", k, form.a));
  return {};
}

Result<Types> infer(const OpView& op, Form form) {
  CLEAVE_CHECK(check_factors(op, form));
  const Type &a = op.in_type(form.a), &b = op.in_type(form.b);
  const size_t row = form.batch ? 1 : 0;
  CLEAVE_CHECK(check_equal(op, "C3", "inner sizes", a.shape[row + 1], b.shape[row]));
  Shape shape;
  if (form.batch) {
    CLEAVE_CHECK(check_equal(op, "C4", "batch sizes", a.shape[0], b.shape[0]));
    shape.push_back(a.shape[0]);
  }
  shape.push_back(a.shape[row]);
  shape.push_back(b.shape[row + 1]);
  const Device device = a.device;
  if (form.added()) {
    CLEAVE_CHECK(common_device(op, "C5", {form.a, form.b, 0}));
    CLEAVE_CHECK(check_expandable(op, "C6", op.in_type(0).shape, shape));
  } else {
    CLEAVE_CHECK(common_device(op, "C5", {form.a, form.b}));
  }
  Type y(a.dtype, std::move(shape));
  y.device = device;
  return Types{std::move(y)};
}

// Reference: one dot product per element. Integers wrap at the end, which is equivalent to wrapping
// at each step.
struct Scaled {
  double alpha = 1, beta = 0;
};

Array reference_product(const OpView& op, std::span<const Array* const> in, Form form, Scaled s) {
  const Array &a = *in[form.a], &b = *in[form.b];
  const size_t row = form.batch ? 1 : 0;
  const int64_t n = a.shape[row], inner = a.shape[row + 1], m = b.shape[row + 1];
  Array y(a.dtype, static_shape(op.out_type(0)));
  std::vector<int64_t> at(y.shape.size(), 0);
  for (int64_t k = 0; k < y.numel(); ++k, next_index(at, y.shape)) {
    const int64_t batch = form.batch ? at[0] : 0, i = at[row], j = at[row + 1];
    const int64_t a0 = (batch * n + i) * inner, b0 = batch * inner * m + j;
    const int64_t own = s.beta == 0 ? 0 : broadcast_position(at, in[0]->shape);
    if (y.floating()) {
      ReferenceSum sum;
      for (int64_t p = 0; p < inner; ++p) sum += a.f[a0 + p] * b.f[b0 + p * m];
      y.f[k] = s.alpha * sum;
      if (s.beta != 0) y.f[k] += s.beta * in[0]->f[own];
    } else {
      uint64_t sum = 0;
      for (int64_t p = 0; p < inner; ++p)
        sum += static_cast<uint64_t>(a.i[a0 + p]) * static_cast<uint64_t>(b.i[b0 + p * m]);
      sum *= static_cast<uint64_t>(truncate_to(DType::i64, s.alpha));
      if (s.beta != 0)
        sum += static_cast<uint64_t>(truncate_to(DType::i64, s.beta)) *
               static_cast<uint64_t>(in[0]->i[own]);
      y.set_int(k, static_cast<int64_t>(sum));
    }
  }
  return y;
}

ReferenceFn reference(Form form) {
  return [form](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
    Scaled s;
    if (form.added()) s = {op.float_attr("alpha"), op.float_attr("beta")};
    return Arrays{reference_product(op, in, form, s)};
  };
}

// beta or alpha as applied to operands of this call's dtype.
double factor(const OpView& op, std::string_view name) {
  const double v = op.float_attr(name);
  return is_floating(op.out_type(0).dtype) ? v : std::trunc(v);
}

ValueId scaled(Builder& b, ValueId v, double by, DType t) {
  if (by == 1) return v;
  return is_floating(t) ? b.mul(v, by) : b.mul(v, AttrValue(truncate_to(DType::i64, by)));
}

ValueId flipped(Builder& b, ValueId v, Form form) {
  return b.permute(v, form.batch ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{1, 0});
}

ValueId product(Builder& b, ValueId x, ValueId y, Form form) {
  return form.batch ? b.bmm(x, y) : b.mm(x, y);
}

DecomposeFn decompose_added(Form form) {
  return [form](Builder& b, const OpView& op) -> Values {
    const DType t = op.out_type(0).dtype;
    const double beta = factor(op, "beta");
    const ValueId y = scaled(b, product(b, op.in(1), op.in(2), form), factor(op, "alpha"), t);
    return {beta == 0 ? y : b.add(scaled(b, op.in(0), beta, t), y)};
  };
}

// da = alpha * dy @ b^T    db = alpha * a^T @ dy    dself = beta * dy, summed to its shape
Values grad(Builder& b, const GradView& op, Form form) {
  Values d = op.no_grads();
  const ValueId g = op.dout(0);
  if (g.is_none()) return d;
  const DType t = op.out_type(0).dtype;
  const double alpha = form.added() ? op.float_attr("alpha") : 1;
  if (form.added() && op.needs(0)) {
    const Type& self = op.in_type(0);
    const double beta = op.float_attr("beta");
    d[0] = beta == 0 ? zeros(b, self) : b.sum_to(scaled(b, g, beta, t), self.shape);
  }
  if (op.needs(form.a))
    d[form.a] = scaled(b, product(b, g, flipped(b, op.in(form.b), form), form), alpha, t);
  if (op.needs(form.b))
    d[form.b] = scaled(b, product(b, flipped(b, op.in(form.a), form), g, form), alpha, t);
  return d;
}

loop::LowerPtr lower(Form form) {
  return loop::library([form](const OpView& op) {
    ProductOperands at{.a = form.a, .b = form.b};
    if (!form.added()) return product_form(op, at);
    at.c = 0;
    return product_form(op, at, {.alpha = factor(op, "alpha"), .beta = factor(op, "beta")});
  });
}

CostFn cost(Form form) {
  return [form](const OpView& op) {
    const int64_t inner = op.env().hint_of(op.in_type(form.a).shape.back());
    return Cost{2 * inner * numel_hint(op, op.out_type(0)), bytes_moved(op)};
  };
}

OpDef entry(const std::string& name, std::string signature, std::string summary, Form form) {
  return OpDef{
      .name = name,
      .signature = std::move(signature),
      .summary = std::move(summary),
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = [form](const OpView& op) { return infer(op, form); },
      .reference = reference(form),
      .decompose = Absent{"a primitive product"},
      .grad = [form](Builder& b, const GradView& op) { return grad(b, op, form); },
      .lower = lower(form),
      .cost = cost(form),
      .samples = {},
      .rejects = {},
  };
}

OpDef mm() {
  OpDef op = entry("mm", "(Tensor self, Tensor mat2) -> Tensor", "The matrix product.", plain);
  op.samples = [] {
    Samples out;
    for (DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32,
                    DType::i16, DType::i8, DType::u8})
      out.push_back({{any_of(t, {3, 4}), any_of(t, {4, 2})}});
    for (const auto& [n, k, m] : {std::array<int64_t, 3>{1, 1, 1},
                                  {17, 5, 1},
                                  {1, 33, 9},
                                  {0, 3, 2},
                                  {2, 3, 0},
                                  {2, 0, 3},
                                  {6, 19, 21}})
      out.push_back({{f32({n, k}), f32({k, m})}});
    return out;
  };
  op.rejects = []() -> Rejects {
    return {{"C1", {{f32({3}), f32({3, 2})}}, "mm: C1: self is f32[3], expected rank 2"},
            {"C2",
             {{boolean({2, 3}), boolean({3, 2})}},
             "mm: C2: self is bool[2,3], expected a floating or integer dtype"},
            {"C2",
             {{f32({2, 3}), f64({3, 2})}},
             "mm: C2: mat2 is f64[3,2], expected the dtype of self: f32"},
            {"C3", {{f32({2, 3}), f32({4, 2})}}, "mm: C3: inner sizes: 3 and 4, expected equal"},
            {"C5",
             {{f32({2, 3}), on_cuda(f32({3, 2}))}},
             "mm: C5: self is f32[2,3] and mat2 is f32[3,2]@cuda:0, expected one device"}};
  };
  return op;
}

OpDef bmm() {
  OpDef op = entry("bmm", "(Tensor self, Tensor mat2) -> Tensor",
                   "A matrix product for each batch.", batched);
  op.samples = [] {
    Samples out;
    for (DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32})
      out.push_back({{any_of(t, {2, 3, 4}), any_of(t, {2, 4, 2})}});
    for (const auto& [b, n, k, m] : {std::array<int64_t, 4>{1, 1, 1, 1},
                                     {5, 7, 3, 1},
                                     {0, 2, 3, 2},
                                     {2, 0, 3, 2},
                                     {2, 2, 0, 3},
                                     {3, 2, 18, 17}})
      out.push_back({{f32({b, n, k}), f32({b, k, m})}});
    return out;
  };
  op.rejects = []() -> Rejects {
    return {
        {"C1", {{f32({2, 3, 4}), f32({4, 2})}}, "bmm: C1: mat2 is f32[4,2], expected rank 3"},
        {"C2",
         {{i64({1, 2, 3}), i32({1, 3, 2})}},
         "bmm: C2: mat2 is i32[1,3,2], expected the dtype of self: i64"},
        {"C3", {{f32({1, 2, 3}), f32({1, 4, 2})}}, "bmm: C3: inner sizes: 3 and 4, expected equal"},
        {"C4", {{f32({2, 2, 3}), f32({1, 3, 2})}}, "bmm: C4: batch sizes: 2 and 1, expected equal"},
        {"C5",
         {{on_cuda(f32({1, 2, 3})), f32({1, 3, 2})}},
         "bmm: C5: self is f32[1,2,3]@cuda:0 and mat2 is f32[1,3,2], expected one device"}};
  };
  return op;
}

OpDef addmm() {
  OpDef op =
      entry("addmm",
            "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
            "A matrix product and an added term, each with a factor.", plain_added);
  op.decompose = decompose_added(plain_added);
  op.samples = [] {
    Samples out;
    for (DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32})
      out.push_back({{any_of(t, {2}), any_of(t, {3, 4}), any_of(t, {4, 2})}});
    for (const std::vector<int64_t>& self :
         {std::vector<int64_t>{3, 2}, {1, 2}, {3, 1}, {1}, {}, {2}})
      out.push_back({{f32(self), f32({3, 4}), f32({4, 2})}, {{"beta", 0.5}, {"alpha", -2.0}}});
    out.push_back({{f32({2}), f32({3, 0}), f32({0, 2})}, {{"beta", 3}}});
    out.push_back({{f32({2}), f32({0, 4}), f32({4, 2})}});
    out.push_back({{i64({2}), i64({3, 4}), i64({4, 2})}, {{"beta", 2}, {"alpha", 1.75}}});
    out.push_back(
        {{f32({2}).with({std::nan(""), INFINITY}), f32({3, 4}), f32({4, 2})}, {{"beta", 0}}});
    return out;
  };
  op.rejects = []() -> Rejects {
    return {
        {"C1", {{f32({2}), f32({3}), f32({3, 2})}}, "addmm: C1: mat1 is f32[3], expected rank 2"},
        {"C2",
         {{f64({2}), f32({2, 3}), f32({3, 2})}},
         "addmm: C2: self is f64[2], expected the dtype of mat1: f32"},
        {"C3",
         {{f32({2}), f32({2, 3}), f32({4, 2})}},
         "addmm: C3: inner sizes: 3 and 4, expected equal"},
        {"C5",
         {{f32({2}), f32({2, 3}), on_cuda(f32({3, 2}))}},
         "addmm: C5: mat1 is f32[2,3] and mat2 is f32[3,2]@cuda:0, expected one device"},
        {"C6",
         {{f32({4, 2}), f32({3, 4}), f32({4, 2})}},
         "addmm: C6: shapes [4,2] and [3,2] don't broadcast: dim -2 is 4 and 3, expected equal "
         "sizes "
         "or 1"},
        {"C6",
         {{f32({1, 3, 2}), f32({3, 4}), f32({4, 2})}},
         "addmm: C6: shape [1,3,2] doesn't broadcast to [3,2], expected dims that are equal or 1"}};
  };
  return op;
}

OpDef baddbmm() {
  OpDef op =
      entry("baddbmm",
            "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) "
            "-> Tensor",
            "A batched matrix product and an added term, each with a factor.", batched_added);
  op.decompose = decompose_added(batched_added);
  op.samples = [] {
    Samples out;
    for (DType t : {DType::f64, DType::f32, DType::bf16, DType::i64})
      out.push_back({{any_of(t, {2, 3, 2}), any_of(t, {2, 3, 4}), any_of(t, {2, 4, 2})}});
    for (const std::vector<int64_t>& self : {std::vector<int64_t>{2, 1, 1}, {3, 2}, {1, 1, 2}, {}})
      out.push_back(
          {{f32(self), f32({2, 3, 4}), f32({2, 4, 2})}, {{"beta", -1.5}, {"alpha", 0.25}}});
    return out;
  };
  op.rejects = []() -> Rejects {
    return {
        {"C1",
         {{f32({2}), f32({3, 2}), f32({1, 3, 2})}},
         "baddbmm: C1: batch1 is f32[3,2], expected rank 3"},
        {"C2",
         {{boolean({2}), boolean({1, 2, 3}), boolean({1, 3, 2})}},
         "baddbmm: C2: batch1 is bool[1,2,3], expected a floating or integer dtype"},
        {"C3",
         {{f32({2}), f32({1, 2, 3}), f32({1, 4, 2})}},
         "baddbmm: C3: inner sizes: 3 and 4, expected equal"},
        {"C4",
         {{f32({2}), f32({3, 2, 3}), f32({2, 3, 2})}},
         "baddbmm: C4: batch sizes: 3 and 2, expected equal"},
        {"C5",
         {{f32({2}), on_cuda(f32({1, 2, 3})), f32({1, 3, 2})}},
         "baddbmm: C5: batch1 is f32[1,2,3]@cuda:0 and batch2 is f32[1,3,2], expected one device"},
        {"C6",
         {{f32({3}), f32({1, 2, 3}), f32({1, 3, 2})}},
         "baddbmm: C6: shapes [3] and [1,2,2] don't broadcast: dim -1 is 3 and 2, expected equal "
         "sizes or 1"}};
  };
  return op;
}

}  // namespace

CLEAVE_OPS(matmul) { return {mm(), bmm(), addmm(), baddbmm()}; }

}  // namespace cleave
