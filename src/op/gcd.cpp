// Greatest common divisors and least common multiples.
//
//   gcd(self, other) -> y      of 0 and 0: 0
//   lcm(self, other) -> y      |self / gcd * other|; of a 0: 0
//   self, other  integers (C4: the promoted dtype); tensors that broadcast (C1) on one device (C2),
//                or a number for one of them (C3)
//   y            the operands' promoted dtype
//
// A multiple wraps in its dtype: before its sign is taken off in i32 and i64, behind it in i16, i8
// and u8, as in C. Euclid's algorithm, for as many steps as the dtype's Fibonacci numbers take.
#include <utility>

#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;

enum class Of { divisor, multiple };

DType meet_of(const OpView& op) { return promoted(op, {0, 1}); }

int64_t steps_of(DType t) {
  switch (t) {
    case DType::i64: return 93;
    case DType::i32: return 47;
    case DType::i16: return 24;
    default: return 14;
  }
}

// Of the least integer, whose size isn't one, as PyTorch: the sign follows from the remainders.
int64_t divisor_of(int64_t a, int64_t b) {
  const auto size = [](int64_t x) { return x < 0 ? wrapping_sub(0, x) : x; };
  a = size(a), b = size(b);
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

int64_t reference_value(Of of, int64_t a, int64_t b, DType t) {
  const int64_t divisor = divisor_of(a, b);
  if (of == Of::divisor) return divisor;
  const int64_t share = divisor == -1 ? wrapping_sub(0, a) : divisor == 0 ? 0 : a / divisor;
  int64_t y = wrapping_mul(share, b);
  if (t == DType::i32) y = wrap_to(t, y);
  return wrap_to(t, y < 0 ? wrapping_sub(0, y) : y);
}

Expr size_of(loop::KernelBuilder& k, const Expr& x) {
  return k.let(select(binary(loop::Op::lt, x, Expr(0)), Expr(0) - x, x), "size");
}

loop::Exprs lower(loop::KernelBuilder& k, const OpView& op, const loop::Exprs& at, Of of) {
  const DType meet = meet_of(op);
  const auto loaded = [&](int operand) {
    return k.let(cast(loop::load_as(k, op, operand, at, meet), DType::i64), "x");
  };
  const Expr x = loaded(0), y = loaded(1), zero(0), one(1);
  const Expr a = k.define(size_of(k, x), "a"), b = k.define(size_of(k, y), "b");
  k.loop(Expr(steps_of(meet)), [&](const Expr&) {
    const Expr ends = k.let(binary(loop::Op::eq, b, zero), "ends");
    const Expr rest = binary(loop::Op::truncmod, a, select(ends, one, b));
    const Expr next = k.let(select(ends, zero, rest), "next");
    k.assign(a, select(ends, a, b));
    k.assign(b, next);
  });
  if (of == Of::divisor) return {a};
  const Expr divisor = k.let(select(binary(loop::Op::eq, a, zero), one, a), "divisor");
  const Expr share = k.let(binary(loop::Op::truncdiv, x, divisor), "share");
  Expr product = share * y;
  if (meet == DType::i32) product = cast(loop::as_dtype(product, DType::i64, meet), DType::i64);
  return {loop::as_dtype(size_of(k, product), DType::i64, meet)};
}

Result<Types> infer(const OpView& op) {
  const DType meet = meet_of(op);
  if (!is_integer(meet))
    return op.broken("C4", "the operands meet in {}, expected integers", name_of(meet));
  return pointwise_type(op, meet, {0, 1});
}

Samples samples() {
  Samples out;
  for (DType t : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8}) {
    const double low = t == DType::u8 ? 0 : -40;
    out.push_back({{sample(t, {3, 5}).range(low, 41), sample(t, {5}).range(low, 41)}});
  }
  out.insert(
      out.end(),
      {{{i64({5}).with({0, 0, 6, -6, 12}), i64({5}).with({0, 5, 0, 4, -18})}},
       {{i64({2}).with({8944394323791464.0, 5527939700884757.0}),
         i64({2}).with({5527939700884757.0, 8944394323791464.0})}},
       {{i64({4}).with({-0x1p63, 6, -0x1p63, -0x1p63}), i64({4}).with({6, -0x1p63, -0x1p63, 0})}},
       {{i64({3}).with({-0x1p63, 7, -0x1p63}), i64({3}).with({7, -0x1p63, 3})}},  // divisor -1
       {{i32({2}).with({1836311903, 1134903170}), i32({2}).with({1134903170, 1836311903})}},
       {{sample(DType::i16, {1}).with({28657}), sample(DType::i16, {1}).with({17711})}},
       {{sample(DType::u8, {2}).with({233, 250}), sample(DType::u8, {2}).with({144, 15})}},
       {{sample(DType::i8, {2}).with({89, 100}), sample(DType::i8, {2}).with({55, 75})}},
       {{i64({3}).range(-9, 10), 6}},
       {{12, i32({3}).range(-9, 10)}},
       {{i32({2, 1}), i64({1, 3})}},
       {{i64({}), i64({2, 2})}},
       {{i64({0, 3}), i64({1, 3})}}});
  return out;
}

Rejects rejects(const std::string& name) {
  return {
      {"C3", {{1, 2}}, name + ": C3: every operand is a number, expected at least one tensor"},
      {"C4",
       {{boolean({2}), boolean({2})}},
       name + ": C4: the operands meet in bool, expected integers"},
      {"C4", {{f32({2}), i64({2})}}, name + ": C4: the operands meet in f32, expected integers"}};
}

OpDef entry(const std::string& name, const char* summary, Of of) {
  return OpDef{
      .name = name,
      .signature = "(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
      .summary = summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = pointwise_traits,
      .infer = infer,
      .reference =
          [of](const OpView& op, std::span<const Array* const> in) {
            PointReference rule;
            rule.integer = [of, t = meet_of(op)](std::span<const int64_t> x) {
              return reference_value(of, x[0], x[1], t);
            };
            return reference_pointwise(op, in, meet_of(op), rule);
          },
      .decompose = Absent{"primitive"},
      .grad = Absent{"integer result"},
      .lower = loop::broadcasting([of](loop::KernelBuilder& k, const OpView& op,
                                       const loop::Exprs& at) { return lower(k, op, at, of); }),
      .cost = cost_per_result(100),
      .samples = samples,
      .rejects = [name] { return rejects(name); },
      .nondifferentiable = 1,
  };
}

}  // namespace

CLEAVE_OPS(gcd) {
  return {entry("gcd", "the greatest common divisor", Of::divisor),
          entry("lcm", "the least common multiple", Of::multiple)};
}

}  // namespace cleave
