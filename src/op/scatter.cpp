// Writes or adds elements along a dim, into a copy of self.
//
// scatter(self, index, src; dim, reduce) or scatter(self, index; dim, value, reduce) -> y
//   y = self; y[index[i,j,k],j,k] = src[i,j,k] (or value) for dim 0, and so on
//   with reduce "add" or "multiply": += or *=, as in scatter_reduce.h
// scatter_add(self, index, src; dim) -> y
//   y = self; y[index[i,j,k],j,k] += src[i,j,k]
//     (C1) dim in [-rank, rank) of self   (C2) index is i64 or i32
//     (C3) self, index and src have one rank
//     (C4) index is no larger than self in the other dims, and than src in every dim
//     (C5) src has the dtype of self      (C6) operands are on one device
//     (C7) exactly one of src and value is given  (C8) reduce is "add" or "multiply"
//
// A 0-d tensor counts as one dim of size 1. Indices must be in [0, size of dim), else the error
// names the index, before anything is written. If several writes have the same position, the last
// one in row-major order of index wins; sums are added in that order, bool by "or". A number is
// converted to the dtype of self.
// Gradient: overwritten elements have none; as in PyTorch, each of several writes to one position
// gets that position's whole gradient. PyTorch has no gradient for `reduce`; here it is that of
// scatter_reduce.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/index_rules.h"
#include "op/kernel_loops.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"
#include "op/scatter_reduce.h"
#include "op/wide_grad.h"

namespace cleave {

loop::Expr scatter_number(const OpView& op) {
  const DType t = op.out_type(0).dtype, in = loop::compute_type(t);
  const AttrValue& value = op.attr("value");
  if (t == DType::boolean) return loop::constant_int(in, value.as_double() != 0);
  if (is_floating(t)) return loop::constant(in, value.as_double());
  return loop::constant_int(
      in, value.is_int() ? op.int_attr("value") : truncate_to(t, value.as_double()));
}

namespace {

using loop::Expr;
using loop::Exprs;

int64_t rank_as_one(const Type& t) { return std::max<int64_t>(t.rank(), 1); }
int64_t dim_of(const OpView& op) { return from_front(op.int_attr("dim"), op.in_type(0).rank()); }
bool folds(const OpView& op) { return op.name() == "scatter" && op.given("reduce"); }

Result<Types> infer(const OpView& op) {
  const Type &self = op.in_type(0), &index = op.in_type(1);
  CLEAVE_TRY(const int64_t dim, checked_dim(op, "C1", op.int_attr("dim"), self));
  CLEAVE_CHECK(check_index_dtype(op, "C2", "index", index));
  const bool with_src = op.has(2);
  if (op.name() == "scatter" && with_src == op.given("value"))
    return op.broken("C7", "{} given, expected one of them",
                     with_src ? "src and value are" : "neither src nor value is");
  if (folds(op) && op.str_attr("reduce") != "add" && op.str_attr("reduce") != "multiply")
    return op.broken("C8", "reduce is \"{}\", expected add or multiply", op.str_attr("reduce"));
  for (int k = 1; k <= (with_src ? 2 : 1); ++k)
    if (rank_as_one(op.in_type(k)) != rank_as_one(self))
      return op.broken("C3", "{} is {}, expected the rank of self: {}", k == 1 ? "index" : "src",
                       op.in_type(k).text(), self.text());
  for (int64_t d = 0; d < index.rank(); ++d) {
    if (d != dim) CLEAVE_CHECK(check_within(op, "C4", "index", index, "self", self, d));
    if (with_src) {
      Type src = op.in_type(2);
      if (src.rank() == 0) src.shape.emplace_back(1);
      CLEAVE_CHECK(check_within(op, "C4", "index", index, "src", src, d));
    }
  }
  if (with_src) CLEAVE_CHECK(check_same_dtype(op, "C5", 2, 0));
  CLEAVE_CHECK(common_device(
      op, "C6", with_src ? std::initializer_list<int>{0, 1, 2} : std::initializer_list<int>{0, 1}));
  return Types{typed_like(self, self.dtype, self.shape)};
}

// Reference: processes the elements of index in order.
std::vector<int64_t> as_one(const Array& a) {
  return a.rank() == 0 ? std::vector<int64_t>{1} : a.shape;
}

void put(ReferenceSum& y, double x, std::string_view how) {
  if (how == "add")
    y += x;
  else
    y = how == "multiply" ? y * x : x;
}

int64_t put_on(int64_t old, int64_t x, std::string_view how) {
  return how == "add" ? old + x : how == "multiply" ? old * x : x;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &self = *in[0], &index = *in[1];
  Array number(self.dtype, {});
  if (!op.has(2)) {
    if (op.attr("value").is_int())
      number.set_int(0, op.int_attr("value"));
    else
      number.set(0, op.float_attr("value"));
  }
  std::string_view how = op.name() == "scatter_add" ? "add" : "write";
  if (op.name() == "scatter" && !op.attr("reduce").is_none()) how = op.str_attr("reduce");
  const std::vector<int64_t> sizes = as_one(self), extents = as_one(index);
  const int64_t named = op.int_attr("dim");
  const size_t dim = static_cast<size_t>(named < 0 ? named + std::ssize(sizes) : named);
  Array y = self;
  const Array& src = op.has(2) ? *in[2] : number;
  ReferenceSums sums = sums_from(y.f);
  std::vector<int64_t> at(extents.size(), 0);
  for (int64_t k = 0; k < index.numel(); ++k, next_index(at, extents)) {
    std::vector<int64_t> target = at;
    CLEAVE_TRY(target[dim],
               index_in_range(op, "index", index.i[k], sizes[dim], NegativeIndex::refused));
    int64_t to = 0, from = 0;
    for (size_t d = 0; d < sizes.size(); ++d) to = to * sizes[d] + target[d];
    for (size_t d = 0; op.has(2) && d < sizes.size(); ++d) from = from * as_one(*in[2])[d] + at[d];
    if (y.floating())
      put(sums[to], src.f[from], how);
    else
      y.set_int(to, put_on(y.i[to], src.i[from], how));
  }
  y.f = rounded(sums);
  return Arrays{std::move(y)};
}

// The gradient of src: gathered at the written positions, zero where src is larger than index.
ValueId grad_of_src(Builder& b, const GradView& op) {
  const Type &src = op.in_type(2), &index = op.in_type(1);
  ValueId g = b.call1("gather", {op.dout(0), op.in(1)}, {{"dim", op.int_attr("dim")}});
  if (src.shape == index.shape) return g;
  const auto as_one = [](const Shape& shape) { return shape.empty() ? Shape{1} : shape; };
  const Shape from = as_one(index.shape), to = as_one(src.shape);
  std::vector<Dim> pad;
  for (size_t d = to.size(); d-- > 0;) {
    pad.emplace_back(0);
    pad.push_back(to[d] - from[d]);
  }
  if (index.rank() == 0) g = b.view(g, from);
  g = b.call1("constant_pad_nd", {g}, {{"pad", pad}});
  return src.rank() == 0 ? b.view(g, {}) : g;
}

Values grad(Builder& b, const GradView& op) {
  if (folds(op)) return wide_grad(grad_scatter_reduce)(b, op);
  Values d = op.no_grads();
  if (op.needs(0))
    d[0] = op.name() == "scatter_add" ? op.dout(0)
                                      : b.call1("scatter", {op.dout(0), op.in(1)},
                                                {{"dim", op.int_attr("dim")}, {"value", 0}});
  if (op.has(2) && op.needs(2)) d[2] = grad_of_src(b, op);
  return d;
}

int start(const OpView& op) { return folds(op) ? -1 : 0; }

// The columns are all dims except `dim`; the steps run along `dim`.
void set_sizes(OrderedWrites& w, const OpView& op, const std::vector<int64_t>& sizes,
               const std::vector<int64_t>& extents) {
  const size_t dim = static_cast<size_t>(dim_of(op));
  if (op.name() == "scatter_add") w.mode = OrderedWrites::Mode::accumulate;
  w.key_reads_column = true;
  w.columns = extents;
  w.steps = {1};
  if (extents.empty()) return;
  w.columns.erase(w.columns.begin() + static_cast<std::ptrdiff_t>(dim));
  w.steps = {extents[dim]};
  if (!sizes.empty()) w.keys = {sizes[dim]};
}

void lower(loop::KernelBuilder& k, const OpView& op) {
  if (folds(op)) return lower_scatter_reduce(k, op);
  const std::vector<int64_t>& sizes = k.operand(0).layout.shape;
  const std::vector<int64_t>& extents = k.operand(1).layout.shape;
  const size_t dim = static_cast<size_t>(dim_of(op));
  check_indices(k, op, "index", 1, sizes.empty() ? 1 : sizes[dim], NegativeIndex::refused);
  // An index of a tensor that may be 0-d, from the other dims and the position along `dim`.
  const auto join = [dim](const std::vector<int64_t>& shape, const Exprs& column, Expr along) {
    if (shape.empty()) return Exprs{};
    Exprs at = column;
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(dim), std::move(along));
    return at;
  };
  OrderedWrites w;
  set_sizes(w, op, sizes, extents);
  if (dim + 1 == extents.size()) w.block = 1;
  w.key = [&](const Exprs& column, const Exprs& step) {
    return Exprs{k.let(cast(k.load(1, join(extents, column, step[0])), DType::i64), "i")};
  };
  w.place = [&](const Exprs& key, const Exprs& column) { return join(sizes, column, key[0]); };
  w.value = [&](const Exprs& column, const Exprs& step) {
    if (!op.has(2)) return scatter_number(op);
    return k.load(2, join(k.operand(2).layout.shape, column, step[0]));
  };
  write_in_order(k, w);
}

int streamed(const OpView& op) { return op.has(2) && !folds(op) ? 2 : -1; }

CostFn cost(int64_t flops) {
  return [flops](const OpView& op) {
    return Cost{flops * numel_hint(op, op.in_type(1)), bytes_moved(op)};
  };
}

std::vector<Reject> rejects(const std::string& name) {
  const SampleAttrs at0 = {{"dim", 0}};
  return {{"C1",
           {{f32({2, 3}), i64({2, 3}), f32({2, 3})}, {{"dim", -3}}},
           name + ": C1: dim -3 is outside [-2, 2) of self: f32[2,3]"},
          {"C2",
           {{f32({2}), boolean({2}), f32({2})}, at0},
           name + ": C2: index is bool[2], expected i64 or i32"},
          {"C3",
           {{f32({2, 3}), i64({2}), f32({2, 3})}, at0},
           name + ": C3: index is i64[2], expected the rank of self: f32[2,3]"},
          {"C3",
           {{f32({2, 3}), i64({2, 3}), f32({2})}, at0},
           name + ": C3: src is f32[2], expected the rank of self: f32[2,3]"},
          {"C4",
           {{f32({2, 3}), i64({2, 4}), f32({2, 4})}, at0},
           name + ": C4: dim 1 of index is 4, expected at most 3, that of self"},
          {"C4",
           {{f32({2, 3}), i64({5, 3}), f32({4, 3})}, at0},
           name + ": C4: dim 0 of index is 5, expected at most 4, that of src"},
          {"C5",
           {{f32({2}), i64({2}), f64({2})}, at0},
           name + ": C5: src is f64[2], expected the dtype of self: f32"},
          {"C6",
           {{f32({2}), i64({2}), on_cuda(f32({2}))}, at0},
           name + ": C6: self is f32[2] and src is f32[2]@cuda:0, expected one device"},
          {"C6",
           {{on_cuda(f32({2})), i64({2}), f32({2})}, at0},
           name + ": C6: self is f32[2]@cuda:0 and index is i64[2], expected one device"}};
}

Samples scatter_samples() {
  const SampleTensor two_rows = i64({2, 3}).with({3, 0, 1, 0, 2, 3});  // all positions differ
  Samples out;
  for (DType t : all_dtypes) {
    out.push_back({{any_of(t, {4, 3}), two_rows, any_of(t, {2, 3})}, {{"dim", 0}}});
    out.push_back({{any_of(t, {4, 3}), two_rows}, {{"dim", 0}, {"value", 1.75}}});
  }
  out.insert(
      out.end(),
      {{{f32({3, 5}), i64({3, 1}).range(0, 5)}, {{"dim", 1}, {"value", -1.0}}},
       {{f32({3, 5}), i32({2, 2}).with({4, 1, 0, 2}), f32({3, 4})}, {{"dim", -1}}},
       {{f32({2, 3, 4}), i64({2, 2, 4}).with({0, 1, 2, 0, 1, 2, 0, 1, 2, 2, 1, 1, 0, 0, 2, 2}),
         f32({2, 3, 5})},
        {{"dim", 1}}},
       {{f64({3}), i64({7}).range(0, 3)}, {{"dim", 0}, {"value", 2}}},
       {{i64({3}), i64({7}).range(0, 3), i64({7})}, {{"dim", 0}}},
       {{f32({5}), i64({}).range(0, 5), f32({})}, {{"dim", 0}}},
       {{f32({}), i64({}).range(0, 1), f32({})}, {{"dim", -1}}},
       {{f32({}), i64({1}).range(0, 1), f32({3})}, {{"dim", 0}}},
       {{f32({}), i64({0}), f32({})}, {{"dim", 0}}},
       {{f32({5}), i64({}).range(0, 5), f32({3})}, {{"dim", 0}}},
       {{f32({2, 3}), i64({0, 3}), f32({4, 3})}, {{"dim", 0}}},
       {{i32({40}), i64({1}).range(0, 40)}, {{"dim", 0}, {"value", true}}}});
  for (const char* reduce : {"add", "multiply"}) {
    const SampleAttrs first = {{"dim", 0}, {"reduce", reduce}};
    const SampleAttrs last = {{"dim", -1}, {"reduce", reduce}};
    const auto with = [](SampleAttrs attrs, AttrValue value) {
      attrs.emplace_back("value", std::move(value));
      return attrs;
    };
    const SampleTensor rows = i64({5, 3}).range(0, 4);
    for (DType t : all_dtypes) {
      out.push_back({{any_of(t, {4, 3}), rows, any_of(t, {5, 3})}, first});
      out.push_back({{any_of(t, {4, 3}), rows}, with(first, 1.75)});
    }
    out.insert(
        out.end(),
        {{{f32({2, 3}), i32({2, 2}).range(0, 3), f32({2, 4}).range(0.5, 2)}, last},
         {{f32({2, 3}), i64({1, 4}).range(0, 3)}, with(last, -2)},
         {{f32({}), i64({4}).range(0, 1), f32({4})}, first},
         {{f32({3, 2}), i64({0, 2}), f32({1, 2})}, first},
         {{boolean({3}), i64({2}).range(0, 3)}, with(first, false)},
         {{f32({2}).with({1, NAN}), i64({3}).with({0, 1, 0}), f32({3}).with({NAN, 2, 3})}, first}});
  }
  return out;
}

Rejects scatter_rejects() {
  Rejects out = rejects("scatter");
  out.push_back({"C6",
                 {{on_cuda(f32({2})), i64({2})}, {{"dim", 0}, {"value", 1}}},
                 "scatter: C6: self is f32[2]@cuda:0 and index is i64[2], expected one device"});
  out.push_back({"C8",
                 {{f32({2}), i64({2}), f32({2})}, {{"dim", 0}, {"reduce", "sum"}}},
                 "scatter: C8: reduce is \"sum\", expected add or multiply"});
  out.push_back({"C7",
                 {{f32({2}), i64({2})}, {{"dim", 0}}},
                 "scatter: C7: neither src nor value is given, expected one of them"});
  out.push_back({"C7",
                 {{f32({2}), i64({2}), f32({2})}, {{"dim", 0}, {"value", 1}}},
                 "scatter: C7: src and value are given, expected one of them"});
  return out;
}

OpDef scatter() {
  return OpDef{
      .name = "scatter",
      .signature =
          "(Tensor self, int dim, Tensor index, Tensor? src=None, *, Scalar? value=None, "
          "str? reduce=None) -> Tensor",
      .summary = "A copy with elements overwritten along a dim, one for each index.",
      .source =
          "aten::scatter.src, scatter.value, scatter.reduce, scatter.value_reduce, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad,
      .lower = loop::kernel({.build = lower, .starts_as = start, .streamed = streamed}),
      .cost = cost(0),
      .samples = scatter_samples,
      .rejects = scatter_rejects,
  };
}

OpDef scatter_add() {
  const auto samples = [] {
    Samples out;
    for (DType t : all_dtypes)
      out.push_back(
          {{any_of(t, {4, 3}), i64({5, 3}).range(0, 4), any_of(t, {5, 3})}, {{"dim", 0}}});
    out.insert(out.end(),
               {{{f32({3, 5}), i64({3, 1}).range(0, 5), f32({3, 1})}, {{"dim", 1}}},
                {{f32({3, 5}), i32({2, 9}).range(0, 5), f32({3, 11})}, {{"dim", -1}}},
                {{f32({2, 3, 40}), i64({2, 4, 40}).range(0, 3), f32({2, 4, 40})}, {{"dim", 1}}},
                {{bf16({3, 2, 35}), i64({9, 2, 35}).range(0, 3), bf16({9, 2, 35})}, {{"dim", 0}}},
                {{f16({2, 6}), i64({2, 9}).range(0, 3), f16({2, 9})}, {{"dim", 1}}},
                {{f32({5}), i64({}).range(0, 5), f32({})}, {{"dim", 0}}},
                {{f32({}), i64({}).range(0, 1), f32({})}, {{"dim", -1}}},
                {{f32({}), i64({4}).range(0, 1), f32({4})}, {{"dim", 0}}},
                {{bf16({}), i64({4}).range(0, 1), bf16({4})}, {{"dim", 0}}},
                {{f32({2, 3}), i64({0, 3}), f32({4, 3})}, {{"dim", 0}}}});
    return out;
  };
  return OpDef{
      .name = "scatter_add",
      .signature = "(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
      .summary = "A copy with values added along a dim, one for each index.",
      .source = "aten::scatter_add, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad,
      .lower = loop::kernel({.build = lower, .starts_as = start, .streamed = streamed}),
      .cost = cost(1),
      .samples = samples,
      .rejects = [] { return rejects("scatter_add"); },
  };
}

}  // namespace

CLEAVE_OPS(scatter) { return {scatter(), scatter_add()}; }

}  // namespace cleave
