#include "op/unary.h"

#include <limits>

#include "op/cost.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::string aten(const std::string& name) { return "aten::" + name + ", PyTorch 2.13"; }

// Values outside some domain, at poles, and of extreme size.
const std::vector<double> special = {0, -0.0, 1, -1, nan, inf, -inf, 1e-30, -1e-30, 30, -30};

std::vector<Sample> float_samples(double lo, double hi) {
  const auto at = [&](const SampleTensor& t) { return Sample{{t.range(lo, hi)}}; };
  std::vector<Sample> s = {at(f32({2, 3})),
                           at(f64({4})),
                           at(f32({})),
                           at(f32({0, 3})),
                           at(bf16({3, 2})),
                           at(f16({5})),
                           at(f32({2, 1, 17})),
                           {{f32({11}).with(special)}},
                           {{f64({11}).with(special)}},
                           {{bf16({11}).with(special)}},
                           {{f16({11}).with(special)}},
                           {{bf16({2}).with({0.95703125, 0.5})}},  // 1 - x * x cancels
                           at(f16({2, 3, 2})),
                           at(bf16({})),
                           at(f64({})),
                           at(f64({0})),
                           at(f32({1})),
                           at(f64({2, 3})),
                           at(bf16({3, 67})),
                           at(f32({4, 33}))};
  std::vector<double> whole;  // integers of the domain
  for (int v = -3; v <= 3; ++v)
    if (v >= lo && v < hi) whole.push_back(v);
  if (!whole.empty()) {
    const auto n = static_cast<int64_t>(whole.size());
    s.push_back({{i64({n}).with(whole)}});
    s.push_back({{i32({1, n}).with(whole)}});
    s.push_back({{sample(DType::i16, {n}).with(whole)}});
    s.push_back({{sample(DType::i8, {n, 1}).with(whole)}});
    std::erase_if(whole, [](double v) { return v < 0; });
    if (!whole.empty())
      s.push_back({{sample(DType::u8, {static_cast<int64_t>(whole.size())}).with(whole)}});
  }
  if (lo <= 0 && hi > 1) s.push_back({{boolean({4})}});
  return s;
}

int64_t identity(int64_t x) { return x; }

bool not_bool(DType t) { return t != DType::boolean; }

}  // namespace

OpDef float_entry(const FloatRow& row) {
  return OpDef{
      .name = row.name,
      .signature = "(Tensor self) -> Tensor",
      .summary = row.summary,
      .source = aten(row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        return like_self(op, to_floating(op.in_type(0).dtype));
      },
      .reference =
          [value = row.value](const OpView& op, std::span<const Array* const> in) {
            return reference_unary(op, in, value, nullptr);
          },
      .decompose = Absent{"primitive"},
      .grad = row.one_node ? unary_grad(row.grad) : wide_grad(unary_grad(row.grad)),
      .lower = loop::pointwise([f = row.lower](const OpView& op, const loop::Exprs& x) {
        return f(loop::operand_as(op, x, 0, op.out_type(0).dtype));
      }),
      .cost = cost_per_result(row.flops),
      .samples = [lo = row.lo, hi = row.hi] { return float_samples(lo, hi); },
      .rejects = {},
  };
}

Samples numeric_samples() {
  const std::vector<double> mixed = {-2.25, -1.75, -0.625, 0.25, 1.375, 2.75};
  return {{{f32({2, 3}).with(mixed)}},
          {{f64({6}).with(mixed)}},
          {{f32({}).range(0.1, 0.4)}},
          {{f32({0, 3})}},
          {{bf16({6}).with(mixed)}},
          {{f16({3, 2}).with(mixed)}},
          {{i64({5})}},
          {{i64({2}).with({-4611686018427387904.0, 4503599627370497.0})}},
          {{i32({2, 3})}},
          {{sample(DType::i8, {3}).with({-128, -1, 127})}},
          {{sample(DType::u8, {3}).with({0, 3, 255})}},
          {{sample(DType::i16, {3}).with({-32768, 0, 32767})}},
          {{i32({2}).with({-2147483648.0, 2147483647.0})}},
          {{f32({11}).with(special)}},
          {{f64({11}).with(special)}},
          {{bf16({11}).with(special)}},
          {{f16({11}).with(special)}},
          {{bf16({})}},
          {{i64({})}},
          {{i64({0, 2})}},
          {{bf16({0})}},
          {{f32({5}).with({0.5, -0.5, 1.5, 2.5, -1.5})}},
          {{bf16({5}).with({0.5, -0.5, 1.5, 2.5, -1.5})}},
          {{f64({2, 3, 4})}},
          {{bf16({3, 67})}},
          {{f32({4, 33})}}};
}

OpDef numeric_entry(const NumericRow& row) {
  const bool on_integers = row.integer != nullptr;
  return OpDef{
      .name = row.name,
      .signature = "(Tensor self) -> Tensor",
      .summary = row.summary,
      .source = aten(row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(expect_dtype(op, "C1", 0, not_bool, "a floating or integer dtype"));
        return like_self(op, op.in_type(0).dtype);
      },
      .reference =
          [value = row.value, integer = on_integers ? row.integer : identity](
              const OpView& op, std::span<const Array* const> in) {
            return reference_unary(op, in, value, integer);
          },
      .decompose = Absent{"primitive"},
      .grad = row.grad ? unary_grad(row.grad) : zero_grad(),
      .lower =
          loop::pointwise([f = row.lower, on_integers](const OpView& op, const loop::Exprs& x) {
            return is_floating(op.in_type(0).dtype) || on_integers ? f(x[0]) : x[0];
          }),
      .cost = cost_per_result(1),
      .samples = numeric_samples,
      .rejects = [=]() -> Rejects {
        return {{"C1",
                 {{boolean({2})}},
                 fmt::format("{}: C1: self is bool[2], expected a floating or integer dtype",
                             row.name)}};
      },
  };
}

OpDef predicate_entry(const PredicateRow& row) {
  return OpDef{
      .name = row.name,
      .signature = "(Tensor self) -> Tensor",
      .summary = row.summary,
      .source = aten(row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> { return like_self(op, DType::boolean); },
      .reference =
          [value = row.value, integer = row.integer](const OpView& op,
                                                     std::span<const Array* const> in) {
            return reference_unary(
                op, in, [value](double x) { return value(x) ? 1.0 : 0.0; },
                [integer](int64_t x) { return int64_t{integer(x)}; });
          },
      .decompose = Absent{"primitive"},
      .grad = Absent{"bool result"},
      .lower =
          loop::pointwise([f = row.lower](const OpView&, const loop::Exprs& x) { return f(x[0]); }),
      .cost = cost_per_result(1),
      .samples = []() -> Samples {
        return {{{f32({2, 4}).with({0, -0.0, 1, nan, inf, -inf, 0.5, -2})}},
                {{f64({4}).with({nan, -inf, 0, 1e300})}},
                {{f32({})}},
                {{f32({0})}},
                {{bf16({4}).with({0, nan, inf, 3})}},
                {{f16({4}).with({0, nan, -inf, 3})}},
                {{i64({5}).ties(2)}},
                {{i32({3}).with({0, 1, -7})}},
                {{boolean({5})}},
                {{f64({6}).with({nan, inf, -inf, 0, -0.0, 1e-308})}},
                {{f32({5}).with({nan, inf, 3e38, 1e-45, -nan})}},
                {{bf16({2, 3}).with({nan, inf, -inf, 0, -0.0, 3e38})}},
                {{f16({5}).with({65504, inf, nan, 6e-8, -0.0})}},
                {{f32({2, 1, 3})}},
                {{f32({1})}},
                {{f32({0, 3})}},
                {{bf16({})}},
                {{f64({}).with({nan})}},
                {{i64({})}},
                {{i64({0})}},
                {{sample(DType::i16, {2}).with({0, -300})}},
                {{sample(DType::i8, {2}).with({0, -128})}},
                {{sample(DType::u8, {2}).with({0, 255})}},
                {{boolean({})}},
                {{bf16({3, 67})}},
                {{f32({4, 33})}}};
      },
      .rejects = {},
      .nondifferentiable = 1,
  };
}

}  // namespace cleave
