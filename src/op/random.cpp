// Random operators. Their bits depend only on (seed, step), the stream and the element's row-major
// index (philox_reference.h), so that recomputation gives the same bits.
//
//   rng_next(rng)                                  (seed, step + 1)
//   rand(rng; size, dtype, stream)                 uniform in [0, 1), multiples of 2^-24
//   randn(rng; size, dtype, stream)                normal, by Box and Muller on words 2k and 2k+1:
//                                                  r = sqrt(-2 log(1 - u0)), a = 2 pi u1
//                                                  y[2k] = r cos a, y[2k+1] = r sin a
//   bernoulli(self, rng; p, stream)                1 where uniform < p, else 0; p is self if none
//   native_dropout(input, rng; p, train, stream)   mask = uniform >= p, y = input * mask / (1 - p)
//   native_dropout_backward(grad_output, mask; scale)  grad_output * mask * scale
//
//   rng    (C1) i64[2]: (seed, step)
//   size   (C2) no dim is negative
//   dtype  (C3) floating; default f32. bf16 and f16 results are rounded: 1.0 may occur
//   p      (C4) in [0, 1]; an element of self outside stops the program
//   input  (C5) floating while training
//   train  none means true; otherwise y is the input and the mask is all true
//
// randn is computed in f64 and rounded once. Dropout compares integer bits with p * 2^24, so that
// no device rounds p differently. Masks have no gradient.
#include <cmath>
#include <numbers>

#include "op/cost.h"
#include "op/entry.h"
#include "op/pair_samples.h"
#include "op/philox_reference.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using loop::Op;

constexpr Trait random_traits = pointwise_traits | Trait::random;
constexpr double word_step = 1.0 / 16777216;  // 2^-24

bool is_float(DType t) { return is_floating(t); }

// ---- constraints

Status check_rng(const OpView& op, int operand) {
  const Type& t = op.in_type(operand);
  if (t.dtype == DType::i64 && t.rank() == 1 && op.env().provably_equal(t.shape[0], Dim(2)))
    return {};
  return op.broken("C1", "rng is {}, expected i64[2]", t.text());
}

Status check_p(const OpView& op) {
  const double p = op.float_attr("p");
  if (p >= 0 && p <= 1) return {};
  return op.broken("C4", "p is {}, expected a number in [0, 1]", op.attr("p").text());
}

Result<Types> infer_sized(const OpView& op) {
  CLEAVE_CHECK(check_rng(op, 0));
  for (const Dim& d : op.dims_attr("size"))
    if (op.env().range_of(d).hi < 0)
      return op.broken("C2", "size {} has a negative dim", op.attr("size").text());
  const DType t = op.dtype_attr("dtype").value_or(DType::f32);
  if (!is_floating(t)) return op.broken("C3", "dtype is {}, expected a floating dtype", name_of(t));
  Type out(t, op.dims_attr("size"));
  out.device = op.in_type(0).device;
  return Types{std::move(out)};
}

// ---- reference

uint32_t word_at(const OpView& op, const Array& rng, int64_t index) {
  return random_word(rng.i[0], rng.i[1], op.int_attr("stream"), index);
}

double normal_at(const OpView& op, const Array& rng, int64_t index) {
  const int64_t even = index - index % 2;
  const double u0 = uniform_of(word_at(op, rng, even)), u1 = uniform_of(word_at(op, rng, even + 1));
  const double radius = std::sqrt(-2 * std::log(1 - u0)), angle = 2 * std::numbers::pi * u1;
  return radius * (index == even ? std::cos(angle) : std::sin(angle));
}

Result<Arrays> reference_bernoulli(const OpView& op, std::span<const Array* const> in) {
  Array out = result_array(op, 0);
  for (int64_t k = 0; k < out.numel(); ++k) {
    const double p = op.given("p") ? op.float_attr("p") : in[0]->number(k);
    if (!(p >= 0 && p <= 1))
      return op.broken("C4", "self has {} at element {}, expected numbers in [0, 1]", p, k);
    out.set(k, uniform_of(word_at(op, *in[1], k)) < p ? 1 : 0);
  }
  return Arrays{std::move(out)};
}

bool trains(const OpView& op) { return !op.given("train") || op.bool_attr("train"); }
double dropout_scale(double p) { return p == 1 ? 0 : 1 / (1 - p); }

Result<Arrays> reference_dropout(const OpView& op, std::span<const Array* const> in) {
  Array y = result_array(op, 0), mask = result_array(op, 1);
  const double p = op.float_attr("p"), scale = dropout_scale(p);
  for (int64_t k = 0; k < y.numel(); ++k) {
    const bool keep = !trains(op) || uniform_of(word_at(op, *in[1], k)) >= p;
    mask.i[k] = keep;
    if (!trains(op) && !y.floating())
      y.i[k] = in[0]->i[k];
    else if (!trains(op))
      y.f[k] = in[0]->f[k];
    else
      y.f[k] = in[0]->f[k] * (keep ? 1 : 0) * scale;
  }
  return Arrays{std::move(y), std::move(mask)};
}

// ---- loops

Expr linear_index(KernelBuilder& k, const Type& t, const Exprs& index) {
  Expr at(0);
  for (size_t d = 0; d < index.size(); ++d) at = at * Expr(t.shape[d].value()) + index[d];
  return k.simplified(at);
}

Expr word(KernelBuilder& k, int rng, const Expr& index) {
  const Expr seed = k.load(rng, {Expr(0)}), step = k.load(rng, {Expr(1)});
  return loop::philox(seed, step, k.stream(), index);
}

// The upper 24 bits of a word: uniform = bits * 2^-24.
Expr bits_of(const Expr& word) { return loop::binary(Op::shr, word, Expr(8)); }

Expr uniform(const Expr& word, DType type) {
  return loop::cast(bits_of(word), type) * loop::constant(type, word_step);
}

// The smallest bits that make uniform >= p.
Expr threshold(double p) { return Expr(static_cast<int64_t>(std::ceil(p / word_step))); }

Exprs lower_rand(KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Type& t = op.out_type(0);
  return {uniform(word(k, 0, linear_index(k, t, index)), loop::compute_type(t.dtype))};
}

Exprs lower_randn(KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Type& t = op.out_type(0);
  const Expr at = k.let(linear_index(k, t, index), "at");
  const Expr odd = k.let(loop::binary(Op::truncmod, at, Expr(2)), "odd");
  const Expr u0 = uniform(word(k, 0, at - odd), DType::f64);
  const Expr u1 = uniform(word(k, 0, at - odd + Expr(1)), DType::f64);
  const Expr log = loop::unary(Op::log, loop::constant(DType::f64, 1) - u0);
  const Expr radius = loop::unary(Op::sqrt, loop::constant(DType::f64, -2) * log);
  const Expr angle = k.let(loop::constant(DType::f64, 2 * std::numbers::pi) * u1, "angle");
  const Expr part = loop::select(loop::binary(Op::eq, odd, Expr(0)), loop::unary(Op::cos, angle),
                                 loop::unary(Op::sin, angle));
  return {loop::cast(radius * part, loop::compute_type(t.dtype))};
}

Exprs lower_bernoulli(KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Type& t = op.out_type(0);
  const DType type = loop::compute_type(t.dtype);
  const Expr w = word(k, 1, linear_index(k, t, index));
  if (op.given("p"))
    return {loop::cast(loop::binary(Op::lt, bits_of(w), threshold(op.float_attr("p"))), type)};
  const Expr p = k.let(k.load(0, index), "p");
  const Expr inside = loop::binary(Op::logical_and, loop::binary(Op::ge, p, loop::same(p, 0)),
                                   loop::binary(Op::le, p, loop::same(p, 1)));
  k.check(inside, op.name() + ": C4: self has an element outside [0, 1]");
  return {loop::cast(loop::binary(Op::lt, uniform(w, type), p), type)};
}

Exprs lower_dropout(KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Type& t = op.out_type(0);
  const Expr x = k.load(0, index);
  if (!trains(op)) return {x, loop::constant_int(DType::boolean, 1)};
  const double p = op.float_attr("p");
  const Expr w = word(k, 1, linear_index(k, t, index));
  const Expr keep = k.let(loop::binary(Op::ge, bits_of(w), threshold(p)), "keep");
  return {x * loop::cast(keep, x.type()) * loop::same(x, dropout_scale(p)), keep};
}

// ---- entries

SampleTensor rng_state(double seed = 42, double step = 7) { return i64({2}).with({seed, step}); }

std::vector<Sample> sized_samples() {
  const auto call = [](std::vector<int64_t> size, int stream, std::optional<DType> t = {}) {
    Sample s{{rng_state()}, {{"size", std::move(size)}, {"stream", stream}}};
    if (t) s.attrs.emplace_back("dtype", *t);
    return s;
  };
  return {call({2, 3}, 0),
          call({}, 1),
          call({0, 3}, 2),
          call({5, 1, 4}, 3),
          call({7}, 4, DType::f64),
          call({3, 3}, 5, DType::bf16),
          call({9}, 6, DType::f16),
          call({3}, -1),
          {{rng_state(-5, 4294967297.0)}, {{"size", {6}}, {"stream", 8}}},
          call({0}, 9),
          call({1}, 10),
          call({2, 2, 2}, 11, DType::bf16),
          call({3, 70}, 12),
          call({2, 3}, 13, DType::f64),
          call({}, 14, DType::f16),
          call({5}, 2147483647)};
}

OpDef sized_entry(const char* name, const char* summary, int flops,
                  double (*value)(const OpView&, const Array&, int64_t),
                  Exprs (*lower)(KernelBuilder&, const OpView&, const Exprs&)) {
  const SampleAttrs attrs = {{"size", {2}}, {"stream", 0}};
  SampleAttrs negative = {{"size", {-1}}, {"stream", 0}}, integer = attrs;
  integer.emplace_back("dtype", DType::i64);
  return OpDef{
      .name = name,
      .signature = "(Tensor rng, SymInt[] size, *, ScalarType? dtype=None, int stream) -> Tensor",
      .summary = summary,
      .source = fmt::format("aten::{}, PyTorch 2.13; bits of its own", name),
      .traits = random_traits,
      .infer = infer_sized,
      .reference = [value](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array out = result_array(op, 0);
        for (int64_t k = 0; k < out.numel(); ++k) out.set(k, value(op, *in[0], k));
        return Arrays{std::move(out)};
      },
      .decompose = Absent{"primitive"},
      .grad = Absent{"no floating operand"},
      .lower = loop::elementwise(lower, true),
      .cost = cost_per_result(flops),
      .samples = sized_samples,
      .rejects = [=]() -> Rejects {
        return {{"C1",
                 {{i64({3})}, attrs},
                 fmt::format("{}: C1: rng is i64[3], expected i64[2]", name)},
                {"C2",
                 {{rng_state()}, negative},
                 fmt::format("{}: C2: size [-1] has a negative dim", name)},
                {"C3",
                 {{rng_state()}, integer},
                 fmt::format("{}: C3: dtype is i64, expected a floating dtype", name)}};
      },
  };
}

OpDef rng_next_entry() {
  return OpDef{
      .name = "rng_next",
      .signature = "(Tensor rng) -> Tensor",
      .summary = "the state of the next step: (seed, step + 1)",
      .source = "cleave",
      .traits = Trait::recomputable,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check_rng(op, 0));
        return like_self(op, DType::i64);
      },
      .reference = [](const OpView&, std::span<const Array* const> in) -> Result<Arrays> {
        Array next = *in[0];
        next.i[1] = wrapping_add(next.i[1], 1);
        return Arrays{std::move(next)};
      },
      .decompose = Absent{"primitive"},
      .grad = Absent{"integer result"},
      .lower = loop::elementwise([](KernelBuilder& k, const OpView&, const Exprs& index) -> Exprs {
        return {k.load(0, index) + index[0]};
      }),
      .cost = cost_per_result(1),
      .samples = []() -> Samples { return {{{rng_state()}}, {{rng_state(-1, 0)}}}; },
      .rejects = []() -> Rejects {
        return {{"C1", {{i64({2, 1})}}, "rng_next: C1: rng is i64[2,1], expected i64[2]"}};
      },
      .nondifferentiable = 1,
  };
}

OpDef bernoulli_entry() {
  return OpDef{
      .name = "bernoulli",
      .signature = "(Tensor self, Tensor rng, *, float? p=None, int stream) -> Tensor",
      .summary = "1 with probability p, else 0, in the shape and dtype of self",
      .source = "aten::bernoulli, aten::bernoulli.p, PyTorch 2.13; bits of its own",
      .traits = random_traits | Trait::data_dependent,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check_rng(op, 1));
        if (op.given("p"))
          CLEAVE_CHECK(check_p(op));
        else
          CLEAVE_CHECK(expect_dtype(op, "C3", 0, is_float, "a floating dtype"));
        return like_self(op, op.in_type(0).dtype);
      },
      .reference = reference_bernoulli,
      .decompose = Absent{"primitive"},
      .grad = zero_grad(),
      .lower = loop::elementwise(lower_bernoulli, true),
      .cost = cost_per_result(40),
      .samples = []() -> Samples {
        return {{{f32({4, 5}).range(0.01, 0.99), rng_state()}, {{"stream", 1}}},
                {{f64({9}).with({0.125, 0.875, 0.5, 0.5, 0.5, 0.5, 0.25}), rng_state()},
                 {{"stream", 2}}},
                {{bf16({6}).range(0.1, 0.9), rng_state()}, {{"stream", 3}}},
                {{f32({3, 7}), rng_state()}, {{"p", 0.7}, {"stream", 4}}},
                {{i64({5}), rng_state()}, {{"p", 0.5}, {"stream", 5}}},
                {{boolean({5}), rng_state()}, {{"p", 1.0}, {"stream", 6}}},
                {{f16({5}), rng_state()}, {{"p", 0.0}, {"stream", 7}}},
                {{f32({}).range(0.4, 0.6), rng_state()}, {{"stream", 8}}},
                {{f32({0, 2}), rng_state()}, {{"stream", 9}}},
                {{f64({2}).with({0.25, 0.75}), rng_state()}, {{"stream", 10}}},
                {{f16({2, 3}).range(0.1, 0.9), rng_state()}, {{"stream", 11}}},
                {{f32({3, 70}), rng_state()}, {{"p", 0.25}, {"stream", 12}}},
                {{i32({4}), rng_state()}, {{"p", 0.5}, {"stream", 13}}},
                {{bf16({4}), rng_state(-3, 1)}, {{"p", 0.5}, {"stream", 14}}}};
      },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2}), f32({2})}, {{"stream", 0}}},
                 "bernoulli: C1: rng is f32[2], expected i64[2]"},
                {"C3",
                 {{i64({2}), rng_state()}, {{"stream", 0}}},
                 "bernoulli: C3: self is i64[2], expected a floating dtype"},
                {"C4",
                 {{f32({2}), rng_state()}, {{"p", 1.5}, {"stream", 0}}},
                 "bernoulli: C4: p is 1.5, expected a number in [0, 1]"}};
      },
  };
}

SampleAttrs dropout_attrs(double p, int stream) {
  return {{"p", p}, {"train", true}, {"stream", stream}};
}

Samples dropout_samples() {
  return {{{f32({4, 5}), rng_state()}, dropout_attrs(0.3, 1)},
          {{f64({9}), rng_state()}, dropout_attrs(0.5, 2)},
          {{bf16({3, 7}), rng_state()}, dropout_attrs(0.1, 3)},
          {{f16({6}), rng_state()}, dropout_attrs(0.75, 4)},
          {{f32({}), rng_state()}, dropout_attrs(0.5, 5)},
          {{f32({0, 2}), rng_state()}, dropout_attrs(0.5, 6)},
          {{f32({5}), rng_state()}, dropout_attrs(0, 7)},
          {{f32({5}), rng_state()}, dropout_attrs(1, 8)},
          {{f32({5}), rng_state()}, {{"p", 0.5}, {"stream", 9}}},
          {{f32({5}), rng_state()}, {{"p", 0.5}, {"train", false}, {"stream", 10}}},
          {{i64({5}), rng_state()}, {{"p", 0.5}, {"train", false}, {"stream", 11}}},
          {{f32({2, 3, 4}), rng_state()}, dropout_attrs(0.2, 12)},
          {{f32({3, 70}), rng_state()}, dropout_attrs(0.9, 13)},
          {{bf16({}), rng_state()}, dropout_attrs(0.5, 14)},
          {{f64({2, 2}), rng_state(-5, 4294967297.0)}, dropout_attrs(0.5, 15)},
          {{bf16({5}), rng_state()}, {{"p", 0.5}, {"train", false}, {"stream", 16}}}};
}

Rejects dropout_rejects() {
  return {{"C1",
           {{f32({2}), i64({2, 1})}, dropout_attrs(0.5, 0)},
           "native_dropout: C1: rng is i64[2,1], expected i64[2]"},
          {"C4",
           {{f32({2}), rng_state()}, dropout_attrs(-0.5, 0)},
           "native_dropout: C4: p is -0.5, expected a number in [0, 1]"},
          {"C5",
           {{i64({2}), rng_state()}, dropout_attrs(0.5, 0)},
           "native_dropout: C5: input is i64[2], expected a floating dtype"}};
}

OpDef dropout_entry() {
  return OpDef{
      .name = "native_dropout",
      .signature =
          "(Tensor input, Tensor rng, *, float p, bool? train, int stream) "
          "-> (Tensor, Tensor)",
      .summary = "elements dropped with probability p, the others scaled; and the mask",
      .source = "aten::native_dropout, PyTorch 2.13; bits of its own",
      .traits = random_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check_rng(op, 1));
        CLEAVE_CHECK(check_p(op));
        if (trains(op)) CLEAVE_CHECK(expect_dtype(op, "C5", 0, is_float, "a floating dtype"));
        return Types{like_self(op, op.in_type(0).dtype)[0], like_self(op, DType::boolean)[0]};
      },
      .reference = reference_dropout,
      .decompose = Absent{"primitive: the mask must come from the same words everywhere"},
      .grad = [](Builder& b, const GradView& op) -> Values {
        const auto dropped = [&] {
          if (!trains(op)) return op.dout(0);
          return b.call1("native_dropout_backward", {op.dout(0), op.out(1)},
                         {{"scale", dropout_scale(op.float_attr("p"))}});
        };
        return {grad_to(b, op, 0, dropped), ValueId::none()};
      },
      .lower = loop::elementwise(lower_dropout, true),
      .cost = cost_per_result(40),
      .samples = dropout_samples,
      .rejects = dropout_rejects,
      .nondifferentiable = 2,
  };
}

Samples dropout_backward_samples() {
  const SampleAttrs scale = {{"scale", 2.0}};
  return {{{f32({2, 3}), boolean({2, 3})}, scale},
          {{f64({4}), boolean({4})}, {{"scale", 1.25}}},
          {{bf16({5}), boolean({5})}, scale},
          {{f16({5}), boolean({5})}, scale},
          {{f32({}), boolean({})}, scale},
          {{f32({0, 2}), boolean({0, 2})}, scale},
          {{f32({2, 3, 4}), boolean({2, 3, 4})}, scale},
          {{f32({5}), boolean({5})}, {{"scale", 1}}},
          {{f32({5}), boolean({5})}, {{"scale", 0}}},
          {{f32({3}).with({NAN, INFINITY, 1}), boolean({3}).with({1, 1, 0})}, scale},
          {{f32({3}), boolean({3}).with({0})}, scale},
          {{f32({3}), boolean({3}).with({1})}, scale},
          {{bf16({3, 67}), boolean({3, 67})}, scale},
          {{f16({2, 2}), boolean({2, 2})}, {{"scale", 3.5}}},
          {{f64({2, 1}), boolean({2, 1})}, scale},
          {{f32({1}), boolean({1})}, {{"scale", -2}}},
          {{bf16({}), boolean({})}, scale}};
}

OpDef dropout_backward_entry() {
  const SampleAttrs scale = {{"scale", 2.0}};
  const auto rejects = [scale] {
    Rejects out = pair_rejects("native_dropout_backward", "grad_output", "mask");
    for (Reject& r : out) r.call.attrs = scale;
    out.push_back({"C5",
                   {{i64({2}), boolean({2})}, scale},
                   "native_dropout_backward: C5: grad_output is i64[2], expected a floating "
                   "dtype"});
    return out;
  };
  return OpDef{
      .name = "native_dropout_backward",
      .signature = "(Tensor grad_output, Tensor mask, float scale) -> Tensor",
      .summary = "grad_output * mask * scale",
      .source = "aten::native_dropout_backward, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(expect_dtype(op, "C5", 0, is_float, "a floating dtype"));
        return pointwise_type(op, op.in_type(0).dtype, {0, 1});
      },
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            const double scale = op.float_attr("scale");
            PointReference rule;
            rule.floating = [=](std::span<const double> x) { return x[0] * x[1] * scale; };
            return reference_pointwise(op, in, op.out_type(0).dtype, rule);
          },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const DType t = op.out_type(0).dtype;
        const ValueId mask = b.convert(op.in(1), t);
        return {b.mul(b.mul(op.in(0), mask), op.attr("scale"))};
      },
      .grad = [](Builder& b, const GradView& op) -> Values {
        return {grad_to(b, op, 0,
                        [&] {
                          return b.call1("native_dropout_backward", {op.dout(0), op.in(1)},
                                         {{"scale", op.attr("scale")}});
                        }),
                ValueId::none()};
      },
      .lower = loop::pointwise([](const OpView& op, const Exprs& x) {
        return x[0] * loop::cast(x[1], x[0].type()) * loop::same(x[0], op.float_attr("scale"));
      }),
      .cost = cost_per_result(2),
      .samples = dropout_backward_samples,
      .rejects = rejects,
  };
}

}  // namespace

CLEAVE_OPS(random) {
  return {
      rng_next_entry(),
      sized_entry(
          "rand", "uniform numbers in [0, 1)", 35,
          [](const OpView& op, const Array& rng, int64_t k) {
            return uniform_of(word_at(op, rng, k));
          },
          lower_rand),
      sized_entry("randn", "normal numbers of mean 0 and variance 1", 80, normal_at, lower_randn),
      bernoulli_entry(),
      dropout_entry(),
      dropout_backward_entry(),
  };
}

}  // namespace cleave
