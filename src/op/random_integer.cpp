// Random integers. Their bits depend only on (seed, step), the stream and the element's row-major
// index (philox_reference.h).
//
//   randint(rng; low, high, size, dtype, stream)   low + floor(word * (high - low) / 2^32)
//   randperm(rng; n, dtype, stream)                0..n-1 in the order of n uniform numbers;
//                                                  ties are ordered by index
//
//   rng    (C1) i64[2]: (seed, step)
//   size   (C2) no dim, nor n, is negative
//   high   (C3) low < high, and at most 2^31 apart
//   dtype  default i64; (C4) not bool
#include <algorithm>
#include <numeric>

#include "op/cost.h"
#include "op/entry.h"
#include "op/philox_reference.h"
#include "op/pointwise.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Op;

Result<Types> integer_type(const OpView& op, const Shape& size) {
  const Type& rng = op.in_type(0);
  if (rng.dtype != DType::i64 || rng.rank() != 1 || !op.env().provably_equal(rng.shape[0], Dim(2)))
    return op.broken("C1", "rng is {}, expected i64[2]", rng.text());
  for (const Dim& d : size)
    if (op.env().range_of(d).hi < 0)
      return op.broken("C2", "a dim is {}, expected none that is negative", d.text());
  const DType t = op.dtype_attr("dtype").value_or(DType::i64);
  if (t == DType::boolean) return op.broken("C4", "dtype is bool, expected a number dtype");
  Type out(t, size);
  out.device = rng.device;
  return Types{std::move(out)};
}

Result<Types> infer_randint(const OpView& op) {
  const int64_t low = op.int_attr("low"), high = op.int_attr("high");
  constexpr int64_t most = int64_t{1} << 31, edge = int64_t{1} << 62;
  if (low >= high || low < -edge || high > edge || high - low > most)
    return op.broken("C3", "low is {} and high is {}, expected low < high, at most 2^31 apart", low,
                     high);
  return integer_type(op, op.dims_attr("size"));
}

Result<Arrays> reference_randint(const OpView& op, std::span<const Array* const> in) {
  Array out = result_array(op, 0);
  const auto range = static_cast<uint64_t>(op.int_attr("high") - op.int_attr("low"));
  for (int64_t k = 0; k < out.numel(); ++k) {
    const uint64_t word = random_word(in[0]->i[0], in[0]->i[1], op.int_attr("stream"), k);
    const int64_t x = op.int_attr("low") + static_cast<int64_t>(word * range >> 32);
    if (out.floating())
      out.set(k, static_cast<double>(x));
    else
      out.set_int(k, x);
  }
  return Arrays{std::move(out)};
}

Exprs lower_randint(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Type& t = op.out_type(0);
  Expr at(0);
  for (size_t d = 0; d < index.size(); ++d) at = at * Expr(t.shape[d].value()) + index[d];
  const Expr seed = k.load(0, {Expr(0)}), step = k.load(0, {Expr(1)});
  const Expr word = loop::philox(seed, step, k.stream(), at);
  const int64_t low = op.int_attr("low"), range = op.int_attr("high") - low;
  const Expr x = loop::binary(Op::shr, word * Expr(range), Expr(32)) + Expr(low);
  return {loop::cast(x, loop::compute_type(t.dtype))};
}

Result<Types> infer_randperm(const OpView& op) { return integer_type(op, {op.dim_attr("n")}); }

Result<Arrays> reference_randperm(const OpView& op, std::span<const Array* const> in) {
  Array out = result_array(op, 0);
  std::vector<int64_t> order(static_cast<size_t>(out.numel()));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int64_t k) {
    return uniform_of(random_word(in[0]->i[0], in[0]->i[1], op.int_attr("stream"), k));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return key(a) < key(b); });
  for (int64_t k = 0; k < out.numel(); ++k) {
    if (out.floating())
      out.set(k, static_cast<double>(order[k]));
    else
      out.set_int(k, order[k]);
  }
  return Arrays{std::move(out)};
}

Values decompose_randperm(Builder& b, const OpView& op) {
  const std::vector<Dim> size = {op.dim_attr("n")};
  const ValueId keys = b.call1("rand", {op.in(0)}, {{"size", size}, {"stream", op.attr("stream")}});
  const Values sorted = b.call("sort", {keys});
  return {b.convert(sorted.size() == 2 ? sorted[1] : ValueId::none(), op.out_type(0).dtype)};
}

SampleTensor rng_state(double seed = 42, double step = 7) { return i64({2}).with({seed, step}); }

Samples randint_samples() {
  Samples out;
  const auto add = [&](std::vector<int64_t> size, int64_t low, int64_t high,
                       std::optional<DType> t = {}) {
    Sample s{{rng_state()},
             {{"low", low},
              {"high", high},
              {"size", std::move(size)},
              {"stream", static_cast<int64_t>(out.size())}}};
    if (t) s.attrs.emplace_back("dtype", *t);
    out.push_back(std::move(s));
  };
  for (int64_t high : {1, 2, 10, 50304, 1 << 30}) {
    add({3, 5}, 0, high);
    add({40}, -7, high);
  }
  for (DType t : {DType::i64, DType::i32, DType::f32, DType::f64, DType::f16, DType::bf16})
    add({9}, -3, 8, t);
  add({9}, 0, 256, DType::u8);
  add({}, 0, 9);
  add({0, 3}, 0, 9);
  add({2, 1, 3}, 5, 6);
  add({3}, int64_t{1} << 40, (int64_t{1} << 40) + (int64_t{1} << 31));
  add({3}, -(int64_t{1} << 31), 0);
  add({2, 70}, 0, 3);
  out.push_back({{rng_state(-5, 4294967297.0)},
                 {{"high", 6}, {"size", std::vector<int64_t>{6}}, {"stream", 8}}});
  return out;
}

OpDef randint() {
  const std::vector<int64_t> two = {2}, negative = {2, -1};
  const auto call = [](SampleTensor rng, int64_t low, int64_t high, std::vector<int64_t> size) {
    return Sample{{std::move(rng)},
                  {{"low", low}, {"high", high}, {"size", std::move(size)}, {"stream", 0}}};
  };
  Sample to_bool = call(rng_state(), 0, 2, two);
  to_bool.attrs.emplace_back("dtype", DType::boolean);
  return OpDef{
      .name = "randint",
      .signature =
          "(Tensor rng, int low=0, int high, SymInt[] size, *, ScalarType? dtype=None, "
          "int stream) -> Tensor",
      .summary = "uniform integers in [low, high)",
      .source = "aten::randint, aten::randint.low, PyTorch 2.13; bits of its own",
      .traits = pointwise_traits | Trait::random,
      .infer = infer_randint,
      .reference = reference_randint,
      .decompose = Absent{"primitive"},
      .grad = Absent{"no floating operand"},
      .lower = loop::elementwise(lower_randint, true),
      .cost = cost_per_result(35),
      .samples = randint_samples,
      .rejects = [=]() -> Rejects {
        return {{"C1", call(i64({3}), 0, 5, two), "randint: C1: rng is i64[3], expected i64[2]"},
                {"C2", call(rng_state(), 0, 5, negative),
                 "randint: C2: a dim is -1, expected none that is negative"},
                {"C3", call(rng_state(), 5, 5, two),
                 "randint: C3: low is 5 and high is 5, expected low < high, at most 2^31 apart"},
                {"C4", to_bool, "randint: C4: dtype is bool, expected a number dtype"}};
      },
      .nondifferentiable = 1,
  };
}

OpDef randperm() {
  const auto samples = [] {
    Samples out;
    for (int64_t n : {0, 1, 2, 3, 5, 10, 33, 100, 257})
      out.push_back({{rng_state()}, {{"n", n}, {"stream", n + 1}}});
    for (DType t : {DType::i64, DType::i32, DType::f32, DType::f64, DType::f16, DType::bf16})
      out.push_back({{rng_state(3, 9)}, {{"n", 20}, {"dtype", t}, {"stream", 2}}});
    return out;
  };
  return OpDef{
      .name = "randperm",
      .signature = "(Tensor rng, SymInt n, *, ScalarType? dtype=None, int stream) -> Tensor",
      .summary = "0 to n-1 in random order",
      .source = "aten::randperm, PyTorch 2.13; bits of its own",
      .traits = Trait::recomputable | Trait::random,
      .infer = infer_randperm,
      .reference = reference_randperm,
      .decompose = decompose_randperm,
      .grad = Absent{"no floating operand"},
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(50),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{i64({3})}, {{"n", 3}, {"stream", 0}}},
                 "randperm: C1: rng is i64[3], expected i64[2]"},
                {"C2",
                 {{rng_state()}, {{"n", -1}, {"stream", 0}}},
                 "randperm: C2: a dim is -1, expected none that is negative"},
                {"C4",
                 {{rng_state()}, {{"n", 3}, {"dtype", DType::boolean}, {"stream", 0}}},
                 "randperm: C4: dtype is bool, expected a number dtype"}};
      },
      .nondifferentiable = 1,
  };
}

}  // namespace

CLEAVE_OPS(random_integer) { return {randint(), randperm()}; }

}  // namespace cleave
