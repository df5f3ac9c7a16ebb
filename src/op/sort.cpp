// Sorts elements along a dim and returns their original positions.
//
// sort(self; dim, descending, stable) -> values, indices       every element
// topk(self; k, dim, largest, sorted) -> values, indices       the k largest, or smallest
//
//   self  [*s]   values as self, or k along dim   indices i64
//   (C1) dim in range; a 0-d tensor counts as one dim
//   (C2) 0 <= k <= the size of dim    (C3) topk: self is not bool
//
// Equal elements keep their order, with and without `stable`; of those that tie at the end of topk,
// the first ones are taken, and its values are in order, `sorted` or not (ATen leaves both
// unspecified). NaN is greater than any number, as in ATen. The gradient goes back to the positions
// that the values came from.
// Source: aten/src/ATen/native/Sorting.cpp, PyTorch 2.13.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "loop/lower_rule.h"
#include "op/reduction.h"

namespace cleave {
namespace {

int64_t dim_of(const OpView& op) { return from_front(op.int_attr("dim"), op.in_type(0).rank()); }

Result<Types> infer_sort(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(checked_dim(op, "C1", op.int_attr("dim"), x));
  return Types{typed_like(x, x.dtype, x.shape), typed_like(x, DType::i64, x.shape)};
}

Result<Types> infer_topk(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_TRY(const int64_t dim, checked_dim(op, "C1", op.int_attr("dim"), x));
  const Dim count = op.dim_attr("k"), size = x.rank() == 0 ? Dim(1) : x.shape[dim];
  if (op.env().range_of(count).lo < 0 || op.env().range_of(size - count).lo < 0)
    return op.broken("C2", "k is {}, expected a number in [0, {}]", count.text(), size.text());
  if (x.dtype == DType::boolean) return op.broken("C3", "self is {}, expected numbers", x.text());
  Shape shape = x.shape;
  if (x.rank() > 0) shape[dim] = count;
  return Types{typed_like(x, x.dtype, shape), typed_like(x, DType::i64, shape)};
}

// Sorts whole lines and keeps their first elements.
Result<Arrays> in_order(const OpView& op, const Array& x, bool descending) {
  const bool top = op.name() == "topk";
  std::vector<int64_t> shape = x.shape;
  const std::vector<bool> along = folded_dim(op.int_attr("dim"), x.rank());
  for (size_t d = 0; top && d < shape.size(); ++d)
    if (along[d]) shape[d] = op.int_attr("k");
  Array values(x.dtype, shape), indices(DType::i64, shape);
  std::vector<std::vector<int64_t>> to;
  for_each_line(shape, along,
                [&](int64_t, const std::vector<int64_t>& line) { to.push_back(line); });
  const auto less = [&](int64_t a, int64_t b) {
    if (!x.floating()) return descending ? x.i[a] > x.i[b] : x.i[a] < x.i[b];
    const bool nan_a = std::isnan(x.f[a]), nan_b = std::isnan(x.f[b]);
    if (nan_a || nan_b) return descending ? nan_a && !nan_b : nan_b && !nan_a;
    return descending ? x.f[a] > x.f[b] : x.f[a] < x.f[b];
  };
  for_each_line(x.shape, along, [&](int64_t n, const std::vector<int64_t>& line) {
    std::vector<int64_t> order(line.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return less(line[a], line[b]); });
    if (n >= std::ssize(to)) return;
    for (size_t j = 0; j < to[n].size(); ++j) {
      const int64_t from = line[order[j]], at = to[n][j];
      indices.i[at] = order[j];
      if (x.floating())
        values.f[at] = x.f[from];
      else
        values.i[at] = x.i[from];
    }
  });
  return Arrays{std::move(values), std::move(indices)};
}

Values grad(Builder& b, const GradView& op) {
  if (op.dout(0).is_none()) return op.no_grads();
  return {b.call1("scatter", {zeros(b, op.in_type(0)), op.out(1), op.dout(0)},
                  {{"dim", op.int_attr("dim")}})};
}

Values decompose_topk(Builder& b, const OpView& op) {
  const int64_t dim = dim_of(op);
  Values all = b.call("sort", {op.in(0)}, {{"dim", dim}, {"descending", op.attr("largest")}});
  if (op.in_type(0).rank() > 0)
    for (ValueId& v : all) v = b.slice(v, dim, Dim(0), op.dim_attr("k"));
  return all;
}

// Lines along the dim of each call; results lie as their operand, which is copied unless it is
// row-major.
std::optional<loop::LibraryForm> form(const OpView& op, const char* descending) {
  const std::vector<int64_t> shape = static_shape(op.in_type(0)), to = static_shape(op.out_type(0));
  SortSpec spec{.dtype = op.in_type(0).dtype, .length = 1, .count = 1};
  spec.is_descending = op.bool_attr(descending);
  if (!shape.empty()) {
    const auto dim = shape.begin() + dim_of(op);
    spec.outer = numel_of({shape.begin(), dim});
    spec.length = *dim;
    spec.inner = numel_of({dim + 1, shape.end()});
    spec.count = to[dim - shape.begin()];
  }
  using At = SortOperand;
  using loop::LibraryAccess;
  loop::LibraryForm form;
  form.operands = {{.position = At::self, .index = 0, .takes = loop::is_without_gaps},
                   {.position = At::values, .access = LibraryAccess::write, .index = 0},
                   {.position = At::indices, .access = LibraryAccess::write, .index = 1}};
  form.spec = [spec](const loop::LibraryLayouts&) { return spec; };
  return form;
}

Cost cost(const OpView& op) {
  const int64_t n = numel_hint(op, op.in_type(0));
  return {n * static_cast<int64_t>(2 * std::log2(static_cast<double>(n) + 2)), bytes_moved(op)};
}

std::vector<Sample> samples(const std::string& name) {
  const bool top = name == "topk";
  std::vector<double> apart;  // spaced widely enough for finite differences
  for (int k = 0; k < 70; ++k) apart.push_back(k * 37 % 71 * 0.125);
  std::vector<Sample> out;
  const auto add = [&](SampleTensor x, int64_t dim, int64_t k, bool flip) {
    Sample s{{std::move(x)}, {{"dim", dim}}};
    if (top) s.attrs.emplace_back("k", k);
    s.attrs.emplace_back(top ? "largest" : "descending", top ? !flip : flip);
    out.push_back(std::move(s));
  };
  for (bool flip : {false, true}) {
    for (DType t : all_dtypes)
      if (t != DType::boolean || !top)
        add(is_floating(t) ? sample(t, {3, 5}).with(apart) : any_of(t, {3, 5}), 1, 3, flip);
    add(i64({4, 9}).range(0, 3), 1, 4, flip);
    add(f32({2, 4}).with({1, NAN, 3, 2, NAN, NAN, -1, 5}), 1, 3, flip);
    add(f32({8}).with({2, 1, 2, 1, NAN, 3, 3, INFINITY}), -1, 5, flip);
    add(f32({8}).with({-INFINITY, 1, 0, -0.0, NAN, 3, INFINITY}), 0, 8, flip);
    add(f32({4, 3}), 0, 2, flip);
    add(f32({2, 5, 3}), -2, 4, flip);
    add(f32({70}).with(apart), 0, 7, flip);
    add(f32({2, 33}).with(apart), 1, 33, flip);
    add(i32({129}).range(0, 40), 0, 100, flip);
    add(sample(DType::u8, {6}).range(0, 256), 0, 2, flip);
    add(f32({}), -1, 1, flip);
    add(f32({3, 0}), 1, 0, flip);
    add(f32({0, 3}), 1, 2, flip);
    add(f32({3, 1}), 1, 1, flip);
  }
  if (top) {
    add(f32({3, 4}), 1, 0, false);
    add(f32({3, 4}), 1, 1, false);
    out.push_back({{f32({5})}, {{"k", 2}, {"sorted", false}}});
  } else {
    out.push_back({{f32({5})}, {{"stable", true}}});
    out.push_back({{i64({9}).range(0, 3)}, {{"stable", false}, {"descending", true}}});
  }
  return out;
}

OpDef sort() {
  return OpDef{
      .name = "sort",
      .signature =
          "(Tensor self, int dim=-1, bool descending=False, *, bool? stable=None) -> "
          "(Tensor, Tensor)",
      .summary = "Elements in order along a dim, and where they came from.",
      .source = "aten::sort, aten::sort.stable, PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = infer_sort,
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            return in_order(op, *in[0], op.bool_attr("descending"));
          },
      .decompose = Absent{"a primitive of data movement"},
      .grad = grad,
      .lower = loop::library([](const OpView& op) { return form(op, "descending"); }),
      .cost = cost,
      .samples = [] { return samples("sort"); },
      .rejects = []() -> Rejects {
        return {
            {"C1",
             {{f32({2, 3})}, {{"dim", 2}}},
             "sort: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
            {"C1", {{f32({})}, {{"dim", 1}}}, "sort: C1: dim 1 is outside [-1, 1) of self: f32[]"}};
      },
      .nondifferentiable = 0b10,
  };
}

OpDef topk() {
  return OpDef{
      .name = "topk",
      .signature =
          "(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
          "(Tensor, Tensor)",
      .summary = "The k largest or smallest elements along a dim, and where they came from.",
      .source = "aten::topk, PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = infer_topk,
      .reference =
          [](const OpView& op, std::span<const Array* const> in) {
            return in_order(op, *in[0], op.bool_attr("largest"));
          },
      .decompose = decompose_topk,
      .grad = grad,
      .lower = loop::library([](const OpView& op) { return form(op, "largest"); }),
      .cost = cost,
      .samples = [] { return samples("topk"); },
      .rejects = []() -> Rejects {
        return {
            {"C1",
             {{f32({2, 3})}, {{"dim", -3}, {"k", 1}}},
             "topk: C1: dim -3 is outside [-2, 2) of self: f32[2,3]"},
            {"C2", {{f32({2, 3})}, {{"k", 4}}}, "topk: C2: k is 4, expected a number in [0, 3]"},
            {"C2", {{f32({2, 3})}, {{"k", -1}}}, "topk: C2: k is -1, expected a number in [0, 3]"},
            {"C3", {{boolean({3})}, {{"k", 1}}}, "topk: C3: self is bool[3], expected numbers"}};
      },
      .nondifferentiable = 0b10,
  };
}

}  // namespace

CLEAVE_OPS(sort) { return {sort(), topk()}; }

}  // namespace cleave
