// Sizes as scalars i64[]: sym_size(self; dim), sym_numel(self); whether two shapes are equal, as
// bool[]: is_same_size(self, other).
//
// A known size is a constant; a symbolic one gets its value with the input's shape.
//   (C1) dim in range of self, which has a dim
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Exprs;

Types scalar(const OpView& op) { return {typed_like(op.in_type(0), DType::i64, {})}; }

Result<Arrays> one_number(int64_t n) {
  Array y(DType::i64, {});
  y.i[0] = n;
  return Arrays{y};
}

OpDef sym_size() {
  return OpDef{
      .name = "sym_size",
      .signature = "(Tensor self, int dim) -> Tensor",
      .summary = "The size of a dim.",
      .source = "aten::sym_size.int, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim"), op.in_type(0), Rank0::refused));
        return scalar(op);
      },
      .reference = [](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        const int64_t dim = op.int_attr("dim");
        return one_number(dim < 0 ? *(in[0]->shape.end() + dim) : in[0]->shape[dim]);
      },
      .decompose = Absent{"primitive: a constant"},
      .grad = Absent{"the result is an integer"},
      .lower = loop::elementwise([](loop::KernelBuilder&, const OpView& op, const Exprs&) -> Exprs {
        const Type& x = op.in_type(0);
        return {loop::Expr(x.shape[from_front(op.int_attr("dim"), x.rank())].value())};
      }),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 3}, {{"dim", 1}}),
                           {{{f32({2, 3})}, {{"dim", -2}}},
                            {{f32({0})}, {{"dim", 0}}},
                            {{f32({1})}, {{"dim", -1}}},
                            {{bf16({2, 0, 3})}, {{"dim", 1}}},
                            {{f32({2, 3, 4, 5})}, {{"dim", 2}}},
                            {{f32({2, 3, 4, 5})}, {{"dim", -4}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2})}, {{"dim", 1}}},
                 "sym_size: C1: dim 1 is outside [-1, 1) of self: f32[2]"},
                {"C1",
                 {{f32({})}, {{"dim", 0}}},
                 "sym_size: C1: dim 0 is outside [0, 0) of self: f32[]"}};
      },
  };
}

OpDef sym_numel() {
  return OpDef{
      .name = "sym_numel",
      .signature = "(Tensor self) -> Tensor",
      .summary = "The number of elements.",
      .source = "aten::sym_numel, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [](const OpView& op) -> Result<Types> { return scalar(op); },
      .reference = [](const OpView&, std::span<const Array* const> in) -> Result<Arrays> {
        return one_number(in[0]->numel());
      },
      .decompose = Absent{"primitive: a constant"},
      .grad = Absent{"the result is an integer"},
      .lower = loop::elementwise([](loop::KernelBuilder&, const OpView& op, const Exprs&) -> Exprs {
        return {loop::Expr(op.in_type(0).numel().value())};
      }),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 3}),
                           {{{f32({})}},
                            {{f32({0, 2})}},
                            {{f32({1, 1, 1})}},
                            {{bf16({2, 3, 4, 5})}},
                            {{f64({70})}}}});
          },
      .rejects = {},
  };
}

// The answer for a graph with symbols is that for the sizes that are put in for them.
OpDef is_same_size() {
  return OpDef{
      .name = "is_same_size",
      .signature = "(Tensor self, Tensor other) -> Tensor",
      .summary = "Whether both have the same shape.",
      .source = "aten::is_same_size, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [](const OpView& op) -> Result<Types> {
        return Types{typed_like(op.in_type(0), DType::boolean, {})};
      },
      .reference = [](const OpView&, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(DType::boolean, {});
        y.i[0] = in[0]->shape == in[1]->shape ? 1 : 0;
        return Arrays{y};
      },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        return {b.full({}, op.in_type(0).shape == op.in_type(1).shape, DType::boolean)};
      },
      .grad = Absent{"the result is a boolean"},
      .lower = loop::elementwise([](loop::KernelBuilder&, const OpView& op, const Exprs&) -> Exprs {
        return {loop::Expr(op.in_type(0).shape == op.in_type(1).shape)};
      }),
      .cost = cost_of_view(),
      .samples =
          [] {
            return Samples{{{f32({2, 3}), f32({2, 3})}},   {{f32({2, 3}), f32({3, 2})}},
                           {{f32({2, 3}), i64({2, 3})}},   {{f32({2, 3}), f32({2, 3, 1})}},
                           {{f32({}), f64({})}},           {{f32({}), f32({1})}},
                           {{bf16({0, 3}), bf16({0, 3})}}, {{f32({0, 3}), f32({3, 0})}},
                           {{boolean({5}), i32({5})}}};
          },
      .rejects = {},
  };
}

}  // namespace

CLEAVE_OPS(size) { return {sym_size(), sym_numel(), is_same_size()}; }

}  // namespace cleave
