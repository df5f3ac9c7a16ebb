// any(self; dim, keepdim)    whether some element over dims is not 0; no elements: false
// all(self; dim, keepdim)    whether every element is not 0; no elements: true
//   (C1) dims in range  (C2) each once
// The result is bool, u8 for u8. NaN counts as not 0. Without dim every dim is folded, but dim=[]
// folds none: only here does PyTorch distinguish the two.
#include <algorithm>
#include <cmath>

#include "op/reduction.h"

namespace cleave {
namespace {

using loop::Expr;

std::vector<int64_t> logical_dims(const OpView& op) {
  const AttrList* list = op.attr("dim").get<AttrList>();
  return list && list->empty() ? std::vector<int64_t>{} : reduction_dims(op);
}

Result<Types> infer_logical(const OpView& op) {
  CLEAVE_CHECK(checked_reduction(op));
  const Type& x = op.in_type(0);
  return Types{typed_like(x, x.dtype == DType::u8 ? DType::u8 : DType::boolean,
                          reduced_shape(x.shape, logical_dims(op), op.bool_attr("keepdim")))};
}

ReferenceFn reference_logical(bool all) {
  return [all](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
    const Array& x = *in[0];
    std::vector<bool> folded = folded_dims(op, x);
    if (!op.attr("dim").is_none() && op.attr("dim").get<AttrList>()->empty())
      folded.assign(folded.size(), false);
    Array y(x.dtype == DType::u8 ? DType::u8 : DType::boolean,
            kept_shape(x.shape, folded, op.bool_attr("keepdim")));
    for_each_line(x.shape, folded, [&](int64_t k, const std::vector<int64_t>& line) {
      const auto is_true = [&](int64_t at) { return x.number(at) != 0; };
      y.i[k] = all ? std::all_of(line.begin(), line.end(), is_true)
                   : std::any_of(line.begin(), line.end(), is_true);
    });
    return Arrays{y};
  };
}

loop::ReductionRule logical_rule(loop::ReduceOp op) {
  loop::ReductionRule rule;
  rule.op = op;
  rule.dims = logical_dims;
  rule.map = [](const OpView&, Expr x) { return loop::cast(std::move(x), DType::boolean); };
  rule.finish = [](const OpView& o, Expr folded, int64_t) {
    return loop::cast(std::move(folded), loop::compute_type(o.out_type(0).dtype));
  };
  return rule;
}

OpDef logical(const std::string& name, bool all) {
  return OpDef{
      .name = name,
      .signature = "(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor",
      .summary = fmt::format("Whether {} element over dims is not 0.", all ? "every" : "some"),
      .source = fmt::format("aten::{0}, {0}.dim, {0}.dims, PyTorch 2.13", name),
      .traits = reduction_traits,
      .infer = infer_logical,
      .reference = reference_logical(all),
      .decompose = Absent{"a primitive reduction"},
      .grad = Absent{"the result is bool"},
      .lower = loop::reduction(logical_rule(all ? loop::ReduceOp::all : loop::ReduceOp::any)),
      .cost = cost_per_operand(1),
      .samples =
          [] {
            const std::vector<int64_t> none;
            return joined({fold_samples(DType::boolean),
                           over_dtypes(all_dtypes, {3, 4}, {{"dim", {0}}}),
                           {{{boolean({2, 3})}, {{"dim", none}}},
                            {{boolean({0})}},
                            {{boolean({2, 0})}, {{"dim", {1}}}},
                            {{i64({3, 3}).range(0, 2)}, {{"dim", {1}}}},
                            {{f32({2, 2}).with({0, NAN, 0, 0.5})}, {{"dim", {1}}}},
                            {{f32({2, 2}).with({0, -0.0, 1, 2})}, {{"dim", {1}}}},
                            {{sample(DType::u8, {2, 2}).range(0, 2)}, {{"dim", {0}}}}}});
          },
      .rejects = [=]() -> Rejects {
        return {{"C1",
                 {{boolean({2, 3})}, {{"dim", {2}}}},
                 name + ": C1: dim 2 is outside [-2, 2) of self: bool[2,3]"},
                {"C2",
                 {{boolean({2, 3})}, {{"dim", {0, 0}}}},
                 name + ": C2: dim 0 is named twice in [0,0], expected once"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(logical_reduction) { return {logical("any", false), logical("all", true)}; }

}  // namespace cleave
