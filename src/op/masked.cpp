// Writes elements where a mask is true, into a copy of self.
//
// masked_fill(self, mask, value) -> y              y = mask ? value : self
// masked_scatter(self, mask, source) -> y          y = self; y[n-th true position] = source[n]
// masked_scatter_backward(grad_output, mask; sizes) -> dsource
//                                                  dsource[n] = grad_output at the n-th true
//                                                  position, then zeros
//
//   mask bool, y the dtype of self; positions and source are counted in row-major order
//   (C1) self and mask broadcast; the mask of masked_scatter_backward to grad_output
//   (C2) operands are on one device       (C3) mask is bool
//   (C4) value is 0-d, or a number        (C5) source has the dtype of self
//   (C6) source (or sizes) has an element for each true position: checked before the first write
// A value is converted to the dtype of self.
#include <cmath>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/kernel_loops.h"
#include "op/pointwise.h"
#include "op/pointwise_reference.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;

Status check_mask(const OpView& op) {
  if (op.in_type(1).dtype == DType::boolean) return {};
  return op.broken("C3", "mask is {}, expected bool", op.in_type(1).text());
}

Result<Types> masked_type(const OpView& op, std::initializer_list<int> operands) {
  CLEAVE_CHECK(check_mask(op));
  CLEAVE_TRY(Shape shape, broadcast_operands(op, "C1", {0, 1}));
  CLEAVE_CHECK(common_device(op, "C2", operands));
  return Types{typed_like(op.in_type(0), op.in_type(0).dtype, std::move(shape))};
}

// ---- masked_fill

Result<Types> infer_fill(const OpView& op) {
  if (op.is_number(2)) return masked_type(op, {0, 1});
  if (op.in_type(2).rank() != 0)
    return op.broken("C4", "value is {}, expected a 0-d tensor or a number", op.in_type(2).text());
  return masked_type(op, {0, 1, 2});
}

Result<Arrays> reference_fill(const OpView& op, std::span<const Array* const> in) {
  Array y = result_array(op, 0), value(y.dtype, {});
  if (op.is_number(2))
    set_number(value, 0, op.number(2));
  else
    value = converted_array(*in[2], y.dtype);
  std::vector<int64_t> at(y.shape.size(), 0);
  for (int64_t k = 0; k < y.numel(); ++k, next_index(at, y.shape)) {
    const bool hit = in[1]->i[broadcast_position(at, in[1]->shape)] != 0;
    const int64_t from = hit ? 0 : broadcast_position(at, in[0]->shape);
    const Array& source = hit ? value : *in[0];
    if (y.floating())
      y.f[k] = source.f[from];
    else
      y.i[k] = source.i[from];
  }
  return Arrays{std::move(y)};
}

Values decompose_fill(Builder& b, const OpView& op) {
  const DType t = op.in_type(0).dtype;
  const ValueId value = op.is_number(2) ? b.full({}, op.number(2), t) : b.convert(op.in(2), t);
  return {b.where(op.in(1), value, op.in(0))};
}

Values grad_fill(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.needs(0)) d[0] = b.sum_to(b.where(op.in(1), 0.0, op.dout(0)), op.in_type(0).shape);
  if (!op.is_number(2) && op.needs(2))
    d[2] = b.convert(b.sum_to(b.where(op.in(1), op.dout(0), 0.0), {}), op.in_type(2).dtype);
  return d;
}

// ---- masked_scatter and its gradient

Result<Types> infer_scatter(const OpView& op) {
  CLEAVE_CHECK(check_same_dtype(op, "C5", 2, 0));
  return masked_type(op, {0, 1, 2});
}

Failure too_few(const OpView& op) {
  return {
      ErrorKind::user,
      fmt::format("{}: C6: mask is true at more places than there are elements for", op.name())};
}

Result<Arrays> reference_scatter(const OpView& op, std::span<const Array* const> in) {
  Array y = result_array(op, 0);
  std::vector<int64_t> at(y.shape.size(), 0);
  int64_t next = 0;
  for (int64_t k = 0; k < y.numel(); ++k, next_index(at, y.shape)) {
    const bool hit = in[1]->i[broadcast_position(at, in[1]->shape)] != 0;
    if (hit && next == in[2]->numel()) return too_few(op);
    const int64_t from = hit ? next++ : broadcast_position(at, in[0]->shape);
    const Array& source = hit ? *in[2] : *in[0];
    if (y.floating())
      y.f[k] = source.f[from];
    else
      y.i[k] = source.i[from];
  }
  return Arrays{std::move(y)};
}

Result<Types> infer_backward(const OpView& op) {
  CLEAVE_CHECK(check_mask(op));
  CLEAVE_CHECK(check_expandable(op, "C1", op.in_type(1).shape, op.in_type(0).shape));
  CLEAVE_CHECK(common_device(op, "C2", {0, 1}));
  return Types{typed_like(op.in_type(0), op.in_type(0).dtype, op.dims_attr("sizes"))};
}

Result<Arrays> reference_backward(const OpView& op, std::span<const Array* const> in) {
  Array d = result_array(op, 0);
  const Array& g = *in[0];
  std::vector<int64_t> at(g.shape.size(), 0);
  int64_t next = 0;
  for (int64_t k = 0; k < g.numel(); ++k, next_index(at, g.shape)) {
    if (in[1]->i[broadcast_position(at, in[1]->shape)] == 0) continue;
    if (next == d.numel()) return too_few(op);
    if (d.floating())
      d.f[next++] = g.f[k];
    else
      d.i[next++] = g.i[k];
  }
  return Arrays{std::move(d)};
}

// Converts a row-major number to a multi-index.
Exprs index_of(KernelBuilder& k, const std::vector<int64_t>& shape, Expr number) {
  Exprs index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = d == 0 ? number : k.let(binary(loop::Op::truncmod, number, Expr(shape[d])), "i");
    if (d > 0) number = k.let(binary(loop::Op::truncdiv, number, Expr(shape[d])), "q");
  }
  return index;
}

// One loop over `shape` that counts the true positions, a check, and one loop that passes each true
// position and its number to `move`. A number depends on all positions before it, so the loops are
// serial.
void walk_true_places(KernelBuilder& k, const OpView& op, const std::vector<int64_t>& shape,
                      int64_t available,
                      const std::function<void(const Exprs& at, const Expr& number)>& move) {
  k.parallel({}, [&](const Exprs&) {
    const Expr count = k.define(Expr(0), "count");
    k.loops(shape, [&](const Exprs& i) {
      k.assign(count, count + cast(k.load_broadcast(1, i), DType::i64));
    });
    k.check(binary(loop::Op::le, count, Expr(available)), too_few(op).message);
    k.assign(count, Expr(0));
    k.loops(shape, [&](const Exprs& i) {
      k.if_(k.let(k.load_broadcast(1, i), "hit"), [&] {
        move(i, count);
        k.assign(count, count + Expr(1));
      });
    });
  });
}

void lower_scatter(KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t>& shape = k.result(0).layout.shape;
  const std::vector<int64_t>& source = k.operand(2).layout.shape;
  for_each_element(k, shape, [&](const Exprs& i) { k.store(0, i, k.load_broadcast(0, i)); });
  if (numel_of(shape) == 0) return;
  walk_true_places(k, op, shape, numel_of(source), [&](const Exprs& at, const Expr& number) {
    if (numel_of(source) > 0) k.store(0, at, k.load(2, index_of(k, source, number)));
  });
}

void lower_backward(KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t>& shape = k.operand(0).layout.shape;
  const std::vector<int64_t>& sizes = k.result(0).layout.shape;
  fill_result(k, 0);
  if (numel_of(shape) == 0) return;
  walk_true_places(k, op, shape, numel_of(sizes), [&](const Exprs& at, const Expr& number) {
    if (numel_of(sizes) > 0) k.store(0, index_of(k, sizes, number), k.load(0, at));
  });
}

Values grad_scatter(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.needs(0)) d[0] = b.sum_to(b.where(op.in(1), 0.0, op.dout(0)), op.in_type(0).shape);
  if (op.needs(2))
    d[2] = b.call1("masked_scatter_backward", {op.dout(0), op.in(1)},
                   {{"sizes", op.in_type(2).shape}});
  return d;
}

Values grad_backward(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  d[0] = b.call1("masked_scatter", {zeros(b, op.in_type(0)), op.in(1), op.dout(0)});
  return d;
}

// ---- entries

constexpr Trait fill_traits = pointwise_traits;
constexpr Trait scatter_traits = Trait::recomputable | Trait::data_dependent;

OpDef masked_fill() {
  const auto samples = [] {
    Samples out;
    for (DType t : all_dtypes) {
      out.push_back({{any_of(t, {3, 4}), boolean({3, 4}), 1.75}});
      out.push_back({{any_of(t, {3, 4}), boolean({4}), any_of(t, {})}});
    }
    out.insert(out.end(), {{{f32({3, 4}), boolean({3, 1}), 2}},
                           {{f32({4}), boolean({3, 1}), -1.5}},
                           {{f32({3, 1}), boolean({4}), f32({})}},
                           {{f32({2, 3}), boolean({}), -INFINITY}},
                           {{f32({}), boolean({}), NAN}},
                           {{f32({}), boolean({2}), 3}},
                           {{f32({0, 3}), boolean({3}), 1}},
                           {{f32({2, 2}), boolean({2, 2}), i64({})}},
                           {{i64({2, 2}), boolean({2, 2}), f32({}).range(2, 9)}},
                           {{i32({5}), boolean({5}), -1}},
                           {{bf16({2, 5}), boolean({2, 5}), f32({})}}});
    return out;
  };
  return OpDef{
      .name = "masked_fill",
      .signature = "(Tensor self, Tensor mask, Tensor|Scalar value) -> Tensor",
      .summary = "A copy with one value wherever a mask is true.",
      .source = "aten::masked_fill.Scalar, masked_fill.Tensor, PyTorch 2.13",
      .traits = fill_traits,
      .infer = infer_fill,
      .reference = reference_fill,
      .decompose = decompose_fill,
      .grad = grad_fill,
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2}), boolean({3}), 1}},
                 "masked_fill: C1: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, "
                 "expected equal sizes or 1"},
                {"C2",
                 {{f32({2}), on_cuda(boolean({2})), 1}},
                 "masked_fill: C2: self is f32[2] and mask is bool[2]@cuda:0, expected one device"},
                {"C3", {{f32({2}), i64({2}), 1}}, "masked_fill: C3: mask is i64[2], expected bool"},
                {"C4",
                 {{f32({2}), boolean({2}), f32({1})}},
                 "masked_fill: C4: value is f32[1], expected a 0-d tensor or a number"}};
      },
  };
}

OpDef masked_scatter() {
  const auto samples = [] {
    Samples out;
    for (DType t : all_dtypes) {
      out.push_back({{any_of(t, {3, 4}), boolean({3, 4}), any_of(t, {12})}});
      out.push_back({{any_of(t, {3, 4}), boolean({4}), any_of(t, {3, 5})}});
    }
    const SampleTensor two = boolean({2, 2}).with({1, 0, 0, 1});
    out.insert(out.end(), {{{f32({2, 2}), two, f32({2})}},
                           {{f32({2, 2}), two, f32({1, 2, 1})}},
                           {{f32({2}), two, f32({3, 2})}},
                           {{f32({2, 1}), two, f32({3})}},
                           {{f32({2, 2}), boolean({}).with({1}), f32({2, 3})}},
                           {{f32({2, 2}), boolean({2, 2}).with({0}), f32({0})}},
                           {{f32({}), boolean({}).with({1}), f32({})}},
                           {{f32({}), boolean({3}), f32({4})}},
                           {{f32({0, 3}), boolean({3}), f32({0})}},
                           {{f32({2, 5, 7}), boolean({2, 5, 7}), f32({70})}},
                           {{f32({5, 7}), boolean({5, 1}), f32({7, 5})}}});
    return out;
  };
  return OpDef{
      .name = "masked_scatter",
      .signature = "(Tensor self, Tensor mask, Tensor source) -> Tensor",
      .summary = "A copy with the elements of a source, one after the other, where a mask is true.",
      .source = "aten::masked_scatter, PyTorch 2.13",
      .traits = scatter_traits,
      .infer = infer_scatter,
      .reference = reference_scatter,
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad_scatter,
      .lower = loop::kernel(lower_scatter),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {
            {"C1",
             {{f32({2}), boolean({3}), f32({3})}},
             "masked_scatter: C1: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, "
             "expected equal sizes or 1"},
            {"C2",
             {{f32({2}), boolean({2}), on_cuda(f32({2}))}},
             "masked_scatter: C2: self is f32[2] and source is f32[2]@cuda:0, expected one device"},
            {"C3",
             {{f32({2}), f32({2}), f32({2})}},
             "masked_scatter: C3: mask is f32[2], expected bool"},
            {"C5",
             {{f32({2}), boolean({2}), i64({2})}},
             "masked_scatter: C5: source is i64[2], expected the dtype of self: f32"},
            {"C6",
             {{f32({2}), boolean({2}).with({1, 1}), f32({1})}},
             "masked_scatter: C6: mask is true at more places than there are elements for"}};
      },
  };
}

OpDef masked_scatter_backward() {
  const auto samples = [] {
    Samples out;
    for (DType t : all_dtypes)
      out.push_back({{any_of(t, {3, 4}), boolean({3, 4})}, {{"sizes", {13}}}});
    out.insert(out.end(), {{{f32({2, 3}), boolean({3})}, {{"sizes", {3, 2}}}},
                           {{f32({2, 3}), boolean({2, 1})}, {{"sizes", {1, 7}}}},
                           {{f32({}), boolean({}).with({1})}, {{"sizes", {2}}}},
                           {{f32({0, 3}), boolean({3})}, {{"sizes", {2}}}},
                           {{f32({3}), boolean({3}).with({0})}, {{"sizes", {0}}}}});
    return out;
  };
  return OpDef{
      .name = "masked_scatter_backward",
      .signature = "(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor",
      .summary = "The gradient of masked_scatter's source.",
      .source = "aten::masked_scatter_backward, PyTorch 2.13",
      .traits = scatter_traits,
      .infer = infer_backward,
      .reference = reference_backward,
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad_backward,
      .lower = loop::kernel(lower_backward),
      .cost = cost_per_operand(1),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {
            {"C1",
             {{f32({2}), boolean({3})}, {{"sizes", {2}}}},
             "masked_scatter_backward: C1: shapes [3] and [2] don't broadcast: dim -1 is 3 and 2, "
             "expected equal sizes or 1"},
            {"C6",
             {{f32({2}), boolean({2}).with({1, 1})}, {{"sizes", {1}}}},
             "masked_scatter_backward: C6: mask is true at more places than there are "
             "elements for"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(masked) { return {masked_fill(), masked_scatter(), masked_scatter_backward()}; }

}  // namespace cleave
