// Bits of integers, two's complement; on bool the same as the logical operators.
//
//   bitwise_and bitwise_or bitwise_xor (self, other) -> y
//   bitwise_not(self) -> y
//   __rshift__(self, other) -> y      self / 2^other, rounded down; (C5) no bool. A shift below 0,
//                                     or too large for the dtype, leaves only sign bits
//   self, other  integer or bool (C4: the promoted dtype); tensors that broadcast (C1) on
//                one device (C2), or a number for one of them (C3)
//   y            the operands' promoted dtype
#include "op/cost.h"
#include "op/entry.h"
#include "op/pair_samples.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"

namespace cleave {
namespace {

struct BitwiseRow {
  const char* name;
  const char* summary;
  int64_t (*value)(int64_t, int64_t);
  loop::Op bits, truth;  // on integers, on bool
};

DType meet_of(const OpView& op) { return promoted(op, {0, 1}); }
bool not_floating(DType t) { return !is_floating(t); }

std::vector<Sample> bitwise_samples() {
  const std::vector<Sample> more = {
      {{i64({3}), 5}},
      {{-7, i32({3})}},
      {{i64({2}).with({-4611686018427387904.0, 255}), i64({2}).with({-1, -256})}},
      {{boolean({4}), boolean({4})}},
      {{boolean({3}), true}},
      {{boolean({3}), 6}},
      {{boolean({3}), i32({3})}},
      {{sample(DType::u8, {3}).with({0, 170, 255}), sample(DType::u8, {3}).with({85, 15, 255})}},
      {{sample(DType::i8, {3}).with({-128, -1, 127}), sample(DType::i8, {3}).with({3, -3, 64})}},
      {{sample(DType::i16, {2}).with({-32768, 255}), sample(DType::i16, {2}).with({-1, 257})}},
      {{i32({2, 1}), i32({1, 3})}},
      {{i64({}), i64({2, 2})}},
      {{i64({}), i64({})}},
      {{boolean({2, 1}), boolean({3})}},
      {{boolean({0, 3}), boolean({1, 3})}},
      {{sample(DType::u8, {3}), 15}},
      {{sample(DType::u8, {2}).range(0, 9), boolean({2})}},
      {{i64({2, 40}), i64({40})}}};
  std::vector<Sample> integers = integer_pairs(-9, 10);
  std::erase_if(integers,
                [](const Sample& s) { return is_floating(s.operands[0].tensors[0].type.dtype); });
  return joined({integers, more});
}

std::vector<Reject> bitwise_rejects(const std::string& name) {
  SampleTensor far = i64({3});
  far.type.device = {DeviceKind::cuda, 0};
  return {{"C1",
           {{i64({2, 3}), i64({4})}},
           name + ": C1: shapes [2,3] and [4] don't broadcast: dim -1 is 3 and 4, expected equal "
                  "sizes or 1"},
          {"C2",
           {{i64({3}), far}},
           name + ": C2: self is i64[3] and other is i64[3]@cuda:0, expected one device"},
          {"C3", {{1, 2}}, name + ": C3: every operand is a number, expected at least one tensor"},
          {"C4",
           {{i64({2}), 1.5}},
           name + ": C4: the operands meet in f32, expected integers or bool"}};
}

OpDef bitwise_entry(const BitwiseRow& row) {
  return OpDef{
      .name = row.name,
      .signature = "(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
      .summary = row.summary,
      .source = fmt::format("aten::{0}.Tensor, aten::{0}.Scalar, PyTorch 2.13", row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        const DType meet = meet_of(op);
        if (is_floating(meet))
          return op.broken("C4", "the operands meet in {}, expected integers or bool",
                           name_of(meet));
        return pointwise_type(op, meet, {0, 1});
      },
      .reference =
          [f = row.value](const OpView& op, std::span<const Array* const> in) {
            PointReference rule;
            rule.integer = [f](std::span<const int64_t> x) { return f(x[0], x[1]); };
            return reference_pointwise(op, in, meet_of(op), rule);
          },
      .decompose = Absent{"primitive"},
      .grad = Absent{"integer result"},
      .lower = loop::pointwise(
          [bits = row.bits, truth = row.truth](const OpView& op, const loop::Exprs& x) {
            const DType meet = meet_of(op);
            return loop::binary(meet == DType::boolean ? truth : bits,
                                loop::operand_as(op, x, 0, meet), loop::operand_as(op, x, 1, meet));
          }),
      .cost = cost_per_result(1),
      .samples = bitwise_samples,
      .rejects = [name = row.name] { return bitwise_rejects(name); },
      .nondifferentiable = 1,
  };
}

OpDef not_entry() {
  return OpDef{
      .name = "bitwise_not",
      .signature = "(Tensor self) -> Tensor",
      .summary = "every bit inverted; on bool the negation",
      .source = "aten::bitwise_not, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(expect_dtype(op, "C4", 0, not_floating, "an integer dtype or bool"));
        return like_self(op, op.in_type(0).dtype);
      },
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            const bool boolean = in[0]->dtype == DType::boolean;
            return reference_unary(op, in, nullptr,
                                   [=](int64_t x) { return boolean ? int64_t{x == 0} : ~x; });
          },
      .decompose = Absent{"primitive"},
      .grad = Absent{"integer result"},
      .lower = loop::pointwise([](const OpView&, const loop::Exprs& x) {
        const bool boolean = x[0].type() == DType::boolean;
        return loop::unary(boolean ? loop::Op::logical_not : loop::Op::bit_not, x[0]);
      }),
      .cost = cost_per_result(1),
      .samples = []() -> Samples {
        return {{{i64({2, 3})}},
                {{i32({0})}},
                {{i32({})}},
                {{boolean({4})}},
                {{sample(DType::u8, {3}).with({0, 1, 255})}},
                {{sample(DType::i8, {3}).with({-128, 0, 127})}},
                {{sample(DType::i16, {2}).range(-300, 300)}},
                {{i64({})}},
                {{i64({2}).with({-9223372036854775808.0, 4503599627370497.0})}},
                {{i32({2}).with({-2147483648.0, 2147483647.0})}},
                {{i64({2, 3, 2})}},
                {{i64({0, 2})}},
                {{boolean({})}},
                {{boolean({0})}},
                {{boolean({2, 3})}},
                {{sample(DType::i8, {2, 2})}},
                {{i32({1})}},
                {{i32({3, 67})}}};
      },
      .rejects = []() -> Rejects {
        return {{"C4",
                 {{f32({2})}},
                 "bitwise_not: C4: self is f32[2], expected an integer dtype or bool"}};
      },
      .nondifferentiable = 1,
  };
}

int64_t shifted_right(int64_t x, int64_t by) { return x >> (by < 0 || by > 63 ? 63 : by); }

loop::Expr lower_shift(const OpView& op, const loop::Exprs& x) {
  const DType meet = meet_of(op);
  const loop::Expr self = loop::operand_as(op, x, 0, meet), by = loop::operand_as(op, x, 1, meet);
  const int64_t most = 8 * size_of(loop::compute_type(meet)) - 1;
  const loop::Expr all = loop::constant_int(by.type(), most);
  const loop::Expr is_below = loop::binary(loop::Op::lt, by, loop::constant_int(by.type(), 0));
  return loop::binary(loop::Op::shr, self,
                      loop::select(is_below, all, loop::binary(loop::Op::min, by, all)));
}

OpDef shift_entry() {
  OpDef op = bitwise_entry(
      {"__rshift__", "bits moved to the right, the sign's filling up", shifted_right, {}, {}});
  op.infer = [](const OpView& view) -> Result<Types> {
    const DType meet = meet_of(view);
    if (is_floating(meet))
      return view.broken("C4", "the operands meet in {}, expected integers or bool", name_of(meet));
    if (meet == DType::boolean)
      return view.broken("C5", "the operands meet in bool, expected integers");
    return pointwise_type(view, meet, {0, 1});
  };
  op.lower = loop::pointwise(lower_shift);
  op.samples = [all = op.samples] {
    Samples out = all();
    std::erase_if(out, [](const Sample& s) {
      const auto& self = s.operands[0].tensors;
      return !self.empty() && self[0].type.dtype == DType::boolean;
    });
    out.push_back({{sample(DType::u8, {4}).with({255, 128, 16, 15}), 4}});
    out.push_back({{sample(DType::i8, {4}).with({-128, -1, 127, 16}), 4}});
    out.push_back(
        {{i32({3}).with({-2147483648.0, -1, 2147483647.0}), i32({3}).with({31, 32, 30})}});
    out.push_back({{i64({4}).with({-9, 9, -9, 9}), i64({4}).with({-1, -1, 64, 63})}});
    return out;
  };
  op.rejects = [all = op.rejects] {
    Rejects out = all();
    out.push_back({"C5",
                   {{boolean({2}), boolean({2})}},
                   "__rshift__: C5: the operands meet in bool, expected integers"});
    return out;
  };
  return op;
}

}  // namespace

CLEAVE_OPS(bitwise) {
  using loop::Op;
  return {
      bitwise_entry({"bitwise_and", "bits set in both", [](int64_t a, int64_t b) { return a & b; },
                     Op::bit_and, Op::logical_and}),
      bitwise_entry({"bitwise_or", "bits set in one or both",
                     [](int64_t a, int64_t b) { return a | b; }, Op::bit_or, Op::logical_or}),
      bitwise_entry({"bitwise_xor", "bits set in exactly one",
                     [](int64_t a, int64_t b) { return a ^ b; }, Op::bit_xor, Op::ne}),
      not_entry(),
      shift_entry(),
  };
}

}  // namespace cleave
