// expand(self; size) -> y     repeats dims of size 1; new dims are leading
//   (C1) at least as many sizes as self has dims
//   (C2) each size is that of self's dim, or -1 for it, or any size where self's dim is 1;
//        -1 isn't allowed for a new dim
// repeat(self; repeats) -> y  y's dim d is repeats[d] copies of self's, one after the other
//   (C1) at least as many repeats as self has dims  (C2) none is negative
// The gradient of both sums over the copies.
#include <cmath>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Layout;

// ---- expand

Result<Types> infer_expand(const OpView& op) {
  const Type& x = op.in_type(0);
  const Shape asked = op.dims_attr("size");
  Shape shape = asked;
  if (std::ssize(shape) < x.rank())
    return op.broken("C1", "{} has {} sizes, expected at least the {} of self: {}",
                     shape_text(asked), shape.size(), x.rank(), x.text());
  const size_t lead = shape.size() - x.shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d >= lead &&
        (shape[d] == Dim(-1) || op.env().provably_equal(shape[d], x.shape[d - lead]))) {
      shape[d] = x.shape[d - lead];
      continue;
    }
    const DimRange range = op.env().range_of(shape[d]);
    const bool free = d < lead || op.env().provably_equal(x.shape[d - lead], Dim(1));
    if (range.lo < 0 || !free)
      return op.broken("C2", "size {} of {} for self: {}, expected {}", shape[d].text(),
                       shape_text(asked), x.text(),
                       d < lead ? "a size of at least 0 for a new dim"
                                : "the size of the dim, or any where that is provably 1");
  }
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference_expand(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  std::vector<int64_t> shape = op.ints_attr("size");
  const size_t lead = shape.size() - x.shape.size();
  for (size_t d = lead; d < shape.size(); ++d)
    if (shape[d] == -1) shape[d] = x.shape[d - lead];
  return Arrays{moved(x, shape, [&](const std::vector<int64_t>& index) {
    return broadcast_position(index, x.shape);
  })};
}

std::optional<Layout> layout_expand(const OpView& op, const Layout& in, int) {
  Layout out{static_shape(op.out_type(0)), {}, in.offset};
  const size_t lead = out.shape.size() - in.shape.size();
  out.strides.assign(out.shape.size(), 0);
  for (size_t d = 0; d < in.shape.size(); ++d)
    if (in.shape[d] == out.shape[lead + d]) out.strides[lead + d] = in.strides[d];
  return out;
}

OpDef expand() {
  return OpDef{
      .name = "expand",
      .signature = "(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
      .summary = "Repeats dims of size 1, without moving memory.",
      .source = "aten::expand, PyTorch 2.13",
      .traits = Trait::view | Trait::fusible | Trait::recomputable,
      .infer = infer_expand,
      .reference = reference_expand,
      .decompose = Absent{"a primitive view"},
      .grad = [](Builder& b, const GradView& op) -> Values {
        return {b.sum_to(op.dout(0), op.in_type(0).shape)};
      },
      .lower = loop::view(layout_expand),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 1, 3}, {{"size", {2, 4, 3}}}),
                           {{{f32({2, 1})}, {{"size", {3, 2, 2}}}},
                            {{f32({2, 1})}, {{"size", {-1, 3}}}},
                            {{f32({1, 1})}, {{"size", {1, 1}}}},
                            {{f32({3})}, {{"size", {2, -1}}}},
                            {{f32({1})}, {{"size", {0}}}},
                            {{f32({})}, {{"size", {2, 2}}}},
                            {{f32({})}, {{"size", std::vector<int64_t>{}}}},
                            {{f32({1, 3})}, {{"size", {2, 3}}, {"implicit", true}}},
                            {{f32({2, 3})}, {{"size", {2, 3}}}},
                            {{f32({2, 3})}, {{"size", {-1, -1}}}},
                            {{bf16({3, 1})}, {{"size", {2, 3, 40}}}},
                            {{f64({1, 1, 1})}, {{"size", {2, 3, 2}}}},
                            {{f32({0, 1})}, {{"size", {0, 4}}}},
                            {{f32({1, 3})}, {{"size", {0, 3}}}},
                            {{f16({1})}, {{"size", {70}}}},
                            {{f32({})}, {{"size", {1}}}},
                            {{f32({2, 1, 2, 1})}, {{"size", {2, 3, -1, 2}}}},
                            {{f32({3, 1}).with({NAN, INFINITY, -0.0})}, {{"size", {3, 2}}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"size", {3}}}},
                 "expand: C1: [3] has 1 sizes, expected at least the 2 of self: f32[2,3]"},
                {"C2",
                 {{f32({2, 3})}, {{"size", {4, 3}}}},
                 "expand: C2: size 4 of [4,3] for self: f32[2,3], expected the size of the dim, "
                 "or any where that is provably 1"},
                {"C2",
                 {{f32({3})}, {{"size", {-1, 3}}}},
                 "expand: C2: size -1 of [-1,3] for self: f32[3], expected a size of at least 0 "
                 "for a new dim"}};
      },
  };
}

// ---- repeat

Result<Types> infer_repeat(const OpView& op) {
  const Type& x = op.in_type(0);
  const Shape repeats = op.dims_attr("repeats");
  if (std::ssize(repeats) < x.rank())
    return op.broken("C1", "{} has {} repeats, expected at least the {} of self: {}",
                     shape_text(repeats), repeats.size(), x.rank(), x.text());
  const size_t lead = repeats.size() - x.shape.size();
  Shape shape = repeats;
  for (size_t d = 0; d < shape.size(); ++d) {
    const DimRange range = op.env().range_of(repeats[d]);
    if (range.lo < 0)
      return op.broken("C2", "repeat {} of {} {}, expected at least 0", repeats[d].text(),
                       shape_text(repeats),
                       range.hi < 0 ? "is negative" : "can't be proven not to be negative");
    if (d >= lead) shape[d] = shape[d] * x.shape[d - lead];
  }
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference_repeat(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  std::vector<int64_t> shape = op.ints_attr("repeats");
  const size_t lead = shape.size() - x.shape.size();
  for (size_t d = 0; d < x.shape.size(); ++d) shape[lead + d] *= x.shape[d];
  return Arrays{moved(x, shape, [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> at(x.shape.size());
    for (size_t d = 0; d < at.size(); ++d) at[d] = index[lead + d] % x.shape[d];
    return position_of(at, x.shape);
  })};
}

// [r0, r1, s1, r2, s2]: each repeat beside the size that it multiplies; includes self's dims.
struct Split {
  Shape apart, ones;            // with the repeats, and with 1 instead
  std::vector<int64_t> copies;  // the dims of the repeats
};

Split split_repeats(const OpView& op) {
  const Type& x = op.in_type(0);
  const Shape repeats = op.dims_attr("repeats");
  const size_t lead = repeats.size() - x.shape.size();
  Split s;
  for (size_t d = 0; d < repeats.size(); ++d) {
    s.copies.push_back(std::ssize(s.apart));
    s.apart.push_back(repeats[d]);
    s.ones.emplace_back(1);
    if (d < lead) continue;
    s.apart.push_back(x.shape[d - lead]);
    s.ones.push_back(x.shape[d - lead]);
  }
  return s;
}

Values decompose_repeat(Builder& b, const OpView& op) {
  const Split s = split_repeats(op);
  const Shape shape = op.out_type(0).shape;
  return {b.view(b.expand(b.view(op.in(0), s.ones), s.apart), shape)};
}

Values grad_repeat(Builder& b, const GradView& op) {
  const Split s = split_repeats(op);
  const Shape shape = op.in_type(0).shape;
  return {b.view(b.sum(b.view(op.dout(0), s.apart), s.copies), shape)};
}

Exprs lower_repeat(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const std::vector<int64_t> from = static_shape(op.in_type(0));
  const size_t lead = index.size() - from.size();
  Exprs at;
  for (size_t d = 0; d < from.size(); ++d)
    at.push_back(binary(loop::Op::truncmod, index[lead + d], Expr(std::max<int64_t>(from[d], 1))));
  return {k.load(0, at)};
}

OpDef repeat() {
  return OpDef{
      .name = "repeat",
      .signature = "(Tensor self, SymInt[] repeats) -> Tensor",
      .summary = "Copies of self side by side along each dim.",
      .source = "aten::repeat, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer_repeat,
      .reference = reference_repeat,
      .decompose = decompose_repeat,
      .grad = grad_repeat,
      .lower = loop::elementwise(lower_repeat, true),
      .cost = cost_per_result(0),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 3}, {{"repeats", {2, 2}}}),
                           {{{f32({3})}, {{"repeats", {2, 1, 2}}}},
                            {{f32({2, 1})}, {{"repeats", {1, 3}}}},
                            {{f32({2, 3})}, {{"repeats", {0, 2}}}},
                            {{f32({0, 3})}, {{"repeats", {2, 2}}}},
                            {{f32({})}, {{"repeats", {3}}}},
                            {{f32({})}, {{"repeats", std::vector<int64_t>{}}}},
                            {{f32({2, 3})}, {{"repeats", {1, 1}}}},
                            {{f32({3})}, {{"repeats", {4}}}},
                            {{bf16({2, 1, 2})}, {{"repeats", {1, 3, 2}}}},
                            {{f64({2})}, {{"repeats", {2, 3, 1, 2}}}},
                            {{f32({1, 1})}, {{"repeats", {2, 70}}}},
                            {{f32({2, 3})}, {{"repeats", {2, 0}}}},
                            {{f32({})}, {{"repeats", {1, 2}}}},
                            {{f16({5})}, {{"repeats", {9}}}},
                            {{f32({3, 0})}, {{"repeats", {2, 2}}}},
                            {{f32({3}).with({NAN, INFINITY, -0.0})}, {{"repeats", {2}}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"repeats", {2}}}},
                 "repeat: C1: [2] has 1 repeats, expected at least the 2 of self: f32[2,3]"},
                {"C2",
                 {{f32({3})}, {{"repeats", {-1}}}},
                 "repeat: C2: repeat -1 of [-1] is negative, expected at least 0"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(expand) { return {expand(), repeat()}; }

}  // namespace cleave
