#include <cmath>

#include "op/softmax.h"

namespace cleave {

Result<Types> infer_softmax(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim"), x));
  CLEAVE_CHECK(check_floating(op, "C2", 0));
  if (!op.bool_attr("half_to_float")) return Types{typed_like(x, x.dtype, x.shape)};
  if (x.dtype != DType::bf16 && x.dtype != DType::f16)
    return op.broken("C3", "half_to_float with self: {}, expected bf16 or f16", x.text());
  return Types{typed_like(x, DType::f32, x.shape)};
}

Result<Types> infer_softmax_backward(const OpView& op) {
  const Type &d = op.in_type(0), &y = op.in_type(1);
  CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim"), d, Rank0::as_one, "grad_output"));
  if (!is_floating(d.dtype) || d.dtype != y.dtype)
    return op.broken("C2", "grad_output and output are {} and {}, expected one floating dtype",
                     d.text(), y.text());
  CLEAVE_CHECK(check_same_shape(op, "C2", "grad_output and output", d.shape, y.shape));
  const DType t = *op.dtype_attr("input_dtype");
  const bool narrow = t == DType::bf16 || t == DType::f16;
  if (t != d.dtype && !(narrow && d.dtype == DType::f32))
    return op.broken("C3",
                     "input_dtype is {} for grad_output: {}, expected its dtype, or bf16 or "
                     "f16 where that is f32",
                     name_of(t), d.text());
  return Types{typed_like(d, t, d.shape)};
}

std::vector<int64_t> softmax_dims(const OpView& op) {
  const int64_t rank = op.in_type(0).rank();
  if (rank == 0) return {};
  return {from_front(op.int_attr("dim"), rank)};
}

DType softmax_dtype(DType t) { return t == DType::f64 ? t : DType::f32; }

GradFn softmax_grad(std::string backward) {
  return [backward = std::move(backward)](Builder& b, const GradView& op) -> Values {
    return {b.call1(backward, {op.dout(0), op.out(0)},
                    {{"dim", op.int_attr("dim")}, {"input_dtype", op.in_type(0).dtype}})};
  };
}

ReferenceFn softmax_reference(DType (*result)(const OpView&, const Array&), LineFn f) {
  return [result, f = std::move(f)](const OpView& op,
                                    std::span<const Array* const> in) -> Result<Arrays> {
    Array y(result(op, *in[0]), in[0]->shape);
    for_each_line(y.shape, folded_dim(op.int_attr("dim"), y.rank()),
                  [&](int64_t, const std::vector<int64_t>& line) { f(in, line, y); });
    return Arrays{y};
  };
}

DType forward_dtype(const OpView& op, const Array& self) {
  return op.bool_attr("half_to_float") ? DType::f32 : self.dtype;
}

DType backward_dtype(const OpView& op, const Array&) { return *op.dtype_attr("input_dtype"); }

std::vector<Sample> softmax_samples() {
  const auto call = [](SampleTensor x, int dim, bool to_float = false) {
    return Sample{{std::move(x)}, {{"dim", dim}, {"half_to_float", to_float}}};
  };
  return {call(f32({2, 3}), 1),
          call(f64({2, 3}), -1),
          call(bf16({3, 5}), 1),
          call(f16({3, 5}), 1),
          call(bf16({5, 7, 4}), -2),
          call(f32({3, 2}), 0),
          call(f32({2, 3, 4}), 1),
          call(f32({2, 37}), 1),
          call(f32({3, 70}), 0),
          call(f32({2, 4, 3, 2}), 2),
          call(bf16({3, 4}), 1, true),
          call(f16({4, 3}), 0, true),
          call(f32({}), 0),
          call(f32({}), -1),
          call(f32({0, 3}), 1),
          call(f32({3, 0}), 1),
          call(f32({1}), 0),
          call(f32({2, 4}).range(-100, 100), 1),
          call(f32({2, 2}).with({-INFINITY, 1, -INFINITY, -INFINITY}), 1),
          call(f32({2, 2}).with({-INFINITY, 1, NAN, 0}), 0),
          call(f32({2, 3}).with({INFINITY, 1, 2, 0, 1, 2}), 1)};
}

std::vector<Sample> softmax_backward_samples(double lo, double hi) {
  const auto call = [&](DType t, std::vector<int64_t> shape, int dim, DType input) {
    return Sample{{sample(t, shape), sample(t, shape).range(lo, hi)},
                  {{"dim", dim}, {"input_dtype", input}}};
  };
  const DType f = DType::f32;
  return {call(f, {2, 3}, 1, f),
          call(DType::f64, {2, 3}, -1, DType::f64),
          call(DType::bf16, {3, 5}, 1, DType::bf16),
          call(DType::f16, {3, 5}, 0, DType::f16),
          call(f, {3, 2}, 0, f),
          call(f, {2, 3, 4}, 1, f),
          call(f, {2, 37}, 1, f),
          call(f, {3, 70}, 0, f),
          call(f, {2, 4}, 1, DType::bf16),
          call(f, {4, 2}, 0, DType::f16),
          call(f, {}, 0, f),
          call(f, {0, 3}, 1, f),
          call(f, {3, 0}, 1, f),
          call(f, {1}, 0, f)};
}

std::vector<Reject> softmax_rejects(const std::string& name) {
  const auto call = [](SampleTensor x, int dim, bool to_float) {
    return Sample{{std::move(x)}, {{"dim", dim}, {"half_to_float", to_float}}};
  };
  return {
      {"C1", call(f32({2, 3}), 2, false),
       name + ": C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
      {"C2", call(i64({2}), 0, false), name + ": C2: self is i64[2], expected a floating dtype"},
      {"C3", call(f32({2}), 0, true),
       name + ": C3: half_to_float with self: f32[2], expected bf16 or f16"}};
}

std::vector<Reject> softmax_backward_rejects(const std::string& name) {
  const auto call = [](SampleTensor d, SampleTensor y, int dim, DType input) {
    return Sample{{std::move(d), std::move(y)}, {{"dim", dim}, {"input_dtype", input}}};
  };
  return {
      {"C1", call(f32({2, 3}), f32({2, 3}), 2, DType::f32),
       name + ": C1: dim 2 is outside [-2, 2) of grad_output: f32[2,3]"},
      {"C2", call(f32({2}), f64({2}), 0, DType::f32),
       name + ": C2: grad_output and output are f32[2] and f64[2], expected one floating dtype"},
      {"C2", call(f32({2}), f32({3}), 0, DType::f32),
       name + ": C2: grad_output and output: [2] and [3], expected equal shapes"},
      {"C3", call(f32({2}), f32({2}), 0, DType::f64),
       name + ": C3: input_dtype is f64 for grad_output: f32[2], expected its dtype, or bf16 or "
              "f16 where that is f32"}};
}

}  // namespace cleave
