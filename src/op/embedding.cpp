// Rows of a table, and the gradient of the table.
//
// embedding(weight, indices; padding_idx, scale_grad_by_freq, sparse) -> y
//   weight   [n,m]
//   indices  i64 or i32 [*s]     each in [0, n), else an error that names it
//   y        [*s,m]              y[i] = weight[indices[i]]
//   (C1) weight has rank 2  (C2) indices are i64 or i32  (C3) operands are on one device
// The other attributes affect only the gradient. sparse requests another layout of the same
// gradient; it is dense here.
//
// embedding_dense_backward(grad_output, indices; num_weights, padding_idx, scale_grad_by_freq)
//     -> dw
//   grad_output  float[*s,m]
//   indices      i64 or i32 [*s]
//   dw           [num_weights,m]  dw[r] = sum of grad_output[i] over indices[i] = r
//   (C1) grad_output is floating  (C2) as above  (C3) grad_output has the dims of indices and one
//   more  (C4) num_weights >= 0   (C5) operands are on one device
// Rows of padding_idx have gradient 0. scale_grad_by_freq divides by how often the row was read.
// Sums are added in the order of the indices, in f32 or f64.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/index_rules.h"
#include "op/kernel_loops.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

Result<Types> infer_embedding(const OpView& op) {
  const Type &weight = op.in_type(0), &indices = op.in_type(1);
  if (weight.rank() != 2) return op.broken("C1", "weight is {}, expected rank 2", weight.text());
  CLEAVE_CHECK(check_index_dtype(op, "C2", "indices", indices));
  CLEAVE_CHECK(common_device(op, "C3", {0, 1}));
  Shape shape = indices.shape;
  shape.push_back(weight.shape[1]);
  return Types{typed_like(weight, weight.dtype, std::move(shape))};
}

Result<Arrays> reference_embedding(const OpView& op, std::span<const Array* const> in) {
  const Array &weight = *in[0], &indices = *in[1];
  const int64_t rows = weight.shape[0], m = weight.shape[1];
  Array y(weight.dtype, static_shape(op.out_type(0)));
  for (int64_t i = 0; i < (m == 0 ? 0 : indices.numel()); ++i) {
    CLEAVE_TRY(const int64_t row,
               index_in_range(op, "indices", indices.i[i], rows, NegativeIndex::refused));
    for (int64_t j = 0; j < m; ++j) {
      if (y.floating())
        y.f[i * m + j] = weight.f[row * m + j];
      else
        y.i[i * m + j] = weight.i[row * m + j];
    }
  }
  return Arrays{std::move(y)};
}

Values grad_embedding(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  d[0] = b.call1("embedding_dense_backward", {op.dout(0), op.in(1)},
                 {{"num_weights", op.in_type(0).shape[0]},
                  {"padding_idx", op.dim_attr("padding_idx")},
                  {"scale_grad_by_freq", op.bool_attr("scale_grad_by_freq")}});
  return d;
}

Exprs lower_embedding(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const Exprs at(index.begin(), index.end() - 1);
  const Expr row = checked_index(k, op, "indices", k.load(1, at), k.operand(0).layout.shape[0],
                                 NegativeIndex::refused);
  return {k.load(0, {row, index.back()})};
}

Result<Types> infer_backward(const OpView& op) {
  const Type &g = op.in_type(0), &indices = op.in_type(1);
  CLEAVE_CHECK(check_floating(op, "C1", 0));
  CLEAVE_CHECK(check_index_dtype(op, "C2", "indices", indices));
  if (g.rank() != indices.rank() + 1)
    return op.broken("C3", "grad_output is {}, expected rank {}, one more than indices: {}",
                     g.text(), indices.rank() + 1, indices.text());
  const Shape lead(g.shape.begin(), g.shape.end() - 1);
  CLEAVE_CHECK(check_same_shape(op, "C3", "leading dims of grad_output and dims of indices", lead,
                                indices.shape));
  const Dim rows = op.dim_attr("num_weights");
  if (op.env().range_of(rows).lo < 0)
    return op.broken("C4", "num_weights is {}, expected at least 0", rows.text());
  CLEAVE_CHECK(common_device(op, "C5", {0, 1}));
  return Types{typed_like(g, g.dtype, {rows, g.shape.back()})};
}

Result<Arrays> reference_backward(const OpView& op, std::span<const Array* const> in) {
  const Array &g = *in[0], &indices = *in[1];
  Array dw(g.dtype, static_shape(op.out_type(0)));
  const int64_t rows = dw.shape[0], m = dw.shape[1], padding = op.int_attr("padding_idx");
  std::vector<int64_t> count(static_cast<size_t>(rows), 0);
  for (int64_t i : indices.i) {
    CLEAVE_TRY(const int64_t row, index_in_range(op, "indices", i, rows, NegativeIndex::refused));
    ++count[row];
  }
  const bool by_count = op.bool_attr("scale_grad_by_freq");
  ReferenceSums sums(dw.f.size());
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const int64_t row = indices.i[i];
    if (row == padding) continue;
    const double share = by_count ? static_cast<double>(count[row]) : 1.0;
    for (int64_t j = 0; j < m; ++j) sums[row * m + j] += g.f[i * m + j] / share;
  }
  dw.f = rounded(sums);
  return Arrays{std::move(dw)};
}

// v[*s] as v[*s,1], to broadcast with rows.
ValueId as_column(Builder& b, ValueId v) { return b.unsqueeze(v, -1); }

// How often each index's row is read, in g's dtype: [*s,1].
ValueId reads_of_row(Builder& b, const OpView& op, ValueId indices, DType t) {
  const Dim rows = op.dim_attr("num_weights");
  const ValueId counts =
      b.call1("index_put", {b.full({rows}, 0, t), Values{indices}, b.full({}, 1, t)},
              {{"accumulate", true}});
  return as_column(b, b.call1("index", {counts, Values{indices}}));
}

// g as it is accumulated: 0 for padding_idx, divided by the count. This map is its own transpose.
ValueId shared_out(Builder& b, const OpView& op, ValueId g, ValueId indices) {
  const Dim padding = op.dim_attr("padding_idx");
  const DType t = op.in_type(0).dtype;
  if (op.bool_attr("scale_grad_by_freq")) g = b.div(g, reads_of_row(b, op, indices, t));
  if (op.env().range_of(padding).hi < 0) return g;
  return b.where(as_column(b, b.ne(indices, AttrValue(padding))), g, 0.0);
}

Values decompose_backward(Builder& b, const OpView& op) {
  const Type& g = op.in_type(0);
  const ValueId into = b.full({op.dim_attr("num_weights"), g.shape.back()}, 0, g.dtype);
  return {b.call1("index_put", {into, Values{op.in(1)}, shared_out(b, op, op.in(0), op.in(1))},
                  {{"accumulate", true}})};
}

Values grad_backward(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  d[0] = shared_out(b, op, b.call1("embedding", {op.dout(0), op.in(1)}), op.in(1));
  return d;
}

void lower_backward(loop::KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t> steps = k.operand(1).layout.shape;
  const int64_t rows = k.result(0).layout.shape[0];
  const int64_t padding = op.int_attr("padding_idx");
  check_indices(k, op, "indices", 1, rows, NegativeIndex::refused);
  fill_result(k, 0);
  const auto row_at = [&k](const Exprs& step) { return cast(k.load(1, step), DType::i64); };
  OrderedWrites w;
  w.mode = OrderedWrites::Mode::accumulate;
  w.columns = {k.result(0).layout.shape[1]};
  w.steps = steps;
  w.keys = {rows};
  w.key = [&](const Exprs&, const Exprs& step) { return Exprs{k.let(row_at(step), "row")}; };
  w.place = [](const Exprs& key, const Exprs& column) { return Exprs{key[0], column[0]}; };
  w.value = [&](const Exprs& column, const Exprs& step) {
    Exprs at = step;
    at.push_back(column[0]);
    Expr v = k.load(0, at);
    if (op.bool_attr("scale_grad_by_freq")) {
      const Expr row = k.let(row_at(step), "row");
      const Expr count = k.reduce(loop::ReduceOp::sum, steps, [&](const Exprs& other) {
        return cast(binary(loop::Op::eq, row_at(other), row), DType::i64);
      });
      v = v / cast(count, v.type());
    }
    if (padding < 0) return v;
    return select(binary(loop::Op::eq, row_at(step), Expr(padding)), loop::constant(v.type(), 0),
                  v);
  };
  write_in_order(k, w);
}

constexpr Trait traits = Trait::fusible | Trait::recomputable | Trait::data_dependent;

OpDef embedding() {
  const auto samples = [] {
    Samples out;
    for (DType t : all_dtypes) out.push_back({{any_of(t, {5, 3}), i64({2, 4}).range(0, 5)}});
    out.insert(out.end(), {{{f32({5, 3}), i32({6}).range(0, 5)}},
                           {{f32({5, 3}), i64({}).range(0, 5)}},
                           {{f32({5, 3}), i64({0})}},
                           {{f32({5, 0}), i64({3}).range(0, 5)}},
                           {{f32({1, 40}), i64({2, 1, 3}).range(0, 1)}},
                           {{f32({5, 3}), i64({7}).with({0, 4, 1, 3})}, {{"padding_idx", 2}}},
                           {{f32({5, 3}), i64({4}).range(0, 5)}, {{"sparse", true}}},
                           {{bf16({4, 37}), i64({9}).with({0, 3, 2})}, {{"padding_idx", 1}}}});
    return out;
  };
  return OpDef{
      .name = "embedding",
      .signature =
          "(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
          "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
      .summary = "Rows of a table, one for each index.",
      .source = "aten::embedding, PyTorch 2.13",
      .traits = traits,
      .infer = infer_embedding,
      .reference = reference_embedding,
      .decompose = [](Builder& b, const OpView& op) -> Values {
        return {b.call1("index", {op.in(0), Values{op.in(1)}})};
      },
      .grad = grad_embedding,
      .lower = loop::elementwise(lower_embedding, true),
      .cost = cost_per_result(0),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {{"C1", {{f32({5}), i64({2})}}, "embedding: C1: weight is f32[5], expected rank 2"},
                {"C2",
                 {{f32({5, 3}), f32({2})}},
                 "embedding: C2: indices is f32[2], expected i64 or i32"},
                {"C3",
                 {{f32({5, 3}), on_cuda(i64({2}))}},
                 "embedding: C3: weight is f32[5,3] and indices is i64[2]@cuda:0, expected one "
                 "device"}};
      },
  };
}

SampleAttrs backward_attrs(int num_weights, int padding_idx = -1, bool scale_grad_by_freq = false) {
  return {{"num_weights", num_weights},
          {"padding_idx", padding_idx},
          {"scale_grad_by_freq", scale_grad_by_freq}};
}

Samples backward_samples() {
  const SampleAttrs plain = backward_attrs(5);
  Samples out;
  for (DType t : floating_dtypes)
    out.push_back({{any_of(t, {2, 4, 3}), i64({2, 4}).range(0, 5)}, plain});
  out.insert(out.end(), {{{f32({6, 70}), i32({6}).range(0, 5)}, plain},
                         {{f32({3}), i64({}).range(0, 5)}, plain},
                         {{f32({0, 3}), i64({0})}, plain},
                         {{f32({4, 0}), i64({4}).range(0, 5)}, plain},
                         {{bf16({12, 35}), i64({12}).range(0, 5)}, plain},
                         {{f16({3, 4, 2}), i64({3, 4}).range(0, 2)}, plain},
                         {{f32({6, 3}), i64({6}).range(0, 5)}, backward_attrs(5, 2)},
                         {{f32({6, 3}), i64({6}).range(0, 3)}, backward_attrs(5, 1, true)},
                         {{bf16({6, 3}), i64({6}).range(0, 3)}, backward_attrs(5, -1, true)}});
  return out;
}

Rejects backward_rejects() {
  const SampleAttrs plain = backward_attrs(5);
  return {{"C1",
           {{i64({2, 3}), i64({2})}, plain},
           "embedding_dense_backward: C1: grad_output is i64[2,3], expected a floating dtype"},
          {"C2",
           {{f32({2, 3}), boolean({2})}, plain},
           "embedding_dense_backward: C2: indices is bool[2], expected i64 or i32"},
          {"C3",
           {{f32({3}), i64({2})}, plain},
           "embedding_dense_backward: C3: grad_output is f32[3], expected rank 2, one more than "
           "indices: i64[2]"},
          {"C3",
           {{f32({4, 3}), i64({2})}, plain},
           "embedding_dense_backward: C3: leading dims of grad_output and dims of indices: [4] "
           "and "
           "[2], expected equal shapes"},
          {"C4",
           {{f32({2, 3}), i64({2})}, backward_attrs(-1)},
           "embedding_dense_backward: C4: num_weights is -1, expected at least 0"},
          {"C5",
           {{f32({2, 3}), on_cuda(i64({2}))}, plain},
           "embedding_dense_backward: C5: grad_output is f32[2,3] and indices is i64[2]@cuda:0, "
           "expected one device"}};
}

OpDef embedding_dense_backward() {
  return OpDef{
      .name = "embedding_dense_backward",
      .signature =
          "(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
          "bool scale_grad_by_freq) -> Tensor",
      .summary = "The gradient of a table: rows of grad_output summed by index.",
      .source = "aten::embedding_dense_backward, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer_backward,
      .reference = reference_backward,
      .decompose = decompose_backward,
      .grad = grad_backward,
      .lower = loop::kernel({.build = lower_backward, .streamed = [](const OpView&) { return 0; }}),
      .cost = cost_per_operand(1),
      .samples = backward_samples,
      .rejects = backward_rejects,
  };
}

}  // namespace

CLEAVE_OPS(embedding) { return {embedding(), embedding_dense_backward()}; }

}  // namespace cleave
