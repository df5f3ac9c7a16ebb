// scatter_reduce(self, index, src; dim, reduce, include_self) -> y
//   y = self; y[index[i,j,k],j,k] = fold of itself and src[i,j,k] for dim 0, and so on
//
//   reduce  "sum" "prod" "mean" "amax" "amin"
//   include_self  false: an element that is written to is excluded from its own fold
//
//   (C1) dim in [-rank, rank) of self   (C2) index is i64 or i32
//   (C3) self, index and src have one rank
//   (C4) index is no larger than self in the other dims, and than src in every dim
//   (C5) src has the dtype of self      (C6) operands are on one device
//   (C7) reduce is one of the five      (C8) mean: self is not bool
//
// A 0-d tensor counts as one dim of size 1. Indices must be in [0, size of dim), else the error
// names the index, before anything is written. Elements fold in the order of index. A mean of
// integers rounds down; for i8 and u8 its sum and count don't overflow, unlike ATen's. bool: sum
// and amax are "or", prod and amin "and". NaN propagates. The second derivative of a product is not
// exact where src is 0.
// Source: aten/src/ATen/native/TensorAdvancedIndexing.cpp, PyTorch 2.13.
#include "op/scatter_reduce.h"

#include <cmath>
#include <map>
#include <span>

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/index_rules.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"
#include "op/wide_grad.h"

namespace cleave {

int64_t scatter_dim(const OpView& op) {
  return from_front(op.int_attr("dim"), op.in_type(0).rank());
}

Fold fold_of(const OpView& op) {
  if (op.name() == "scatter") return op.str_attr("reduce") == "add" ? Fold::sum : Fold::prod;
  constexpr std::string_view names[] = {"sum", "prod", "mean", "amax", "amin"};
  const std::string& name = op.str_attr("reduce");
  for (int k = 0; k < 5; ++k)
    if (names[k] == name) return static_cast<Fold>(k);
  return Fold::sum;
}

bool includes_self(const OpView& op) {
  return op.def().schema.find("include_self") < 0 || op.bool_attr("include_self");
}

namespace {

int64_t rank_as_one(const Type& t) { return std::max<int64_t>(t.rank(), 1); }

Result<Types> infer(const OpView& op) {
  const Type &self = op.in_type(0), &index = op.in_type(1), &src = op.in_type(2);
  CLEAVE_TRY(const int64_t dim, checked_dim(op, "C1", op.int_attr("dim"), self));
  CLEAVE_CHECK(check_index_dtype(op, "C2", "index", index));
  for (int k : {1, 2})
    if (rank_as_one(op.in_type(k)) != rank_as_one(self))
      return op.broken("C3", "{} is {}, expected the rank of self: {}", k == 1 ? "index" : "src",
                       op.in_type(k).text(), self.text());
  Type wide = src;
  if (wide.rank() == 0) wide.shape.emplace_back(1);
  for (int64_t d = 0; d < index.rank(); ++d) {
    if (d != dim) CLEAVE_CHECK(check_within(op, "C4", "index", index, "self", self, d));
    CLEAVE_CHECK(check_within(op, "C4", "index", index, "src", wide, d));
  }
  CLEAVE_CHECK(check_same_dtype(op, "C5", 2, 0));
  CLEAVE_CHECK(common_device(op, "C6", {0, 1, 2}));
  const std::string& name = op.str_attr("reduce");
  if (fold_of(op) == Fold::sum && name != "sum")
    return op.broken("C7", "reduce is \"{}\", expected sum, prod, mean, amax or amin", name);
  if (fold_of(op) == Fold::mean && self.dtype == DType::boolean)
    return op.broken("C8", "self is {}, expected numbers for a mean", self.text());
  return Types{typed_like(self, self.dtype, self.shape)};
}

// Folds `first` with the elements of src at positions `from`.
double folded(const std::string& reduce, double first, const std::vector<double>& src,
              std::span<const int64_t> from) {
  ReferenceSum sum = first;
  ReferenceProduct product = first;
  double most = first;
  for (int64_t at : from) {
    const double x = src[at];
    sum += x;
    product *= x;
    if (std::isnan(most) || std::isnan(x))
      most = NAN;
    else if ((most > x) != (reduce == "amax"))
      most = x;
  }
  if (reduce == "prod") return product;
  return reduce == "sum" || reduce == "mean" ? static_cast<double>(sum) : most;
}
int64_t folded_int(const std::string& reduce, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (reduce == "prod") return static_cast<int64_t>(x * y);
  if (reduce == "sum" || reduce == "mean") return static_cast<int64_t>(x + y);
  return (a > b) == (reduce == "amax") ? a : b;
}

std::vector<int64_t> as_one(const Array& a) {
  return a.rank() == 0 ? std::vector<int64_t>{1} : a.shape;
}

// Collects the positions of src that fold into each element, then folds each element separately.
Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &self = *in[0], &index = *in[1], &src = *in[2];
  const std::string& reduce = op.str_attr("reduce");
  const std::vector<int64_t> sizes = as_one(self), extents = as_one(index), wide = as_one(src);
  const int64_t named = op.int_attr("dim");
  const size_t dim = static_cast<size_t>(named < 0 ? named + std::ssize(sizes) : named);
  std::map<int64_t, std::vector<int64_t>> sources;
  std::vector<int64_t> at(extents.size(), 0);
  for (int64_t k = 0; k < index.numel(); ++k, next_index(at, extents)) {
    std::vector<int64_t> target = at;
    CLEAVE_TRY(target[dim],
               index_in_range(op, "index", index.i[k], sizes[dim], NegativeIndex::refused));
    sources[broadcast_position(target, sizes)].push_back(broadcast_position(at, wide));
  }
  Array y = self;
  for (const auto& [to, from] : sources) {
    const bool own = op.bool_attr("include_self");
    const size_t first = own ? 0 : 1;
    const auto count = static_cast<int64_t>(from.size()) + (own ? 1 : 0);
    if (y.floating()) {
      const std::span<const int64_t> rest(from);
      const double sum =
          folded(reduce, own ? self.f[to] : src.f[from[0]], src.f, rest.subspan(first));
      y.f[to] = reduce == "mean" ? sum / static_cast<double>(count) : sum;
    } else {
      int64_t sum = own ? self.i[to] : src.i[from[0]];
      for (size_t j = first; j < from.size(); ++j) sum = folded_int(reduce, sum, src.i[from[j]]);
      if (size_of(y.dtype) >= 4) sum = wrap_to(y.dtype, sum);
      if (reduce == "mean") sum = sum / count - (sum % count < 0 ? 1 : 0);
      y.set_int(to, sum);
    }
  }
  return Arrays{std::move(y)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"})
    for (bool own : {true, false}) {
      const SampleAttrs attrs = {{"dim", 0}, {"reduce", reduce}, {"include_self", own}};
      const SampleAttrs last = {{"dim", -1}, {"reduce", reduce}, {"include_self", own}};
      for (DType t : all_dtypes)
        if (t != DType::boolean || std::string_view(reduce) != "mean")
          out.push_back({{any_of(t, {4, 3}), i64({5, 3}).range(0, 4), any_of(t, {5, 3})}, attrs});
      out.push_back({{f32({3, 5}), i32({2, 4}).range(0, 5), f32({3, 6})}, last});
      out.push_back(
          {{f32({2}).with({1, NAN}), i64({3}).with({0, 1, 0}), f32({3}).with({NAN, 2, 3})}, attrs});
      out.push_back({{f32({}), i64({4}).range(0, 1), f32({4})}, attrs});
      out.push_back({{f32({3, 2}), i64({0, 2}), f32({1, 2})}, attrs});
    }
  // Zeros, in tensors too large for the check of second derivatives: they aren't exact there.
  const SampleAttrs prod = {{"dim", 0}, {"reduce", "prod"}};
  const SampleTensor some = f64({12}).with({2, 3}), twice = i64({3}).with({0, 0, 1});
  out.push_back({{some, twice, f64({3}).with({0, 5, 7})}, prod});
  out.push_back({{some, twice, f64({3}).with({0, 0, 0})}, prod});
  out.push_back({{f64({12}).with({0, 3}), twice, f64({3}).with({4, 5, 7})}, prod});
  return out;
}

std::vector<Reject> rejects() {
  const std::string name = "scatter_reduce: ";
  const auto call = [](SampleTensor self, SampleTensor index, SampleTensor src, int dim = 0,
                       const char* reduce = "sum") {
    return Sample{{std::move(self), std::move(index), std::move(src)},
                  {{"dim", dim}, {"reduce", reduce}}};
  };
  return {{"C1", call(f32({2, 3}), i64({2, 3}), f32({2, 3}), -3),
           name + "C1: dim -3 is outside [-2, 2) of self: f32[2,3]"},
          {"C2", call(f32({2}), boolean({2}), f32({2})),
           name + "C2: index is bool[2], expected i64 or i32"},
          {"C3", call(f32({2, 3}), i64({2, 3}), f32({2})),
           name + "C3: src is f32[2], expected the rank of self: f32[2,3]"},
          {"C4", call(f32({2, 3}), i64({2, 4}), f32({2, 4})),
           name + "C4: dim 1 of index is 4, expected at most 3, that of self"},
          {"C5", call(f32({2}), i64({2}), f64({2})),
           name + "C5: src is f64[2], expected the dtype of self: f32"},
          {"C6", call(f32({2}), i64({2}), on_cuda(f32({2}))),
           name + "C6: self is f32[2] and src is f32[2]@cuda:0, expected one device"},
          {"C7", call(f32({2}), i64({2}), f32({2}), 0, "max"),
           name + "C7: reduce is \"max\", expected sum, prod, mean, amax or amin"},
          {"C8", call(boolean({2}), i64({2}), boolean({2}), 0, "mean"),
           name + "C8: self is bool[2], expected numbers for a mean"}};
}

}  // namespace

CLEAVE_OPS(scatter_reduce) {
  return {OpDef{
      .name = "scatter_reduce",
      .signature = "(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
                   "bool include_self=True) -> Tensor",
      .summary = "A copy with elements folded into it along a dim, one for each index.",
      .source = "aten::scatter_reduce.two, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive of data movement"},
      .grad = wide_grad(grad_scatter_reduce),
      .lower = loop::kernel(lower_scatter_reduce),
      .cost = [](const OpView& op) { return Cost{numel_hint(op, op.in_type(1)), bytes_moved(op)}; },
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
