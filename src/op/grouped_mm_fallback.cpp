// Products of groups of rows, as transformers calls them in models with experts:
//
//   grouped_mm_fallback(input, weight, offs) -> y
//     y[rows of i] = input[rows of i] @ weight[i]
//   grouped_mm_fallback_backward(input, weight, offs, grad_output) -> dinput, dweight
//
//   input [m,k]   weight [g,k,n]   offs i32 or i64 [g]   y, grad_output [m,n]
//   (C1) ranks are these                  (C2) dtypes are one floating one
//   (C3) the inner sizes are equal        (C4) offs is i64 or i32, one for each group
//   (C5) grad_output is like y            (C6) operands are on one device
//
// What lies in group i is said in grouped_product.cpp. Source: transformers 5,
// src/transformers/integrations/moe.py.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/grouped_product.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

enum Operand { at_input, at_weight, at_offs, at_grad };

Result<Type> result_type(const OpView& op) {
  const Type &x = op.in_type(at_input), &w = op.in_type(at_weight);
  for (const auto& [k, rank] : {std::pair{at_input, 2}, {at_weight, 3}})
    if (op.in_type(k).rank() != rank)
      return op.broken("C1", "{} is {}, expected rank {}", operand_name(op, k),
                       op.in_type(k).text(), rank);
  CLEAVE_CHECK(check_floating(op, "C2", at_input));
  CLEAVE_CHECK(check_same_dtype(op, "C2", at_weight, at_input));
  CLEAVE_CHECK(check_equal(op, "C3", "inner sizes", x.shape[1], w.shape[1]));
  CLEAVE_CHECK(check_group_ends(op, "C4", at_offs, w.shape[0]));
  CLEAVE_CHECK(common_device(op, "C6", {at_input, at_weight, at_offs}));
  return typed_like(x, x.dtype, {x.shape[0], w.shape[2]});
}

Result<Types> infer_forward(const OpView& op) {
  CLEAVE_TRY(Type y, result_type(op));
  return Types{std::move(y)};
}

Result<Types> infer_backward(const OpView& op) {
  CLEAVE_TRY(const Type y, result_type(op));
  const Type &x = op.in_type(at_input), &w = op.in_type(at_weight), &g = op.in_type(at_grad);
  CLEAVE_CHECK(check_same_dtype(op, "C5", at_grad, at_input));
  CLEAVE_CHECK(check_same_shape(op, "C5", "grad_output and the result", g.shape, y.shape));
  CLEAVE_CHECK(common_device(op, "C6", {at_input, at_weight, at_offs, at_grad}));
  return Types{typed_like(x, x.dtype, x.shape), typed_like(x, w.dtype, w.shape)};
}

Result<Arrays> reference_forward(const OpView& op, std::span<const Array* const> in) {
  const Array &x = *in[at_input], &w = *in[at_weight];
  Array y(x.dtype, static_shape(op.out_type(0)));
  const int64_t k = w.shape[1], n = w.shape[2];
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    const int64_t g = group_of(*in[at_offs], i);
    for (int64_t j = 0; g >= 0 && j < n; ++j) {
      ReferenceSum sum;
      for (int64_t p = 0; p < k; ++p) sum += x.f[i * k + p] * w.f[(g * k + p) * n + j];
      y.set(i * n + j, sum);
    }
  }
  return Arrays{std::move(y)};
}

Result<Arrays> reference_backward(const OpView&, std::span<const Array* const> in) {
  const Array &x = *in[at_input], &w = *in[at_weight], &dy = *in[at_grad];
  const int64_t m = x.shape[0], k = w.shape[1], n = w.shape[2];
  Array dx(x.dtype, x.shape), dw(w.dtype, w.shape);
  ReferenceSums to_x(dx.f.size()), to_w(dw.f.size());
  for (int64_t i = 0; i < m; ++i) {
    const int64_t g = group_of(*in[at_offs], i);
    if (g < 0) continue;
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = (g * k + p) * n + j;
        to_x[i * k + p] += dy.f[i * n + j] * w.f[at];
        to_w[at] += x.f[i * k + p] * dy.f[i * n + j];
      }
  }
  for (size_t i = 0; i < to_x.size(); ++i) dx.set(static_cast<int64_t>(i), to_x[i]);
  for (size_t i = 0; i < to_w.size(); ++i) dw.set(static_cast<int64_t>(i), to_w[i]);
  return Arrays{std::move(dx), std::move(dw)};
}

// The cotangents of x and w where y = x w has that of `dy`.
Values grads(Builder& b, ValueId x, ValueId w, ValueId ends, ValueId dy) {
  return {grouped_product(b, dy, exchanged(b, w), ends),
          grouped_product(b, exchanged(b, x), dy, ends)};
}

Values grad_forward(Builder& b, const GradView& op) {
  if (op.dout(0).is_none()) return op.no_grads();
  const Values d = grads(b, op.in(at_input), op.in(at_weight), op.in(at_offs), op.dout(0));
  return {d[0], d[1], ValueId::none()};
}

// dx = dy w', dw = x' dy.
Values grad_backward(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  const ValueId x = op.in(at_input), w = op.in(at_weight), ends = op.in(at_offs),
                dy = op.in(at_grad), u = op.dout(0), v = op.dout(1);
  if (!u.is_none()) {
    d[at_weight] = grouped_product(b, exchanged(b, u), dy, ends);
    d[at_grad] = grouped_product(b, u, w, ends);
  }
  if (!v.is_none()) {
    const ValueId more = grouped_product(b, x, v, ends);
    d[at_input] = grouped_product(b, dy, exchanged(b, v), ends);
    d[at_grad] = u.is_none() ? more : b.add(d[at_grad], more);
  }
  return d;
}

CostFn cost(int64_t products) {
  return [products](const OpView& op) {
    const int64_t n = op.env().hint_of(op.in_type(at_weight).shape[2]);
    return Cost{2 * products * n * numel_hint(op, op.in_type(at_input)), bytes_moved(op)};
  };
}

Samples samples(bool is_backward) {
  Samples out;
  const auto add = [&](DType t, int64_t m, int64_t k, int64_t n, const SampleTensor& ends) {
    out.push_back({{sample(t, {m, k}), sample(t, {ends.type.shape[0].value(), k, n}), ends}});
    if (is_backward) out.back().operands.push_back(sample(t, {m, n}));
  };
  for (const DType t : floating_dtypes) add(t, 6, 4, 2, group_ends({2, 2, 5}));
  add(DType::f32, 7, 3, 2, group_ends({-1, 3, 1, 9}, DType::i64));
  add(DType::f32, 0, 3, 2, group_ends({0, 0}));
  add(DType::f32, 4, 0, 2, group_ends({1, 4}));
  add(DType::f32, 4, 3, 2, group_ends({}));
  add(DType::f32, 12, 3, 9, group_ends({3, 3, 12}));
  return out;
}

Rejects rejects(const std::string& op, bool is_backward) {
  const auto call = [&](SampleTensor x, SampleTensor w, SampleTensor ends) {
    Sample s{{std::move(x), std::move(w), std::move(ends)}};
    if (is_backward) s.operands.push_back(f32({6, 4}));
    return s;
  };
  const SampleTensor ends = group_ends({2, 5});
  const std::string name = op + ": ";
  Rejects out = {
      {"C1", call(f32({3}), f32({2, 3, 4}), ends), name + "C1: input is f32[3], expected rank 2"},
      {"C1", call(f32({6, 3}), f32({3, 4}), ends),
       name + "C1: weight is f32[3,4], expected rank 3"},
      {"C2", call(i64({6, 3}), i64({2, 3, 4}), ends),
       name + "C2: input is i64[6,3], expected a floating dtype"},
      {"C2", call(f32({6, 3}), f64({2, 3, 4}), ends),
       name + "C2: weight is f64[2,3,4], expected the dtype of input: f32"},
      {"C3", call(f32({6, 3}), f32({2, 4, 4}), ends),
       name + "C3: inner sizes: 3 and 4, expected equal"},
      {"C4", call(f32({6, 3}), f32({2, 3, 4}), i32({3})),
       name + "C4: ends and groups: 3 and 2, expected equal"},
      {"C4", call(f32({6, 3}), f32({2, 3, 4}), i32({2, 1})),
       name + "C4: offs is i32[2,1], expected one dim"},
      {"C6", call(f32({6, 3}), on_cuda(f32({2, 3, 4})), ends),
       name + "C6: input is f32[6,3] and weight is f32[2,3,4]@cuda:0, expected one device"}};
  if (is_backward) {
    out.push_back({"C5",
                   {{f32({6, 3}), f32({2, 3, 4}), ends, f64({6, 4})}},
                   name + "C5: grad_output is f64[6,4], expected the dtype of input: f32"});
    out.push_back(
        {"C5",
         {{f32({6, 3}), f32({2, 3, 4}), ends, f32({6, 3})}},
         name + "C5: grad_output and the result: [6,3] and [6,4], expected equal shapes"});
  }
  return out;
}

}  // namespace

CLEAVE_OPS(grouped_mm_fallback) {
  const std::string forward = "grouped_mm_fallback", backward = "grouped_mm_fallback_backward";
  return {
      OpDef{
          .name = forward,
          .signature = "(Tensor input, Tensor weight, Tensor offs) -> Tensor",
          .summary = "Matrix products of groups of rows, whose ends are data.",
          .source = "transformers::grouped_mm_fallback, transformers 5",
          .traits = Trait::compute_intensive | Trait::recomputable,
          .infer = infer_forward,
          .reference = reference_forward,
          .decompose = [](Builder& b, const OpView& op) -> Values {
            return {grouped_product(b, op.in(at_input), op.in(at_weight), op.in(at_offs))};
          },
          .grad = grad_forward,
          .lower = loop::by_decomposition(),
          .cost = cost(1),
          .samples = [] { return samples(false); },
          .rejects = [forward] { return rejects(forward, false); },
      },
      OpDef{
          .name = backward,
          .signature =
              "(Tensor input, Tensor weight, Tensor offs, Tensor grad_output) -> (Tensor, Tensor)",
          .summary = "The gradients of grouped_mm_fallback's input and weight.",
          .source = "transformers::grouped_mm_fallback_backward, transformers 5",
          .traits = Trait::compute_intensive | Trait::recomputable,
          .infer = infer_backward,
          .reference = reference_backward,
          .decompose = [](Builder& b, const OpView& op) -> Values {
            return grads(b, op.in(at_input), op.in(at_weight), op.in(at_offs), op.in(at_grad));
          },
          .grad = grad_backward,
          .lower = loop::by_decomposition(),
          .cost = cost(2),
          .samples = [] { return samples(true); },
          .rejects = [backward] { return rejects(backward, true); },
      },
  };
}

}  // namespace cleave
