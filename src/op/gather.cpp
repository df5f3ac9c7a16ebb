// Elements selected along a dim.
//
// gather(self, index; dim, sparse_grad) -> y
//   y[i,j,k] = self[index[i,j,k],j,k] for dim 0, and so on; y has the shape of index
//   (C1) dim in [-rank, rank) of self  (C2) index is i64 or i32  (C3) self and index have one rank
//   (C4) index is no larger than self in the other dims          (C5) operands are on one device
//
// index_select(self, index; dim) -> y
//   y[i,j,k] = self[index[i],j,k] for dim 0, and so on
//   (C1) dim in [-rank, rank) of self  (C2) index is i64 or i32  (C3) index has at most one dim
//   (C4) a 0-d self takes one index    (C5) operands are on one device
//
// A 0-d tensor counts as one dim of size 1. Indices must be in [0, size of dim), else the error
// names the index; negative indices are not allowed. sparse_grad requests another layout of the
// same gradient; it is dense here. Gradients are sums by index, in the order of the indices.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/index_rules.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

int64_t rank_as_one(const Type& t) { return std::max<int64_t>(t.rank(), 1); }
int64_t dim_of(const OpView& op) { return from_front(op.int_attr("dim"), op.in_type(0).rank()); }

Result<Types> infer_gather(const OpView& op) {
  const Type &self = op.in_type(0), &index = op.in_type(1);
  CLEAVE_TRY(const int64_t dim, checked_dim(op, "C1", op.int_attr("dim"), self));
  CLEAVE_CHECK(check_index_dtype(op, "C2", "index", index));
  if (rank_as_one(self) != rank_as_one(index))
    return op.broken("C3", "index is {}, expected the rank of self: {}", index.text(), self.text());
  for (int64_t d = 0; d < index.rank(); ++d)
    if (d != dim) CLEAVE_CHECK(check_within(op, "C4", "index", index, "self", self, d));
  CLEAVE_CHECK(common_device(op, "C5", {0, 1}));
  return Types{typed_like(self, self.dtype, index.shape)};
}

void copy_element(Array& to, int64_t at, const Array& from, int64_t source) {
  if (to.floating())
    to.f[at] = from.f[source];
  else
    to.i[at] = from.i[source];
}

Result<Arrays> reference_gather(const OpView& op, std::span<const Array* const> in) {
  const Array &self = *in[0], &index = *in[1];
  const std::vector<int64_t> sizes = self.rank() == 0 ? std::vector<int64_t>{1} : self.shape;
  const std::vector<int64_t> extents = index.rank() == 0 ? std::vector<int64_t>{1} : index.shape;
  const int64_t named = op.int_attr("dim");
  const size_t dim = static_cast<size_t>(named < 0 ? named + std::ssize(sizes) : named);
  Array y(self.dtype, index.shape);
  std::vector<int64_t> at(extents.size(), 0);
  for (int64_t k = 0; k < y.numel(); ++k, next_index(at, extents)) {
    std::vector<int64_t> source = at;
    CLEAVE_TRY(source[dim],
               index_in_range(op, "index", index.i[k], sizes[dim], NegativeIndex::refused));
    copy_element(y, k, self, broadcast_position(source, sizes));
  }
  return Arrays{std::move(y)};
}

// With one index for each line: compares it with the position of every element.
std::optional<ValueId> grad_of_one(Builder& b, const GradView& op) {
  const Type &self = op.in_type(0), &index = op.in_type(1);
  const auto dim = static_cast<size_t>(dim_of(op));
  if (self.rank() == 0 || index.rank() != self.rank()) return std::nullopt;
  for (size_t d = 0; d < self.shape.size(); ++d)
    if (d == dim ? index.shape[d] != Dim(1) : index.shape[d] != self.shape[d]) return std::nullopt;
  Shape line(self.shape.size(), Dim(1));
  line[dim] = self.shape[dim];
  const ValueId numbers =
      b.view(b.call1("arange", {}, {{"end", self.shape[dim]}, {"dtype", index.dtype}}), line);
  return b.where(b.eq(numbers, op.in(1)), op.dout(0), 0.0);
}

Values grad_gather(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (const auto one = grad_of_one(b, op)) {
    d[0] = *one;
    return d;
  }
  d[0] = b.call1("scatter_add", {zeros(b, op.in_type(0)), op.in(1), op.dout(0)},
                 {{"dim", op.int_attr("dim")}});
  return d;
}

Exprs lower_gather(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const std::vector<int64_t>& sizes = k.operand(0).layout.shape;
  const size_t dim = static_cast<size_t>(dim_of(op));
  const Expr picked = checked_index(k, op, "index", k.load(1, index),
                                    sizes.empty() ? 1 : sizes[dim], NegativeIndex::refused);
  if (sizes.empty()) return {k.load(0, {})};
  Exprs source = index.empty() ? Exprs{Expr(0)} : index;
  source[dim] = picked;
  return {k.load(0, source)};
}

Result<Types> infer_select(const OpView& op) {
  const Type &self = op.in_type(0), &index = op.in_type(1);
  CLEAVE_TRY(const int64_t dim, checked_dim(op, "C1", op.int_attr("dim"), self));
  CLEAVE_CHECK(check_index_dtype(op, "C2", "index", index));
  if (index.rank() > 1)
    return op.broken("C3", "index is {}, expected at most one dim", index.text());
  Type y = typed_like(self, self.dtype, self.shape);
  if (self.rank() > 0)
    y.shape[dim] = index.numel();
  else if (!op.env().provably_equal(index.numel(), Dim(1)))
    return op.broken("C4", "index is {} for a 0-d self, expected one index", index.text());
  CLEAVE_CHECK(common_device(op, "C5", {0, 1}));
  return Types{std::move(y)};
}

Result<Arrays> reference_select(const OpView& op, std::span<const Array* const> in) {
  const Array &self = *in[0], &index = *in[1];
  Array y(self.dtype, static_shape(op.out_type(0)));
  const int64_t named = op.int_attr("dim");
  const size_t dim =
      static_cast<size_t>(named < 0 ? named + std::max<int64_t>(self.rank(), 1) : named);
  std::vector<int64_t> at(y.shape.size(), 0);
  for (int64_t k = 0; k < y.numel(); ++k, next_index(at, y.shape)) {
    const int64_t i = index.i[self.rank() == 0 ? 0 : at[dim]];
    CLEAVE_TRY(const int64_t picked,
               index_in_range(op, "index", i, self.rank() == 0 ? 1 : self.shape[dim],
                              NegativeIndex::refused));
    std::vector<int64_t> source = at;
    if (self.rank() > 0) source[dim] = picked;
    copy_element(y, k, self, broadcast_position(source, self.shape));
  }
  return Arrays{std::move(y)};
}

// The index list, for index and index_put, that indexes only `dim`: [none, none, index].
Values index_list(Builder& b, const OpView& op) {
  Values list(static_cast<size_t>(dim_of(op)), ValueId::none());
  list.push_back(op.in_type(1).rank() == 0 ? b.view(op.in(1), {1}) : op.in(1));
  return list;
}

Values decompose_select(Builder& b, const OpView& op) {
  if (op.in_type(0).rank() > 0) return {b.call1("index", {op.in(0), index_list(b, op)})};
  const ValueId one = b.call1("index", {b.view(op.in(0), {1}), index_list(b, op)});
  return {b.view(one, {})};
}

Values grad_select(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.in_type(0).rank() == 0) return {op.dout(0), ValueId::none()};
  d[0] = b.call1("index_put", {zeros(b, op.in_type(0)), index_list(b, op), op.dout(0)},
                 {{"accumulate", true}});
  return d;
}

Exprs lower_select(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const std::vector<int64_t>& sizes = k.operand(0).layout.shape;
  const size_t dim = static_cast<size_t>(dim_of(op));
  Exprs at;
  if (!k.operand(1).layout.shape.empty()) at = {sizes.empty() ? Expr(0) : index[dim]};
  const Expr picked = checked_index(k, op, "index", k.load(1, at), sizes.empty() ? 1 : sizes[dim],
                                    NegativeIndex::refused);
  Exprs source = index;
  if (!sizes.empty()) source[dim] = picked;
  return {k.load(0, source)};
}

constexpr Trait traits = Trait::fusible | Trait::recomputable | Trait::data_dependent;

OpDef gather() {
  const auto samples = [] {
    Samples out;
    for (DType t : all_dtypes)
      out.push_back({{any_of(t, {3, 4}), i64({3, 2}).range(0, 4)}, {{"dim", 1}}});
    out.insert(out.end(),
               {{{f32({3, 4}), i64({5, 4}).range(0, 3)}, {{"dim", 0}}},
                {{f32({3, 4}), i32({2, 3}).range(0, 3)}, {{"dim", -2}}},
                {{f32({2, 3, 4}), i64({2, 7, 4}).range(0, 3)}, {{"dim", 1}}},
                {{f32({2, 3, 4}), i64({1, 3, 0})}, {{"dim", 2}}},
                {{f32({5}), i64({9}).range(0, 5)}, {{"dim", 0}}},
                {{f32({5}), i64({}).range(0, 5)}, {{"dim", -1}}},
                {{f32({}), i64({4}).range(0, 1)}, {{"dim", 0}}},
                {{f32({}), i64({}).range(0, 1)}, {{"dim", -1}}},
                {{f32({4, 3}), i64({4, 1}).range(0, 3)}, {{"dim", 1}, {"sparse_grad", true}}},
                {{bf16({6, 2}), i64({11, 2}).range(0, 6)}, {{"dim", 0}}}});
    return out;
  };
  return OpDef{
      .name = "gather",
      .signature = "(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
      .summary = "Elements picked along a dim, one for each index.",
      .source = "aten::gather, PyTorch 2.13",
      .traits = traits,
      .infer = infer_gather,
      .reference = reference_gather,
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad_gather,
      .lower = loop::elementwise(lower_gather, true),
      .cost = cost_per_result(0),
      .samples = samples,
      .rejects = []() -> Rejects {
        const SampleAttrs at0 = {{"dim", 0}};
        return {{"C1",
                 {{f32({2, 3}), i64({2, 3})}, {{"dim", 2}}},
                 "gather: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
                {"C2",
                 {{f32({2, 3}), f32({2, 3})}, at0},
                 "gather: C2: index is f32[2,3], expected i64 or i32"},
                {"C3",
                 {{f32({2, 3}), i64({2})}, at0},
                 "gather: C3: index is i64[2], expected the rank of self: f32[2,3]"},
                {"C4",
                 {{f32({2, 3}), i64({2, 4})}, at0},
                 "gather: C4: dim 1 of index is 4, expected at most 3, that of self"},
                {"C5",
                 {{on_cuda(f32({2})), i64({2})}, at0},
                 "gather: C5: self is f32[2]@cuda:0 and index is i64[2], expected one device"}};
      },
  };
}

OpDef index_select() {
  const auto samples = [] {
    Samples out;
    for (DType t : all_dtypes)
      out.push_back({{any_of(t, {3, 4}), i64({6}).range(0, 4)}, {{"dim", 1}}});
    out.insert(out.end(), {{{f32({3, 4}), i32({5}).range(0, 3)}, {{"dim", 0}}},
                           {{f32({2, 3, 4}), i64({2}).range(0, 3)}, {{"dim", -2}}},
                           {{f32({3, 4}), i64({}).range(0, 3)}, {{"dim", 0}}},
                           {{f32({3, 4}), i64({0})}, {{"dim", 0}}},
                           {{f32({0, 4}), i64({2}).range(0, 4)}, {{"dim", 1}}},
                           {{f32({}), i64({1}).range(0, 1)}, {{"dim", 0}}},
                           {{f32({}), i64({}).range(0, 1)}, {{"dim", -1}}},
                           {{bf16({4, 3}), i64({9}).range(0, 4)}, {{"dim", 0}}}});
    return out;
  };
  return OpDef{
      .name = "index_select",
      .signature = "(Tensor self, int dim, Tensor index) -> Tensor",
      .summary = "Slices picked along a dim, one for each index.",
      .source = "aten::index_select, PyTorch 2.13",
      .traits = traits,
      .infer = infer_select,
      .reference = reference_select,
      .decompose = decompose_select,
      .grad = grad_select,
      .lower = loop::elementwise(lower_select, true),
      .cost = cost_per_result(0),
      .samples = samples,
      .rejects = []() -> Rejects {
        const SampleAttrs at0 = {{"dim", 0}};
        return {
            {"C1",
             {{f32({2, 3}), i64({2})}, {{"dim", -3}}},
             "index_select: C1: dim -3 is outside [-2, 2) of self: f32[2,3]"},
            {"C2",
             {{f32({2, 3}), boolean({2})}, at0},
             "index_select: C2: index is bool[2], expected i64 or i32"},
            {"C3",
             {{f32({2, 3}), i64({2, 1})}, at0},
             "index_select: C3: index is i64[2,1], expected at most one dim"},
            {"C4",
             {{f32({}), i64({2})}, at0},
             "index_select: C4: index is i64[2] for a 0-d self, expected one index"},
            {"C5",
             {{f32({2}), on_cuda(i64({2}))}, at0},
             "index_select: C5: self is f32[2] and index is i64[2]@cuda:0, expected one device"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(gather) { return {gather(), index_select()}; }

}  // namespace cleave
