// Views that reorder dims: permute, transpose, t.
//
// permute(self; dims) -> y        y[i_dims[0], i_dims[1], ...] = x[i_0, i_1, ...]
//   (C1) one entry for each dim  (C2) each in [-rank, rank)  (C3) each once
// transpose(self; dim0, dim1)     swaps two dims
//   (C1) both in [-rank, rank); a 0-d tensor counts as one dim
// t(self)                         [n,m] -> [m,n]; rank 0 and 1 are unchanged
//   (C1) rank <= 2
#include <cmath>
#include <numeric>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Layout;
using Order = std::vector<int64_t>;  // y's dim d is x's dim order[d]

Order swapped(int64_t rank, int64_t a, int64_t b) {
  Order order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (rank > 0) std::swap(order[from_front(a, rank)], order[from_front(b, rank)]);
  return order;
}

Order order_of(const OpView& op) {
  const int64_t rank = op.in_type(0).rank();
  if (op.name() == "permute") return from_front(op.ints_attr("dims"), rank);
  if (op.name() == "t") return rank == 2 ? Order{1, 0} : swapped(rank, 0, 0);
  return swapped(rank, op.int_attr("dim0"), op.int_attr("dim1"));
}

Types permuted_type(const OpView& op) {
  const Type& x = op.in_type(0);
  Shape shape;
  for (int64_t d : order_of(op)) shape.push_back(x.shape[d]);
  return {typed_like(x, x.dtype, std::move(shape))};
}

Result<Types> infer_permute(const OpView& op) {
  const Type& x = op.in_type(0);
  const std::vector<int64_t> dims = op.ints_attr("dims");
  if (std::ssize(dims) != x.rank())
    return op.broken("C1", "{} dims are named for self: {}, expected {}", dims.size(), x.text(),
                     x.rank());
  CLEAVE_CHECK(checked_dims(op, "C2", "C3", dims, x));
  return permuted_type(op);
}

Result<Types> infer_transpose(const OpView& op) {
  CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim0"), op.in_type(0)));
  CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim1"), op.in_type(0)));
  return permuted_type(op);
}

Result<Types> infer_t(const OpView& op) {
  if (op.in_type(0).rank() > 2)
    return op.broken("C1", "self is {}, expected at most 2 dims", op.in_type(0).text());
  return permuted_type(op);
}

// Reference: iterates over y; each of its dims reads its own dim of x.
Arrays reorder(const Array& x, const std::vector<size_t>& source) {
  std::vector<int64_t> shape;
  for (size_t d : source) shape.push_back(x.shape[d]);
  return {moved(x, shape, [&](const std::vector<int64_t>& y) {
    std::vector<int64_t> at(y.size());
    for (size_t d = 0; d < y.size(); ++d) at[source[d]] = y[d];
    return position_of(at, x.shape);
  })};
}

Result<Arrays> reference_permute(const OpView& op, std::span<const Array* const> in) {
  std::vector<size_t> source;
  for (int64_t d : op.ints_attr("dims"))
    source.push_back(static_cast<size_t>(d < 0 ? d + in[0]->rank() : d));
  return reorder(*in[0], source);
}

Result<Arrays> reference_transpose(const OpView& op, std::span<const Array* const> in) {
  const int64_t rank = in[0]->rank();
  std::vector<size_t> source;
  for (int64_t d = 0; d < rank; ++d) source.push_back(static_cast<size_t>(d));
  const int64_t a = op.int_attr("dim0"), b = op.int_attr("dim1");
  if (rank > 0) std::swap(source[a < 0 ? a + rank : a], source[b < 0 ? b + rank : b]);
  return reorder(*in[0], source);
}

Result<Arrays> reference_t(const OpView&, std::span<const Array* const> in) {
  if (in[0]->rank() < 2) return Arrays{*in[0]};
  return reorder(*in[0], {1, 0});
}

Values as_permute(Builder& b, const OpView& op) { return {b.permute(op.in(0), order_of(op))}; }

// The inverse permutation.
Values grad_permute(Builder& b, const GradView& op) {
  const Order order = order_of(op);
  Order inverse(order.size());
  for (size_t d = 0; d < order.size(); ++d) inverse[order[d]] = static_cast<int64_t>(d);
  return {b.permute(op.dout(0), inverse)};
}

std::optional<Layout> layout_permute(const OpView& op, const Layout& in, int) {
  Layout out{{}, {}, in.offset};
  for (int64_t d : order_of(op)) {
    out.shape.push_back(in.shape[d]);
    out.strides.push_back(in.strides[d]);
  }
  return out;
}

constexpr Trait traits = Trait::view | Trait::fusible | Trait::recomputable;

OpDef permute() {
  return OpDef{
      .name = "permute",
      .signature = "(Tensor self, int[] dims) -> Tensor",
      .summary = "The dims in another order.",
      .source = "aten::permute, PyTorch 2.13",
      .traits = traits,
      .infer = infer_permute,
      .reference = reference_permute,
      .decompose = Absent{"a primitive view"},
      .grad = grad_permute,
      .lower = loop::view(layout_permute),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined(
                {over_dtypes(all_dtypes, {2, 3, 4}, {{"dims", {2, 0, 1}}}),
                 {{{f32({2, 3})}, {{"dims", {-1, 0}}}},
                  {{f32({})}, {{"dims", std::vector<int64_t>{}}}},
                  {{f32({5})}, {{"dims", {0}}}},
                  {{f32({2, 0, 3})}, {{"dims", {1, 2, 0}}}},
                  {{f32({2, 3, 1, 2})}, {{"dims", {0, 2, 1, 3}}}},
                  {{f32({2, 3, 4})}, {{"dims", {0, 1, 2}}}},
                  {{f32({2, 3, 4})}, {{"dims", {-1, -2, -3}}}},
                  {{bf16({2, 3, 4})}, {{"dims", {1, 0, -1}}}},
                  {{f32({1, 1, 1})}, {{"dims", {2, 0, 1}}}},
                  {{f32({0, 0})}, {{"dims", {1, 0}}}},
                  {{f32({2, 2, 2, 2, 2})}, {{"dims", {4, 2, 0, 3, 1}}}},
                  {{f32({3, 35, 2})}, {{"dims", {2, 1, 0}}}},
                  {{f64({33, 34})}, {{"dims", {1, 0}}}},
                  {{f32({2, 3}).with({NAN, INFINITY, -INFINITY, 0, -0.0, 1})}, {{"dims", {1, 0}}}},
                  {{i64({2, 2}).with({-9223372036854775808.0, 4503599627370497.0, -1, 0})},
                   {{"dims", {1, 0}}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dims", {0}}}},
                 "permute: C1: 1 dims are named for self: f32[2,3], expected 2"},
                {"C2",
                 {{f32({2, 3})}, {{"dims", {0, 2}}}},
                 "permute: C2: dim 2 is outside [-2, 2) of self: f32[2,3]"},
                {"C3",
                 {{f32({2, 3})}, {{"dims", {1, -1}}}},
                 "permute: C3: dim 1 is named twice in [1,-1], expected once"}};
      },
  };
}

OpDef transpose() {
  return OpDef{
      .name = "transpose",
      .signature = "(Tensor self, int dim0, int dim1) -> Tensor",
      .summary = "Two dims change places.",
      .source = "aten::transpose.int, PyTorch 2.13",
      .traits = traits,
      .infer = infer_transpose,
      .reference = reference_transpose,
      .decompose = as_permute,
      .grad = grad_permute,
      .lower = loop::view(layout_permute),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 3}, {{"dim0", 0}, {"dim1", 1}}),
                           {{{f32({2, 3, 4})}, {{"dim0", -1}, {"dim1", 1}}},
                            {{f32({2, 3})}, {{"dim0", 1}, {"dim1", 1}}},
                            {{f32({0, 3})}, {{"dim0", 0}, {"dim1", 1}}},
                            {{f32({})}, {{"dim0", 0}, {"dim1", -1}}},
                            {{f32({2, 3, 4})}, {{"dim0", 0}, {"dim1", 2}}},
                            {{f32({2, 3, 4})}, {{"dim0", -3}, {"dim1", -2}}},
                            {{bf16({2, 1, 3})}, {{"dim0", 1}, {"dim1", 0}}},
                            {{f32({2, 3, 0, 2})}, {{"dim0", 2}, {"dim1", 3}}},
                            {{f32({5})}, {{"dim0", 0}, {"dim1", 0}}},
                            {{f64({33, 34})}, {{"dim0", 1}, {"dim1", 0}}},
                            {{f32({2, 2, 3, 2})}, {{"dim0", 1}, {"dim1", -1}}},
                            {{f32({3, 2, 35})}, {{"dim0", 0}, {"dim1", 2}}},
                            {{f32({2, 3}).with({NAN, INFINITY, -INFINITY, 0, -0.0, 1})},
                             {{"dim0", 0}, {"dim1", 1}}},
                            {{f16({1, 4})}, {{"dim0", -1}, {"dim1", -2}}},
                            {{i64({1, 1})}, {{"dim0", 0}, {"dim1", 1}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim0", 2}, {"dim1", 0}}},
                 "transpose: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"}};
      },
  };
}

OpDef t() {
  return OpDef{
      .name = "t",
      .signature = "(Tensor self) -> Tensor",
      .summary = "The transpose of a matrix; vectors and scalars stay as they are.",
      .source = "aten::t, PyTorch 2.13",
      .traits = traits,
      .infer = infer_t,
      .reference = reference_t,
      .decompose = as_permute,
      .grad = grad_permute,
      .lower = loop::view(layout_permute),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 3}),
                           {{{f32({4})}},
                            {{f32({})}},
                            {{f32({0})}},
                            {{f32({0, 3})}},
                            {{f32({3, 0})}},
                            {{f32({1, 1})}},
                            {{f32({1, 5})}},
                            {{f32({5, 1})}},
                            {{bf16({33, 34})}},
                            {{f32({2, 70})}},
                            {{f64({4})}},
                            {{bf16({})}},
                            {{boolean({3})}},
                            {{f32({2, 3}).with({NAN, INFINITY, -INFINITY, 0, -0.0, 1})}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1", {{f32({2, 3, 4})}}, "t: C1: self is f32[2,3,4], expected at most 2 dims"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(permute) { return {permute(), transpose(), t()}; }

}  // namespace cleave
