// adam_step(param, grad, exp_avg, exp_avg_sq, step_size, denom_scale, keep; beta1, beta2, eps)
//     -> param', exp_avg', exp_avg_sq'
//
//   m' = m + (1 - beta1) (g - m)
//   v' = beta2 v + ((1 - beta2) g) g
//   p' = p keep - (m' step_size) / (sqrt(v') / denom_scale + eps)
//
//   param       f32|f64 [*s]
//   grad, exp_avg, exp_avg_sq  of its type             (C1) same dtype and shape as param
//   step_size   of its dtype, []                       (C2) lr / (1 - beta1^t)
//   denom_scale of its dtype, []                       (C2) sqrt(1 - beta2^t)
//   keep        of its dtype, [] or none               (C2) 1 - lr weight_decay; none is 1
//
// One step of Adam or AdamW for one parameter, as one node: each value is read and written once.
// The arithmetic is that of torch.optim's single-tensor form, operation by operation.
#include <cmath>

#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise_lower.h"

namespace cleave {
namespace {

using loop::Expr;

enum Operand { param, grad, exp_avg, exp_avg_sq, step_size, denom_scale, keep };

Result<Types> infer(const OpView& op) {
  const Type p(op.in_type(param).dtype, op.in_type(param).shape);
  if (p.dtype != DType::f32 && p.dtype != DType::f64)
    return op.broken("C1", "param is {}, expected f32 or f64", p.text());
  for (int k : {grad, exp_avg, exp_avg_sq})
    if (op.in_type(k).dtype != p.dtype || op.in_type(k).shape != p.shape)
      return op.broken("C1", "{} is {}, expected {} as param", op.def().schema.args[k].name,
                       op.in_type(k).text(), p.text());
  for (int k : {step_size, denom_scale, keep})
    if (op.has(k) && (op.in_type(k).dtype != p.dtype || op.in_type(k).rank() != 0))
      return op.broken("C2", "{} is {}, expected {}[]", op.def().schema.args[k].name,
                       op.in_type(k).text(), name_of(p.dtype));
  return Types{p, p, p};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const double beta1 = op.float_attr("beta1"), beta2 = op.float_attr("beta2"),
               eps = op.float_attr("eps");
  Arrays out(3, Array(in[param]->dtype, in[param]->shape));
  for (int64_t i = 0; i < in[param]->numel(); ++i) {
    const double g = in[grad]->f[i];
    const double m = in[exp_avg]->f[i] + (1 - beta1) * (g - in[exp_avg]->f[i]);
    const double v = beta2 * in[exp_avg_sq]->f[i] + (1 - beta2) * g * g;
    const double kept = in[keep] ? in[keep]->f[0] : 1;
    out[0].f[i] = in[param]->f[i] * kept -
                  in[step_size]->f[0] * m / (std::sqrt(v) / in[denom_scale]->f[0] + eps);
    out[1].f[i] = m;
    out[2].f[i] = v;
  }
  return out;
}

Values decompose(Builder& b, const OpView& op) {
  const double beta1 = op.float_attr("beta1"), beta2 = op.float_attr("beta2");
  ValueId g = op.in(grad), m = op.in(exp_avg);
  m = b.add(m, b.mul(b.sub(g, m), 1 - beta1));
  ValueId v = b.add(b.mul(op.in(exp_avg_sq), beta2), b.mul(b.mul(g, 1 - beta2), g));
  ValueId p = op.has(keep) ? b.mul(op.in(param), op.in(keep)) : op.in(param);
  ValueId below = b.add(b.div(b.sqrt(v), op.in(denom_scale)), op.float_attr("eps"));
  return {b.sub(p, b.div(b.mul(m, op.in(step_size)), below)), m, v};
}

loop::Exprs lower(loop::KernelBuilder& k, const OpView& op, const loop::Exprs& i) {
  auto at = [&](int operand) { return k.load_broadcast(operand, i); };
  const Expr g = at(grad), m0 = at(exp_avg), v0 = at(exp_avg_sq), p0 = at(param);
  const double beta1 = op.float_attr("beta1"), beta2 = op.float_attr("beta2");
  const Expr m = m0 + (g - m0) * loop::same(g, 1 - beta1);
  const Expr v = v0 * loop::same(g, beta2) + g * loop::same(g, 1 - beta2) * g;
  const Expr p = op.has(keep) ? p0 * at(keep) : p0;
  const Expr below =
      loop::unary(loop::Op::sqrt, v) / at(denom_scale) + loop::same(g, op.float_attr("eps"));
  return {p - m * at(step_size) / below, m, v};
}

std::vector<Sample> samples() {
  const NamedAttrs attrs = {{"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}};
  std::vector<Sample> out;
  for (DType t : {DType::f32, DType::f64})
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 3}, {19}, {}, {0, 4}}) {
      SampleTensor x = sample(t, shape), scalar = sample(t, {}).range(0.1, 1);
      out.push_back({{x, x, x, x.range(0, 2), scalar, scalar, scalar}, attrs});
      out.push_back({{x, x, x, x.range(0, 2), scalar, scalar, std::nullopt}, attrs});
    }
  return out;
}

std::vector<Reject> rejects() {
  const NamedAttrs attrs = {{"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}};
  const SampleTensor x = f32({2}), s = f32({});
  return {
      {"C1",
       {{i64({2}), x, x, x, s, s, s}, attrs},
       "adam_step: C1: param is i64[2], expected f32 or f64"},
      {"C1",
       {{x, f32({3}), x, x, s, s, s}, attrs},
       "adam_step: C1: grad is f32[3], expected f32[2] as param"},
      {"C2", {{x, x, x, x, x, s, s}, attrs}, "adam_step: C2: step_size is f32[2], expected f32[]"}};
}

}  // namespace

CLEAVE_OPS(adam_step) {
  return {OpDef{
      .name = "adam_step",
      .signature =
          "(Tensor param, Tensor grad, Tensor exp_avg, Tensor exp_avg_sq, Tensor step_size, "
          "Tensor denom_scale, Tensor? keep, *, float beta1, float beta2, float eps) -> "
          "(Tensor, Tensor, Tensor)",
      .summary = "One parameter's step of Adam or AdamW.",
      .source = "torch.optim.adamw._single_tensor_adamw, PyTorch 2.13",
      .traits = Trait::pointwise | Trait::fusible,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = Absent{"an optimizer's step is not differentiated"},
      .lower = loop::broadcasting(lower),
      .cost = cost_per_result(14),
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
