// index_add(self, index, source; dim, alpha) -> y
//   y = self; y[index[i],j,k] += alpha * source[i,j,k] for dim 0, and so on
//
//   self [*s]   index i64 or i32 [n]   source like self, n along dim   y like self
//   (C1) dim in [-rank, rank) of self        (C2) index is i64 or i32
//   (C3) index has at most one dim           (C4) source has self's shape, with n along dim
//   (C5) source has the dtype of self        (C6) operands are on one device
//   (C7) alpha is an integer if self is integer
//
// A 0-d self takes one index and a 0-d source. Indices must be in [0, size of dim), else the error
// names the index, before anything is written. Sums are added in the order of the indices, bool by
// "or". Source: aten/src/ATen/native/TensorAdvancedIndexing.cpp, PyTorch 2.13.
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

enum Operand { at_self, at_index, at_source };

int64_t dim_of(const OpView& op) { return from_front(op.int_attr("dim"), op.in_type(0).rank()); }

Result<Types> infer(const OpView& op) {
  const Type &self = op.in_type(at_self), &index = op.in_type(at_index),
             &source = op.in_type(at_source);
  CLEAVE_TRY(const int64_t dim, checked_dim(op, "C1", op.int_attr("dim"), self));
  CLEAVE_CHECK(check_index_dtype(op, "C2", "index", index));
  if (index.rank() > 1)
    return op.broken("C3", "index is {}, expected at most one dim", index.text());
  Shape shape = self.shape;
  if (self.rank() > 0)
    shape[dim] = index.numel();
  else
    CLEAVE_CHECK(check_equal(op, "C4", "indices of a 0-d self", index.numel(), Dim(1)));
  CLEAVE_CHECK(
      check_same_shape(op, "C4", "source and the indexed part of self", source.shape, shape));
  CLEAVE_CHECK(check_same_dtype(op, "C5", at_source, at_self));
  CLEAVE_CHECK(common_device(op, "C6", {at_self, at_index, at_source}));
  if (!is_floating(self.dtype) && !op.attr("alpha").is_int() && !op.attr("alpha").get<bool>())
    return op.broken("C7", "alpha is {} for self: {}, expected an integer", op.attr("alpha").text(),
                     self.text());
  return Types{typed_like(self, self.dtype, self.shape)};
}

int64_t whole_alpha(const OpView& op) { return static_cast<int64_t>(op.float_attr("alpha")); }

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &index = *in[at_index], &source = *in[at_source];
  Array y = *in[at_self];
  const int64_t rank = y.rank(), named = op.int_attr("dim");
  const size_t dim = static_cast<size_t>(named < 0 ? named + std::max<int64_t>(rank, 1) : named);
  const int64_t size = rank == 0 ? 1 : y.shape[dim];
  for (int64_t i : index.i)
    CLEAVE_CHECK(index_in_range(op, "index", i, size, NegativeIndex::refused));
  ReferenceSums sums = sums_from(y.f);
  std::vector<int64_t> at(source.shape.size(), 0);
  for (int64_t k = 0; k < source.numel(); ++k, next_index(at, source.shape)) {
    std::vector<int64_t> target = at;
    if (rank > 0) target[dim] = index.i[at[dim]];
    const int64_t to = broadcast_position(target, y.shape);
    if (y.floating())
      sums[to] += op.float_attr("alpha") * source.f[k];
    else if (y.dtype == DType::boolean)
      y.i[to] = y.i[to] != 0 || (whole_alpha(op) != 0 && source.i[k] != 0);
    else
      y.set_int(to, static_cast<int64_t>(static_cast<uint64_t>(y.i[to]) +
                                         static_cast<uint64_t>(whole_alpha(op)) *
                                             static_cast<uint64_t>(source.i[k])));
  }
  y.f = rounded(sums);
  return Arrays{std::move(y)};
}

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  const ValueId g = op.dout(0);
  if (g.is_none()) return d;
  d[at_self] = g;
  if (!op.needs(at_source)) return d;
  ValueId picked = b.call1("index_select", {g, op.in(at_index)}, {{"dim", op.int_attr("dim")}});
  if (op.in_type(0).rank() == 0 && b.status().ok()) picked = b.view(picked, {});
  d[at_source] = b.mul(picked, op.attr("alpha"));
  return d;
}

// The columns are all dims except `dim`; the steps run over the indices.
void set_sizes(OrderedWrites& w, const std::vector<int64_t>& sizes,
               const std::vector<int64_t>& indices, size_t dim) {
  w.mode = OrderedWrites::Mode::accumulate;
  w.columns = sizes;
  w.steps = {numel_of(indices)};
  if (sizes.empty()) return;
  w.columns.erase(w.columns.begin() + static_cast<std::ptrdiff_t>(dim));
  w.keys = {sizes[dim]};
}

void lower(loop::KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t>& sizes = k.operand(at_self).layout.shape;
  const std::vector<int64_t>& indices = k.operand(at_index).layout.shape;
  const size_t dim = static_cast<size_t>(dim_of(op));
  check_indices(k, op, "index", at_index, sizes.empty() ? 1 : sizes[dim], NegativeIndex::refused);
  const auto join = [&](const Exprs& column, const Expr& along) {
    if (sizes.empty()) return Exprs{};
    Exprs at = column;
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(dim), along);
    return at;
  };
  OrderedWrites w;
  set_sizes(w, sizes, indices, dim);
  if (dim + 1 == sizes.size()) w.block = 1;
  w.key = [&](const Exprs&, const Exprs& step) {
    return Exprs{
        k.let(cast(k.load(at_index, indices.empty() ? Exprs{} : Exprs{step[0]}), DType::i64), "i")};
  };
  w.place = [&](const Exprs& key, const Exprs& column) { return join(column, key[0]); };
  w.value = [&](const Exprs& column, const Exprs& step) {
    const Expr x = k.load(at_source, join(column, step[0]));
    if (x.type() == DType::boolean)
      return binary(loop::Op::logical_and, x,
                    loop::constant_int(DType::boolean, whole_alpha(op) != 0));
    if (is_floating(x.type())) return x * loop::constant(x.type(), op.float_attr("alpha"));
    return x * loop::constant_int(x.type(), whole_alpha(op));
  };
  write_in_order(k, w);
}

std::vector<Sample> samples() {
  const SampleAttrs at0 = {{"dim", 0}};
  std::vector<Sample> out;
  for (DType t : all_dtypes) {
    out.push_back({{any_of(t, {4, 3}), i64({6}).range(0, 4), any_of(t, {6, 3})}, at0});
    out.push_back(
        {{any_of(t, {3, 4}), i32({5}).range(0, 4), any_of(t, {3, 5})}, {{"dim", 1}, {"alpha", 2}}});
  }
  out.insert(out.end(),
             {{{f32({2, 4, 3}), i64({5}).range(0, 4), f32({2, 5, 3})}, {{"dim", -2}}},
              {{f32({4, 3}), i64({2}).range(0, 4), f32({2, 3})}, {{"dim", 0}, {"alpha", -1.5}}},
              {{f32({4, 70}), i64({9}).range(0, 4), f32({9, 70})}, at0},
              {{bf16({4, 35}), i64({13}).range(0, 4), bf16({13, 35})}, at0},
              {{bf16({4, 35}), i64({13}).range(0, 35), bf16({4, 13})}, {{"dim", 1}}},
              {{f32({5}), i64({}).range(0, 5), f32({1})}, at0},
              {{f32({5}), i64({7}).range(0, 5), f32({7})}, {{"dim", -1}}},
              {{f32({}), i64({}).range(0, 1), f32({})}, at0},
              {{f32({}), i64({1}).range(0, 1), f32({})}, {{"dim", -1}, {"alpha", 3}}},
              {{f32({4, 3}), i64({0}), f32({0, 3})}, at0},
              {{f32({4, 0}), i64({2}).range(0, 4), f32({2, 0})}, at0},
              {{boolean({4}), i64({3}).range(0, 4), boolean({3})}, {{"dim", 0}, {"alpha", 0}}}});
  return out;
}

std::vector<Reject> rejects() {
  const std::string name = "index_add: ";
  const SampleAttrs at0 = {{"dim", 0}};
  return {{"C1",
           {{f32({4, 3}), i64({2}), f32({2, 3})}, {{"dim", 2}}},
           name + "C1: dim 2 is outside [-2, 2) of self: f32[4,3]"},
          {"C2",
           {{f32({4}), f32({2}), f32({2})}, at0},
           name + "C2: index is f32[2], expected i64 or i32"},
          {"C3",
           {{f32({4}), i64({2, 1}), f32({2})}, at0},
           name + "C3: index is i64[2,1], expected at most one dim"},
          {"C4",
           {{f32({4, 3}), i64({2}), f32({2, 2})}, at0},
           name + "C4: source and the indexed part of self: [2,2] and [2,3], expected equal "
                  "shapes"},
          {"C5",
           {{f32({4}), i64({2}), f64({2})}, at0},
           name + "C5: source is f64[2], expected the dtype of self: f32"},
          {"C6",
           {{f32({4}), i64({2}), on_cuda(f32({2}))}, at0},
           name + "C6: self is f32[4] and source is f32[2]@cuda:0, expected one device"},
          {"C7",
           {{i64({4}), i64({2}), i64({2})}, {{"dim", 0}, {"alpha", 2.5}}},
           name + "C7: alpha is 2.5 for self: i64[4], expected an integer"},
          {"index",
           {{f32({4}), i64({2}).with({1, -1}), f32({2})}, at0},
           name + "index: index -1 is out of range [0, 4)"},
          {"index",
           {{f32({}), i64({1}).with({1}), f32({})}, at0},
           name + "index: index 1 is out of range [0, 1)"}};
}

}  // namespace

CLEAVE_OPS(index_add) {
  return {OpDef{
      .name = "index_add",
      .signature =
          "(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
      .summary = "A copy with slices added along a dim, one for each index.",
      .source = "aten::index_add, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad,
      .lower = loop::kernel({.build = lower,
                             .starts_as = [](const OpView&) { return at_self; },
                             .streamed = [](const OpView&) { return at_source; }}),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
