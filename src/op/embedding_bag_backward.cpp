// The gradients of _embedding_bag, whose results they read.
//
// _embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices,
//                         per_sample_weights; num_weights, scale_grad_by_freq, mode, padding_idx)
//   -> dweight    grad [b,d], indices [n]; dweight [num_weights,d]
// _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, offset2bag; mode,
//                                            padding_idx)
//   -> dfactors   dfactors [n]: grad of the index's bag times its row
//
//   (C1) grad is floating, of two dims  (C2) indices and offsets are i64 or i32, of one dim
//   (C3) mode is 0, 1 or 2, and 0 with factors
//   (C4) weight and per_sample_weights have grad's dtype
//   (C5) bag_size and, of mode 2, maximum_indices have the bags of grad, and per_sample_weights
//   the shape of indices
//   (C6) sparse and scale_grad_by_freq are False, as in _embedding_bag
//
// The bags are those of offsets; offset2bag isn't read. Source: ATen/native/EmbeddingBag.cpp.
#include "op/bags.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/grad_of_parts.h"
#include "op/index_rules.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

enum Operand { at_grad, at_indices, at_offsets, at_map, at_sizes, at_most, at_factors };
enum FactorOperand { at_weight = 1, at_read, at_starts };

Status check_bags(const OpView& op, int indices, int offsets) {
  const Type &grad = op.in_type(at_grad), &i = op.in_type(indices), &o = op.in_type(offsets);
  CLEAVE_CHECK(check_floating(op, "C1", at_grad));
  if (grad.rank() != 2) return op.broken("C1", "grad is {}, expected two dims", grad.text());
  CLEAVE_CHECK(check_index_dtype(op, "C2", "indices", i));
  CLEAVE_CHECK(check_index_dtype(op, "C2", "offsets", o));
  if (i.rank() != 1 || o.rank() != 1)
    return op.broken("C2", "indices is {} and offsets is {}, expected one dim", i.text(), o.text());
  return {};
}

Result<Types> infer(const OpView& op) {
  const Type &grad = op.in_type(at_grad), &sizes = op.in_type(at_sizes),
             &most = op.in_type(at_most);
  CLEAVE_CHECK(check_bags(op, at_indices, at_offsets));
  const int64_t mode = op.int_attr("mode");
  if (mode < sum_bag || mode > max_bag || (op.has(at_factors) && mode != sum_bag))
    return op.broken("C3", "mode is {}, expected 0 sum{}", mode,
                     op.has(at_factors) ? " with per_sample_weights" : ", 1 mean or 2 max");
  if (op.has(at_factors)) {
    CLEAVE_CHECK(check_same_dtype(op, "C4", at_factors, at_grad));
    CLEAVE_CHECK(check_same_shape(op, "C5", "per_sample_weights and indices",
                                  op.in_type(at_factors).shape, op.in_type(at_indices).shape));
  }
  if (mode != sum_bag)
    CLEAVE_CHECK(
        check_same_shape(op, "C5", "bag_size and the bags of grad", sizes.shape, {grad.shape[0]}));
  if (mode == max_bag)
    CLEAVE_CHECK(check_same_shape(op, "C5", "maximum_indices and grad", most.shape, grad.shape));
  if (op.bool_attr("sparse")) return op.broken("C6", "sparse is True, expected a dense gradient");
  if (op.bool_attr("scale_grad_by_freq"))
    return op.broken("C6", "scale_grad_by_freq is True, expected False");
  return Types{typed_like(grad, grad.dtype, {op.dim_attr("num_weights"), grad.shape[1]})};
}

Result<Types> infer_factors(const OpView& op) {
  const Type &grad = op.in_type(at_grad), &weight = op.in_type(at_weight);
  CLEAVE_CHECK(check_bags(op, at_read, at_starts));
  if (op.int_attr("mode") != sum_bag)
    return op.broken("C3", "mode is {}, expected 0 sum", op.int_attr("mode"));
  CLEAVE_CHECK(check_same_dtype(op, "C4", at_weight, at_grad));
  if (weight.rank() != 2) return op.broken("C4", "weight is {}, expected two dims", weight.text());
  CLEAVE_CHECK(
      check_equal(op, "C4", "sizes of rows of weight and grad", weight.shape[1], grad.shape[1]));
  return Types{typed_like(grad, grad.dtype, op.in_type(at_read).shape)};
}

// ---- the oracle

std::vector<int64_t> bags_of(const Array& grad, const Array& offsets, const Array& indices) {
  const int64_t bags = std::min(grad.shape[0], offsets.numel());
  return bag_of_each({offsets.i.begin(), offsets.i.begin() + bags}, indices.numel());
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &grad = *in[at_grad], &indices = *in[at_indices], &sizes = *in[at_sizes],
              &most = *in[at_most];
  const int64_t mode = op.int_attr("mode"), d = grad.shape[1];
  Array y(grad.dtype, static_shape(op.out_type(0)));
  const int64_t rows = y.shape[0];
  ReferenceSums sums(y.f.size());
  for (int64_t k = 0; k < grad.numel() && mode == max_bag; ++k) {
    if (sizes.i[k / d] == 0) continue;
    CLEAVE_TRY(const int64_t row,
               index_in_range(op, "maximum_indices", most.i[k], rows, NegativeIndex::refused));
    sums[row * d + k % d] += grad.f[k];
  }
  const std::vector<int64_t> bag = bags_of(grad, *in[at_offsets], indices);
  for (int64_t k = 0; k < indices.numel() && mode != max_bag; ++k) {
    CLEAVE_TRY(const int64_t at,
               index_in_range(op, "offsets", bag[k], grad.shape[0], NegativeIndex::refused));
    CLEAVE_TRY(const int64_t row,
               index_in_range(op, "indices", indices.i[k], rows, NegativeIndex::refused));
    if (row == op.int_attr("padding_idx")) continue;
    double share = 1;
    if (mode == mean_bag) share /= static_cast<double>(std::max<int64_t>(1, sizes.i[at]));
    if (op.has(at_factors)) share *= in[at_factors]->f[k];
    for (int64_t j = 0; j < d; ++j) sums[row * d + j] += grad.f[at * d + j] * share;
  }
  y.f = rounded(sums);
  return Arrays{std::move(y)};
}

Result<Arrays> reference_factors(const OpView& op, std::span<const Array* const> in) {
  const Array &grad = *in[at_grad], &weight = *in[at_weight], &indices = *in[at_read];
  const int64_t d = grad.shape[1];
  const std::vector<int64_t> bag = bags_of(grad, *in[at_starts], indices);
  Array y(grad.dtype, indices.shape);
  for (int64_t k = 0; k < indices.numel(); ++k) {
    CLEAVE_TRY(const int64_t row, index_in_range(op, "indices", indices.i[k], weight.shape[0],
                                                 NegativeIndex::refused));
    CLEAVE_TRY(const int64_t at,
               index_in_range(op, "offsets", bag[k], grad.shape[0], NegativeIndex::refused));
    ReferenceSum sum;
    for (int64_t j = 0; j < d; ++j) sum += grad.f[at * d + j] * weight.f[row * d + j];
    y.f[k] = row == op.int_attr("padding_idx") ? 0 : static_cast<double>(sum);
  }
  return Arrays{std::move(y)};
}

// ---- the parts

// The rows of x [b,d] that each index's bag is: [n,d].
ValueId of_bags(Builder& b, const OpView& op, ValueId x, int indices, int offsets) {
  const ValueId starts = b.slice(op.in(offsets), 0, 0, op.in_type(at_grad).shape[0]);
  const ValueId bag = bag_of_each(b, starts, op.in_type(indices).shape[0]);
  return b.call1("index_select", {x, bag}, {{"dim", 0}});
}

Values decompose(Builder& b, const OpView& op) {
  const Type& type = op.in_type(at_grad);
  const DType t = wide(type.dtype);
  const int64_t mode = op.int_attr("mode");
  const Dim rows = op.dim_attr("num_weights");
  const auto column = [&](ValueId v) { return b.unsqueeze(v, 1); };
  ValueId grad = b.convert(op.in(at_grad), t);
  if (mode == max_bag) {
    const ValueId has_rows = column(b.ne(op.in(at_sizes), 0));
    const ValueId given = b.where(has_rows, grad, 0.0), at = b.where(has_rows, op.in(at_most), 0);
    const ValueId y =
        b.call1("scatter_add", {b.full({rows, type.shape[1]}, 0, t), at, given}, {{"dim", 0}});
    return {b.convert(y, type.dtype)};
  }
  if (mode == mean_bag)
    grad = b.div(grad, column(b.convert(b.call1("clamp", {op.in(at_sizes), 1}), t)));
  ValueId x = of_bags(b, op, grad, at_indices, at_offsets);
  if (op.has(at_factors)) x = b.mul(x, column(b.convert(op.in(at_factors), t)));
  const ValueId y = b.call1("embedding_dense_backward", {x, op.in(at_indices)},
                            {{"num_weights", rows},
                             {"padding_idx", op.int_attr("padding_idx")},
                             {"scale_grad_by_freq", false}});
  return {b.convert(y, type.dtype)};
}

Values decompose_factors(Builder& b, const OpView& op) {
  const DType type = op.in_type(at_grad).dtype, t = wide(type);
  const int64_t skipped = op.int_attr("padding_idx");
  const ValueId grad = of_bags(b, op, b.convert(op.in(at_grad), t), at_read, at_starts);
  const ValueId rows = b.convert(b.call1("embedding", {op.in(at_weight), op.in(at_read)}), t);
  ValueId y = b.sum(b.mul(grad, rows), {1});
  if (skipped >= 0) y = b.where(b.ne(op.in(at_read), AttrValue(skipped)), y, 0.0);
  return {b.convert(y, type)};
}

SampleAttrs how(BagMode mode, int padding = -1, bool by_count = false, int rows = 5) {
  return {{"num_weights", rows},
          {"scale_grad_by_freq", by_count},
          {"mode", mode},
          {"sparse", false},
          {"padding_idx", padding}};
}

Samples samples() {
  const auto indices = i64({7}).with({4, 0, 2, 2, 1, 3, 0}), starts = i64({3}).with({0, 2, 5});
  const auto map = i64({7}).with({0, 0, 1, 1, 1, 2, 2}), sizes = i64({3}).with({2, 3, 2});
  const auto most = i64({3, 2}).range(0, 5);
  Samples out;
  for (DType t : floating_dtypes)
    for (BagMode mode : {sum_bag, mean_bag, max_bag})
      out.push_back({{any_of(t, {3, 2}), indices, starts, map, sizes, most}, how(mode)});
  const auto g = f32({3, 2});
  out.insert(
      out.end(),
      {{{g, indices, starts, i64({0}), sizes, sizes, f32({7})}, how(sum_bag)},
       {{f16({3, 2}), indices, starts, map, sizes, sizes, f16({7})}, how(sum_bag, 2)},
       {{g, indices, starts, map, i64({3}).with({2, 1, 2}), sizes}, how(mean_bag, 2)},
       {{g, indices, i64({4}).with({0, 7, 7, 7}), map, i64({3}).with({7, 0, 0}), most},
        how(mean_bag)},
       {{g, indices, starts, map, i64({3}).with({7, 0, 0}), most}, how(max_bag)},
       {{g, i32({7}).range(0, 5), i32({3}).with({0, 2, 5}), map, sizes, most}, how(sum_bag)},
       {{g, i64({0}), i64({3}).with({0}), i64({0}), i64({3}).with({0}), sizes}, how(mean_bag)}});
  return out;
}

Samples samples_of_factors() {
  const auto indices = i64({7}).with({4, 0, 2, 2, 1, 3, 0}), starts = i64({3}).with({0, 2, 5});
  const auto map = i64({7}).with({0, 0, 1, 1, 1, 2, 2});
  const SampleAttrs plain = {{"mode", 0}};
  Samples out;
  for (DType t : floating_dtypes)
    out.push_back({{any_of(t, {3, 2}), any_of(t, {5, 2}), indices, starts, map}, plain});
  out.insert(out.end(),
             {{{f32({3, 2}), f32({5, 2}), indices, i64({4}).with({0, 2, 5, 7}), i64({0})},
               {{"mode", 0}, {"padding_idx", 2}}},
              {{f32({3, 2}), f32({5, 2}), i64({0}), i64({3}).with({0}), i64({0})}, plain}});
  return out;
}

Rejects rejects() {
  const auto g = f32({2, 3}), w = f32({4});
  const auto i = i64({4}).range(0, 5), o = i64({2}).with({0, 2}), s = i64({2}).with({2});
  const std::string op = "_embedding_bag_backward: ";
  SampleAttrs sparse = how(sum_bag);
  sparse[3].second = AttrValue(true);
  const SampleAttrs by_count = how(sum_bag, -1, true);
  return {
      {"C1",
       {{i64({2, 3}), i, o, i, s, s}, how(sum_bag)},
       op + "C1: grad is i64[2,3], expected a floating dtype"},
      {"C1",
       {{f32({2}), i, o, i, s, s}, how(sum_bag)},
       op + "C1: grad is f32[2], expected two dims"},
      {"C2",
       {{g, f32({4}), o, i, s, s}, how(sum_bag)},
       op + "C2: indices is f32[4], expected i64 or i32"},
      {"C2",
       {{g, i, i64({2, 1}), i, s, s}, how(sum_bag)},
       op + "C2: indices is i64[4] and offsets is i64[2,1], expected one dim"},
      {"C3",
       {{g, i, o, i, s, s, w}, how(mean_bag)},
       op + "C3: mode is 1, expected 0 sum with per_sample_weights"},
      {"C4",
       {{g, i, o, i, s, s, f64({4})}, how(sum_bag)},
       op + "C4: per_sample_weights is f64[4], expected the dtype of grad: f32"},
      {"C5",
       {{g, i, o, i, s, s, f32({3})}, how(sum_bag)},
       op + "C5: per_sample_weights and indices: [3] and [4], expected equal shapes"},
      {"C5",
       {{g, i, o, i, i, s}, how(mean_bag)},
       op + "C5: bag_size and the bags of grad: [4] and [2], expected equal shapes"},
      {"C5",
       {{g, i, o, i, s, s}, how(max_bag)},
       op + "C5: maximum_indices and grad: [2] and [2,3], expected equal shapes"},
      {"C6", {{g, i, o, i, s, s}, sparse}, op + "C6: sparse is True, expected a dense gradient"},
      {"C6",
       {{g, i, o, i, s, s}, by_count},
       op + "C6: scale_grad_by_freq is True, expected False"}};
}

Rejects rejects_of_factors() {
  const auto g = f32({2, 3}), w = f32({5, 3});
  const auto i = i64({4}).range(0, 5), o = i64({2}).with({0, 2});
  const std::string op = "_embedding_bag_per_sample_weights_backward: ";
  return {{"C3", {{g, w, i, o, i}, {{"mode", 1}}}, op + "C3: mode is 1, expected 0 sum"},
          {"C4",
           {{g, f32({5}), i, o, i}, {{"mode", 0}}},
           op + "C4: weight is f32[5], expected two dims"},
          {"C4",
           {{g, f32({5, 2}), i, o, i}, {{"mode", 0}}},
           op + "C4: sizes of rows of weight and grad: 2 and 3, expected equal"}};
}

OpDef backward() {
  return OpDef{
      .name = "_embedding_bag_backward",
      .signature =
          "(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, "
          "Tensor bag_size, Tensor maximum_indices, SymInt num_weights, "
          "bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, "
          "int padding_idx=-1) -> Tensor",
      .summary = "The gradient of the table whose rows are summed in bags.",
      .source = "aten::_embedding_bag_backward, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad_of_parts(decompose),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(2),
      .samples = samples,
      .rejects = rejects,
  };
}

OpDef backward_of_factors() {
  return OpDef{
      .name = "_embedding_bag_per_sample_weights_backward",
      .signature =
          "(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, "
          "Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
      .summary = "The gradient of the factors of rows that are summed in bags.",
      .source = "aten::_embedding_bag_per_sample_weights_backward, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer_factors,
      .reference = reference_factors,
      .decompose = decompose_factors,
      .grad = grad_of_parts(decompose_factors),
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(2),
      .samples = samples_of_factors,
      .rejects = rejects_of_factors,
  };
}

}  // namespace

CLEAVE_OPS(embedding_bag_backward) { return {backward(), backward_of_factors()}; }

}  // namespace cleave
