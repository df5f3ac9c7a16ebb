// rng_fold(rng, data; stream) -> y     y = (seed', step): seed' low word = word 2*data, high word =
//                                      word 2*data+1 of the stream (philox_reference.h)
//   rng    (C1) i64[2]: (seed, step)
//   data   (C2) an integer of one element, such as a counter of iterations
//
// Derives a separate state for each number, so that iterations of a loop draw different numbers,
// which recomputation reproduces. Only 62 bits of data are used.
#include "op/cost.h"
#include "op/entry.h"
#include "op/philox_reference.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Op;

constexpr int64_t counted_bits = (int64_t{1} << 62) - 1;

Result<Types> infer(const OpView& op) {
  const Type &rng = op.in_type(0), &data = op.in_type(1);
  if (rng.dtype != DType::i64 || rng.rank() != 1 || !op.env().provably_equal(rng.shape[0], Dim(2)))
    return op.broken("C1", "rng is {}, expected i64[2]", rng.text());
  if (!is_integer(data.dtype) || !op.env().provably_equal(data.numel(), Dim(1)))
    return op.broken("C2", "data is {}, expected an integer of one element", data.text());
  Type out(DType::i64, {Dim(2)});
  out.device = rng.device;
  return Types{std::move(out)};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  Array out = result_array(op, 0);
  const Array& rng = *in[0];
  const int64_t first = 2 * (in[1]->i[0] & counted_bits), stream = op.int_attr("stream");
  const uint64_t low = random_word(rng.i[0], rng.i[1], stream, first);
  const uint64_t high = random_word(rng.i[0], rng.i[1], stream, first + 1);
  out.i = {static_cast<int64_t>(high << 32 | low), rng.i[1]};
  return Arrays{std::move(out)};
}

Exprs lower(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Expr seed = k.load(0, {Expr(0)}), step = k.load(0, {Expr(1)});
  const Exprs origin(static_cast<size_t>(op.in_type(1).rank()), Expr(0));
  const Expr data = loop::cast(k.load(1, origin), DType::i64);
  const Expr first = k.let(loop::binary(Op::bit_and, data, Expr(counted_bits)) * Expr(2), "first");
  const Expr stream = k.stream();
  const Expr low = loop::philox(seed, step, stream, first);
  const Expr high = loop::philox(seed, step, stream, first + Expr(1));
  // The high word as a signed value, so that its shift stays within 64 bits.
  const Expr top = loop::select(loop::binary(Op::ge, high, Expr(int64_t{1} << 31)),
                                high - Expr(int64_t{1} << 32), high);
  const Expr folded = top * Expr(int64_t{1} << 32) + low;
  return {loop::select(loop::binary(Op::eq, index[0], Expr(0)), folded, step)};
}

SampleTensor state(double seed = 42, double step = 7) { return i64({2}).with({seed, step}); }

Sample call(SampleTensor rng, SampleTensor data, int stream) {
  return {{std::move(rng), std::move(data)}, {{"stream", stream}}};
}

}  // namespace

CLEAVE_OPS(rng_fold) {
  return {OpDef{
      .name = "rng_fold",
      .signature = "(Tensor rng, Tensor data, *, int stream) -> Tensor",
      .summary = "A state of random numbers that depends on a number too: one for each iteration.",
      .source = "cleave; jax.random.fold_in",
      .traits = Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"primitive: words of Philox"},
      .grad = Absent{"the result is an integer"},
      .lower = loop::elementwise(lower, true),
      .cost = cost_per_result(80),
      .samples = []() -> Samples {
        return {call(state(), i64({}).with({0}), 0),
                call(state(), i64({}).with({1}), 0),
                call(state(), i64({}).with({2}), 0),
                call(state(), i64({}).with({3}), 1),
                call(state(), i64({1}).with({12345}), 2),
                call(state(), i64({1, 1}).with({-1}), 3),
                call(state(-5, 4294967297.0), i64({}).with({8}), 4),
                call(state(0, 0), i64({}).with({4503599627370496.0}), 5),
                call(state(), i32({}).with({7}), 6),
                call(state(), i32({}).with({-7}), 6),
                call(state(), sample(DType::i16, {}).with({300}), 7),
                call(state(), sample(DType::i8, {}).with({-128}), 8),
                call(state(), sample(DType::u8, {1}).with({255}), 9),
                call(state(1, -1), i64({}).with({1}), -1)};
      },
      .rejects = []() -> Rejects {
        return {{"C1", call(i64({3}), i64({}), 0), "rng_fold: C1: rng is i64[3], expected i64[2]"},
                {"C2", call(state(), f32({}), 0),
                 "rng_fold: C2: data is f32[], expected an integer of one element"},
                {"C2", call(state(), i64({2}), 0),
                 "rng_fold: C2: data is i64[2], expected an integer of one element"}};
      },
      .nondifferentiable = 1,
  }};
}

}  // namespace cleave
