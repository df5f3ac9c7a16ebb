// Advanced indexing by lists of index tensors.
//
// index(self, indices) -> y
//   y = self[indices], the dims in the order of advanced_index.h: for indices [none, i]
//   y[a,n,...] = self[a,i[n],...]
// index_put(self, indices, values; accumulate) -> y
//   y = self; y[indices] = values, or += values
//     (C1) at least one index, at most one for each dim of self
//     (C2) indices are i64 or i32           (C3) indices broadcast together
//     (C4) operands are on one device, or indices on the CPU
//     (C5) values has the dtype of self     (C6) values broadcasts to self[indices]
//
// An index must be in [-size, size) of its dim and counts from the end if negative; an index
// outside is an error that names it, reported before anything is written. If several writes have
// the same position, the last one in row-major order of the broadcast indices wins; sums are added
// in that order, bool by "or". Masks (bool, u8) are Unsupported, because the size of their result
// depends on values, except for a single bool mask of index_put (mask_put.h).
// Gradient: overwritten elements have none; as in PyTorch, each of several writes to one position
// gets that position's whole gradient.
#include "op/advanced_index.h"
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/index_rules.h"
#include "op/kernel_loops.h"
#include "op/mask_put.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

Result<Types> infer_index(const OpView& op) {
  CLEAVE_TRY(Type y, indexed_type(op));
  return Types{std::move(y)};
}

Result<Types> infer_put(const OpView& op) {
  if (is_mask_put(op)) return infer_mask_put(op);
  CLEAVE_TRY(const Type picked, indexed_type(op));
  const Type &self = op.in_type(0), &values = op.in_type(2);
  CLEAVE_CHECK(common_device(op, "C4", {0, 2}));
  CLEAVE_CHECK(check_same_dtype(op, "C5", 2, 0));
  CLEAVE_CHECK(check_expandable(op, "C6", values.shape, picked.shape));
  return Types{typed_like(self, self.dtype, self.shape)};
}

// Reference. Iterates over self[indices] in row-major order: `visit(k, at)` gets the number of the
// element and its position in self. The element's coordinates are split into those of the broadcast
// indices and those of the dims that are not indexed.
struct Walk {
  std::vector<int64_t> broadcast;  // joint broadcast shape of the indices
  std::vector<int64_t> shape;      // of self[indices]
  int64_t lead = 0;                // dims of `shape` before those of `broadcast`
};

Walk walk_of(const OpView& op, std::span<const Array* const> in) {
  Walk w;
  bool gap = false, inside = false, left = false;
  std::vector<int64_t> before, after;
  for (int64_t d = 0; d < in[0]->rank(); ++d) {
    const Array* index = d < op.list_size() ? in[1 + d] : nullptr;
    if (index) {
      gap = gap || left;
      inside = true;
      const size_t rank = std::max(w.broadcast.size(), index->shape.size());
      w.broadcast.insert(w.broadcast.begin(), rank - w.broadcast.size(), 1);
      for (size_t r = 0; r < index->shape.size(); ++r) {
        int64_t& size = w.broadcast[rank - index->shape.size() + r];
        if (index->shape[r] != 1) size = index->shape[r];
      }
    } else {
      left = inside;
      (inside ? after : before).push_back(in[0]->shape[d]);
    }
  }
  w.lead = gap ? 0 : std::ssize(before);
  w.shape = before;
  w.shape.insert(w.shape.end(), after.begin(), after.end());
  w.shape.insert(w.shape.begin() + w.lead, w.broadcast.begin(), w.broadcast.end());
  return w;
}

Status visit_indexed(const OpView& op, std::span<const Array* const> in, const Walk& w,
                     const std::function<void(int64_t, int64_t)>& visit) {
  const Array& self = *in[0];
  std::vector<int64_t> at(w.shape.size(), 0);
  const int64_t total = numel_of(w.shape), broadcast_rank = std::ssize(w.broadcast);
  for (int64_t k = 0; k < total; ++k, next_index(at, w.shape)) {
    const auto begin = at.begin() + w.lead;
    const std::vector<int64_t> among(begin, begin + broadcast_rank);
    std::vector<int64_t> kept = at;
    kept.erase(kept.begin() + w.lead, kept.begin() + w.lead + broadcast_rank);
    int64_t position = 0;
    size_t next = 0;
    for (int64_t d = 0; d < self.rank(); ++d) {
      const Array* index = d < op.list_size() ? in[1 + d] : nullptr;
      int64_t coordinate = 0;
      if (index) {
        CLEAVE_TRY(coordinate, index_in_range(op, fmt::format("indices[{}]", d),
                                              index->i[broadcast_position(among, index->shape)],
                                              self.shape[d], NegativeIndex::from_end));
      } else {
        coordinate = kept[next++];
      }
      position = position * self.shape[d] + coordinate;
    }
    visit(k, position);
  }
  return {};
}

Result<Arrays> reference_index(const OpView& op, std::span<const Array* const> in) {
  const Walk w = walk_of(op, in);
  const Array& self = *in[0];
  Array y(self.dtype, w.shape);
  CLEAVE_CHECK(visit_indexed(op, in, w, [&](int64_t k, int64_t at) {
    if (y.floating())
      y.f[k] = self.f[at];
    else
      y.i[k] = self.i[at];
  }));
  return Arrays{std::move(y)};
}

Result<Arrays> reference_put(const OpView& op, std::span<const Array* const> in) {
  if (is_mask_put(op)) return reference_mask_put(op, in);
  const Walk w = walk_of(op, in);
  const Array& values = *in[1 + static_cast<size_t>(op.list_size())];
  const bool add = op.bool_attr("accumulate");
  for (int d = 0; d < op.list_size(); ++d)
    for (int64_t k = 0; in[1 + d] && k < in[1 + d]->numel(); ++k)
      CLEAVE_CHECK(index_in_range(op, fmt::format("indices[{}]", d), in[1 + d]->i[k],
                                  in[0]->shape[d], NegativeIndex::from_end));
  Array y = *in[0];
  ReferenceSums sums = sums_from(y.f);
  std::vector<int64_t> at(w.shape.size(), 0);
  CLEAVE_CHECK(visit_indexed(op, in, w, [&](int64_t, int64_t to) {
    const int64_t from = broadcast_position(at, values.shape);
    if (!y.floating())
      y.set_int(to, values.i[from] + (add ? y.i[to] : 0));
    else if (add)
      sums[to] += values.f[from];
    else
      sums[to] = values.f[from];
    next_index(at, w.shape);
  }));
  y.f = rounded(sums);
  return Arrays{std::move(y)};
}

Values index_list(const OpView& op) {
  Values list;
  for (int k = 0; k < op.list_size(); ++k) list.push_back(op.list_in(k));
  return list;
}

Values grad_index(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  d[0] = b.call1("index_put", {zeros(b, op.in_type(0)), index_list(op), op.dout(0)},
                 {{"accumulate", true}});
  return d;
}

Values grad_put(Builder& b, const GradView& op) {
  if (is_mask_put(op)) return grad_mask_put(b, op);
  Values d = op.no_grads();
  const ValueId g = op.dout(0);
  if (g.is_none()) return d;
  if (op.needs(0))
    d[0] = op.bool_attr("accumulate")
               ? g
               : b.call1("index_put", {g, index_list(op), b.full({}, 0, op.in_type(0).dtype)});
  if (op.needs(2))
    d[op.flat(2)] = b.sum_to(b.call1("index", {g, index_list(op)}), op.in_type(2).shape);
  return d;
}

// The joint broadcast rank of the given indices.
int64_t broadcast_rank_of(const OpView& op) {
  int64_t rank = 0;
  for (int t = 0; t < op.list_size(); ++t)
    if (op.list_has(t)) rank = std::max(rank, op.list_type(t).rank());
  return rank;
}

std::string item_name(int t) { return fmt::format("indices[{}]", t); }

Exprs lower_index(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const std::vector<int64_t>& sizes = k.operand(0).layout.shape;
  const AdvancedIndex plan = plan_index(op, std::ssize(sizes), broadcast_rank_of(op));
  const Exprs among = plan.broadcast_part(index);
  Exprs source;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int t = plan.tensor_of[d];
    source.push_back(t < 0 ? index[plan.result_of[d]]
                           : checked_index(k, op, item_name(t),
                                           k.load_broadcast(op.flat(1) + t, among), sizes[d],
                                           NegativeIndex::from_end));
  }
  return {k.load(0, source)};
}

// The columns are the dims of self that aren't indexed, the steps those of the broadcast indices.
OrderedWrites sizes_of_put(const OpView& op, const AdvancedIndex& plan) {
  const std::vector<int64_t> sizes = static_shape(op.in_type(0));
  OrderedWrites w;
  if (op.bool_attr("accumulate")) w.mode = OrderedWrites::Mode::accumulate;
  w.steps.assign(static_cast<size_t>(plan.broadcast_rank), 1);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int t = plan.tensor_of[d];
    (t < 0 ? w.columns : w.keys).push_back(sizes[d]);
    if (t < 0) continue;
    const std::vector<int64_t> shape = static_shape(op.list_type(t));
    for (size_t r = 0; r < shape.size(); ++r)
      if (shape[r] != 1) w.steps[w.steps.size() - shape.size() + r] = shape[r];
  }
  return w;
}

void lower_put(loop::KernelBuilder& k, const OpView& op) {
  if (is_mask_put(op)) return lower_mask_put(k, op);
  const std::vector<int64_t>& sizes = k.operand(0).layout.shape;
  const AdvancedIndex plan = plan_index(op, std::ssize(sizes), broadcast_rank_of(op));
  OrderedWrites w = sizes_of_put(op, plan);
  for (size_t d = 0; d < sizes.size(); ++d)
    if (const int t = plan.tensor_of[d]; t >= 0)
      check_indices(k, op, item_name(t), op.flat(1) + t, sizes[d], NegativeIndex::from_end);
  if (plan.tensor_of.back() >= 0) w.block = 1;
  w.key = [&](const Exprs&, const Exprs& step) {
    Exprs key;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (plan.tensor_of[d] < 0) continue;
      const Expr i =
          k.let(cast(k.load_broadcast(op.flat(1) + plan.tensor_of[d], step), DType::i64));
      key.push_back(k.let(select(binary(loop::Op::lt, i, Expr(0)), i + Expr(sizes[d]), i), "i"));
    }
    return key;
  };
  w.place = [&](const Exprs& key, const Exprs& column) {
    Exprs at;
    size_t from_key = 0, from_column = 0;
    for (int t : plan.tensor_of) at.push_back(t < 0 ? column[from_column++] : key[from_key++]);
    return at;
  };
  w.value = [&](const Exprs& column, const Exprs& step) {
    Exprs at = column;
    at.insert(at.begin() + plan.first, step.begin(), step.end());
    return k.load_broadcast(op.flat(2), at);
  };
  write_in_order(k, w);
}

// Values that repeat are read several times.
int streamed_by_put(const OpView& op) {
  if (is_mask_put(op)) return -1;
  const OrderedWrites w =
      sizes_of_put(op, plan_index(op, op.in_type(0).rank(), broadcast_rank_of(op)));
  const bool once = op.in_type(2).numel() == Dim(numel_of(w.columns) * numel_of(w.steps));
  return once ? op.flat(2) : -1;
}

// An absent item of a list.
SampleTensor absent() { return SampleTensor(Type::none()).range(0, 1); }

using List = std::vector<SampleTensor>;

OpDef index() {
  const auto samples = [] {
    Samples out;
    for (DType t : all_dtypes) out.push_back({{any_of(t, {4, 3}), List{i64({5}).range(-4, 4)}}});
    const SampleTensor i4 = i64({2}).range(-4, 4), j3 = i32({5, 1}).range(-3, 3);
    out.insert(out.end(),
               {{{f32({4, 3, 2}), List{i4, j3}}},
                {{f32({4, 3, 2}), List{absent(), j3}}},
                {{f32({4, 3, 2, 5}), List{absent(), j3, i64({2}).range(-2, 2)}}},
                {{f32({4, 3, 2}), List{i4, absent(), i64({5, 1}).range(0, 2)}}},
                {{f32({2, 4, 3, 2}), List{absent(), i4, absent(), i64({2}).range(0, 2)}}},
                {{f32({4, 3, 2}), List{absent(), absent(), i64({3}).range(0, 2)}}},
                {{f32({4, 3}), List{i64({}).range(-4, 4)}}},
                {{f32({4, 3}), List{i64({2, 2}).range(0, 4), i64({}).range(0, 3)}}},
                {{f32({4}), List{i64({2, 3}).range(-4, 4)}}},
                {{f32({4, 3}), List{i64({0})}}},
                {{f32({4, 0}), List{i64({2}).range(0, 4)}}},
                {{f32({4, 3}), List{i4, absent()}}},
                {{bf16({4, 3}), List{i64({11}).range(-4, 4)}}}});
    return out;
  };
  return OpDef{
      .name = "index",
      .signature = "(Tensor self, Tensor?[] indices) -> Tensor",
      .summary = "Elements picked by index tensors, one for each indexed dim.",
      .source = "aten::index.Tensor, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable | Trait::data_dependent,
      .infer = infer_index,
      .reference = reference_index,
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad_index,
      .lower = loop::elementwise(lower_index, true),
      .cost = cost_per_result(0),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {
            {"C1",
             {{f32({4}), List{i64({2}), i64({2})}}},
             "index: C1: 2 indices are given for self: f32[4], expected at most 1"},
            {"C1",
             {{f32({4}), List{absent()}}},
             "index: C1: no index is given, expected at least one"},
            {"C2",
             {{f32({4}), List{f32({2})}}},
             "index: C2: indices[0] is f32[2], expected i64 or i32"},
            {"C2",
             {{f32({4}), List{boolean({4})}}},
             "index: indices[0] is bool[4]: a mask picks a number of elements that only its values "
             "tell, expected i64 or i32 (src/op/index.cpp)"},
            {"C3",
             {{f32({4, 3}), List{i64({2}), i64({3})}}},
             "index: C3: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, expected equal "
             "sizes "
             "or 1"},
            {"C4",
             {{f32({4}), List{on_cuda(i64({2}))}}},
             "index: C4: self is f32[4] and indices[0] is i64[2]@cuda:0, expected one device"}};
      },
  };
}

Samples put_samples() {
  const SampleAttrs add = {{"accumulate", true}};
  const SampleTensor rows = i64({3}).with({2, -4, -1});  // all positions differ
  const SampleTensor met = i64({6}).range(-4, 4);
  Samples out;
  for (DType t : all_dtypes) {
    out.push_back({{any_of(t, {4, 3}), List{rows}, any_of(t, {3, 3})}});
    out.push_back({{any_of(t, {4, 3}), List{met}, any_of(t, {6, 3})}, add});
  }
  out.insert(
      out.end(),
      {{{f32({4, 3}), List{rows}, f32({})}},
       {{f32({4, 3}), List{rows}, f32({3})}},
       {{f32({4, 3}), List{rows}, f32({3, 1})}},
       {{i64({4, 3}), List{met}, i64({6, 3})}},
       {{f32({4, 3}), List{absent(), i64({2}).with({-1, 0})}, f32({4, 2})}},
       {{f32({4, 3, 2}), List{i64({2}).with({3, 1}), absent(), i32({2}).with({0, 1})},
         f32({2, 3})}},
       {{f32({4, 3}), List{i64({2, 1}).with({3, 1}), i64({3}).with({0, -1, 1})}, f32({2, 3})}},
       {{f32({4, 3}), List{met, i64({6}).range(-3, 3)}, f32({6})}, add},
       {{f32({4, 3}), List{i64({2, 1}).range(0, 4), i64({5}).range(0, 3)}, f32({5})}, add},
       {{f32({4, 3, 2}), List{absent(), i64({5}).range(-3, 3)}, f32({4, 5, 2})}, add},
       {{f32({4, 3, 70}), List{met, absent()}, f32({6, 1, 70})}, add},
       {{f32({5}), List{i64({}).range(0, 5)}, f32({})}, add},
       {{f32({4, 3}), List{i64({0})}, f32({0, 3})}},
       {{f32({4, 0}), List{i64({2}).range(0, 4)}, f32({2, 0})}, add},
       {{bf16({4, 35}), List{i64({13}).range(-4, 4)}, bf16({13, 35})}, add},
       {{bf16({4, 3}), List{absent(), i64({7}).range(-3, 3)}, bf16({4, 7})}, add},
       {{f16({4, 3}), List{i64({2, 1}).range(0, 4), i64({5}).range(0, 3)}, f16({2, 5})}, add}});
  for (Sample& of_mask : mask_put_samples()) out.push_back(std::move(of_mask));
  return out;
}

Rejects put_rejects() {
  Rejects out = {
      {"C1",
       {{f32({4}), List{i64({2}), i64({2})}, f32({2})}},
       "index_put: C1: 2 indices are given for self: f32[4], expected at most 1"},
      {"C2",
       {{f32({4}), List{f32({2})}, f32({2})}},
       "index_put: C2: indices[0] is f32[2], expected i64 or i32"},
      {"C3",
       {{f32({4, 3}), List{i64({2}), i64({3})}, f32({})}},
       "index_put: C3: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, expected equal "
       "sizes or 1"},
      {"C4",
       {{f32({4}), List{i64({2})}, on_cuda(f32({2}))}},
       "index_put: C4: self is f32[4] and values is f32[2]@cuda:0, expected one device"},
      {"C5",
       {{f32({4}), List{i64({2})}, i64({2})}},
       "index_put: C5: values is i64[2], expected the dtype of self: f32"},
      {"C6",
       {{f32({4}), List{i64({2})}, f32({1, 2})}},
       "index_put: C6: shape [1,2] doesn't broadcast to [2], expected dims that are equal or "
       "1"}};
  for (Reject& of_mask : mask_put_rejects()) out.push_back(std::move(of_mask));
  return out;
}

OpDef index_put() {
  return OpDef{
      .name = "index_put",
      .signature =
          "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
      .summary = "A copy with elements overwritten, or added to, at index tensors.",
      .source = "aten::index_put, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer_put,
      .reference = reference_put,
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad_put,
      .lower = loop::kernel({.build = lower_put,
                             .starts_as = [](const OpView& op) { return is_mask_put(op) ? -1 : 0; },
                             .streamed = streamed_by_put}),
      .cost = cost_per_result(1),
      .samples = put_samples,
      .rejects = put_rejects,
  };
}

}  // namespace

CLEAVE_OPS(index) { return {index(), index_put()}; }

}  // namespace cleave
