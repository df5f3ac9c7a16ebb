// Truth tables of two operands, with a bool result; any non-zero value, NaN too, is true.
//
//   logical_and logical_or logical_xor (self, other) -> y
//   self, other  any dtypes; they broadcast (C1) on one device (C2)
//   y            bool
#include "op/cost.h"
#include "op/entry.h"
#include "op/pair_samples.h"
#include "op/pointwise.h"
#include "op/pointwise_reference.h"

namespace cleave {
namespace {

struct LogicalRow {
  const char* name;
  const char* summary;
  bool (*value)(bool, bool);
  loop::Op op;
};

// Each operand is tested in its own dtype, without promotion.
Result<Arrays> reference_logical(const OpView& op, std::span<const Array* const> in,
                                 bool (*value)(bool, bool)) {
  Array out = result_array(op, 0);
  std::vector<int64_t> index(out.shape.size(), 0);
  const auto truth = [&](const Array& a) {
    return a.number(broadcast_position(index, a.shape)) != 0;
  };
  for (int64_t k = 0; k < out.numel(); ++k) {
    out.i[k] = value(truth(*in[0]), truth(*in[1]));
    next_index(index, out.shape);
  }
  return Arrays{std::move(out)};
}

OpDef logical_entry(const LogicalRow& row) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto samples = [] {
    const std::vector<Sample> more = {
        {{boolean({4}).with({0, 0, 1, 1}), boolean({4}).with({0, 1, 0, 1})}},
        {{boolean({2, 3}), boolean({3})}},
        {{f32({3}).with({0, nan, 0.5}), i64({3, 1}).with({0, 1, -2})}},
        {{bf16({3}).ties(2), boolean({3})}},
        {{i32({4}).range(0, 2), i32({4}).range(0, 2)}},
        {{sample(DType::u8, {3}).range(0, 2), sample(DType::i8, {3}).range(-1, 1)}},
        {{sample(DType::i16, {3}).range(0, 2), boolean({})}},
        {{boolean({}), boolean({})}},
        {{boolean({0, 3}), boolean({1, 3})}},
        {{f64({3}).with({-0.0, 0, 1e-300}), f64({3}).with({1, 1, 0})}},
        {{f16({2, 1}).with({0, 6e-8}), bf16({1, 3}).ties(2)}},
        {{i64({2}).with({-9223372036854775808.0, 0}), boolean({2, 1})}},
        {{boolean({3, 40}), boolean({40})}},
        {{f32({4}).with({nan, 0, nan, 1}), f32({4}).with({0, nan, nan, 0})}}};
    return joined({floating_pairs({}), more});
  };
  return OpDef{
      .name = row.name,
      .signature = "(Tensor self, Tensor other) -> Tensor",
      .summary = row.summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) { return pointwise_type(op, DType::boolean, {0, 1}); },
      .reference = [f = row.value](
                       const OpView& op,
                       std::span<const Array* const> in) { return reference_logical(op, in, f); },
      .decompose = Absent{"primitive"},
      .grad = Absent{"bool result"},
      .lower = loop::pointwise([f = row.op](const OpView&, const loop::Exprs& x) {
        return loop::binary(f, loop::cast(x[0], DType::boolean), loop::cast(x[1], DType::boolean));
      }),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = [name = row.name] { return pair_rejects(name); },
      .nondifferentiable = 1,
  };
}

}  // namespace

CLEAVE_OPS(logical) {
  using loop::Op;
  return {
      logical_entry({"logical_and", "whether both are non-zero",
                     [](bool a, bool b) { return a && b; }, Op::logical_and}),
      logical_entry({"logical_or", "whether one is non-zero", [](bool a, bool b) { return a || b; },
                     Op::logical_or}),
      logical_entry({"logical_xor", "whether exactly one is non-zero",
                     [](bool a, bool b) { return a != b; }, Op::ne}),
  };
}

}  // namespace cleave
