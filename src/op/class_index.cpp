// class_index(target; classes, ignore_index, what) -> i64 like target
//   the class of each row: target, or 0 where target is ignore_index; `what` begins the message
//   about a target that is neither ignored nor in [0, classes)
//   (C1) target is an integer   (C2) classes is at least 1
//
// Losses over classes use the result to index their rows.
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

Result<Types> infer(const OpView& op) {
  const Type& target = op.in_type(0);
  if (is_floating(target.dtype) || target.dtype == DType::boolean)
    return op.broken("C1", "target is {}, expected an integer dtype", target.text());
  if (op.env().range_of(op.dim_attr("classes")).lo < 1)
    return op.broken("C2", "classes is {}, expected at least 1", op.dim_attr("classes").text());
  return Types{typed_like(target, DType::i64, target.shape)};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  Array out(DType::i64, in[0]->shape);
  const int64_t classes = op.int_attr("classes");
  for (int64_t k = 0; k < out.numel(); ++k) {
    const int64_t t = in[0]->i[k];
    if (t == op.int_attr("ignore_index")) continue;
    if (t < 0 || t >= classes)
      return user_error("{}: index {} is out of range [0, {})", op.str_attr("what"), t, classes);
    out.i[k] = t;
  }
  return Arrays{std::move(out)};
}

Exprs lower(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Expr t = k.let(cast(k.load(0, index), DType::i64), "target");
  const Expr ignored = binary(loop::Op::eq, t, Expr(op.int_attr("ignore_index")));
  return {k.checked_from_zero(select(ignored, Expr(0), t), op.int_attr("classes"),
                              op.str_attr("what"))};
}

SampleAttrs attrs(int64_t classes, int64_t ignore) {
  return {{"classes", classes}, {"ignore_index", ignore}, {"what", std::string("loss: target")}};
}

}  // namespace

CLEAVE_OPS(class_index) {
  return {OpDef{
      .name = "class_index",
      .signature = "(Tensor target, SymInt classes, SymInt ignore_index, str what) -> Tensor",
      .summary = "The class of each row, 0 where it is ignored.",
      .source = "cleave",
      .traits = Trait::fusible | Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"primitive"},
      .grad = Absent{"integer result"},
      .lower = loop::elementwise(lower, true),
      .cost = cost_per_result(2),
      .samples = []() -> Samples {
        return {{{i64({5}).range(0, 3)}, attrs(3, -100)},
                {{i64({4}).with({1, 7, 0, 7})}, attrs(2, 7)},
                {{i32({3, 2}).range(0, 9)}, attrs(9, -1)},
                {{i64({}).with({2})}, attrs(3, 0)},
                {{i64({0})}, attrs(1, 0)}};
      },
      .rejects = []() -> Rejects {
        return {
            {"C1",
             {{f32({2})}, attrs(3, 0)},
             "class_index: C1: target is f32[2], expected an integer dtype"},
            {"C2", {{i64({2})}, attrs(0, 0)}, "class_index: C2: classes is 0, expected at least 1"},
            {"index",
             {{i64({2}).with({1, 3})}, attrs(3, 0)},
             "loss: target: index 3 is out of range [0, 3)"}};
      },
      .nondifferentiable = 1,
  }};
}

}  // namespace cleave
