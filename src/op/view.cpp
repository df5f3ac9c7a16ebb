// Views that keep the order of elements: view, _unsafe_view, reshape, unsqueeze, squeeze.
//
// view(self; size) -> y       the same elements, row-major, in another shape
//   (C1) at most one -1, which is inferred from the other sizes
//   (C2) no other size is negative; one whose sign can't be proven is allowed with sizes of 1 and
//        more: their product is the number of elements of self
//   (C3) as many elements as self
//   (C4) no -1 together with a 0: it would be ambiguous
// reshape(self; shape), _unsafe_view(self; size): the same; a value has no strides of its own here.
// unsqueeze(self; dim)        a new dim of size 1
//   (C1) dim in [-rank-1, rank+1)
// squeeze(self; dim)          drops the named dims that are 1; none: all of them
//   (C1) dims in range  (C2) each once  (C3) each named size is provably 1 or provably not 1
#include <cmath>

#include "loop/reshape_layout.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Layout;

constexpr Trait traits = Trait::view | Trait::fusible | Trait::recomputable;

// ---- view, _unsafe_view, reshape

// Whether the other sizes, without the one at `d`, are all at least 1.
bool others_are_positive(const SymEnv& env, const Shape& shape, size_t d) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != d && env.range_of(shape[i]).lo < 1) return false;
  return true;
}

InferFn infer_view(const char* attr) {
  return [attr](const OpView& op) -> Result<Types> {
    const Type& x = op.in_type(0);
    Shape shape = op.dims_attr(attr);
    int64_t free = -1;
    Dim known = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      const DimRange range = op.env().range_of(shape[d]);
      if (shape[d] == Dim(-1) && free >= 0)
        return op.broken("C1", "{} has a second -1, expected at most one", shape_text(shape));
      if (shape[d] == Dim(-1)) {
        free = static_cast<int64_t>(d);
      } else if (range.lo < 0 && (range.hi < 0 || !others_are_positive(op.env(), shape, d))) {
        return op.broken("C2", "size {} of {} {}, expected -1 or a size of at least 0",
                         shape[d].text(), shape_text(shape),
                         range.hi < 0 ? "is negative" : "can't be proven not to be negative");
      } else {
        known = known * shape[d];
      }
    }
    const Shape asked = shape;
    if (free >= 0 && op.env().provably_equal(known, Dim(0)))
      return op.broken("C4", "the -1 of {} stands beside a 0, expected sizes that determine it",
                       shape_text(asked));
    if (free >= 0) known = known * (shape[free] = Dim::floordiv(x.numel(), known));
    const auto same = op.env().equal(known, x.numel());
    if (same == SymEnv::Truth::yes) return Types{typed_like(x, x.dtype, std::move(shape))};
    return op.broken(
        "C3", "{} can't hold the {} elements of self: {}, {}", shape_text(asked), x.numel().text(),
        x.text(),
        same == SymEnv::Truth::no ? "expected as many" : "which can't be proven to be as many");
  };
}

ReferenceFn reference_view(const char* attr) {
  return [attr](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
    Array y = *in[0];
    y.shape = op.ints_attr(attr);
    int64_t known = 1;
    for (int64_t size : y.shape) known *= size == -1 ? 1 : size;
    for (int64_t& size : y.shape)
      if (size == -1) size = in[0]->numel() / known;
    return Arrays{y};
  };
}

Values grad_to_operand_shape(Builder& b, const GradView& op) {
  return {b.view(op.dout(0), op.in_type(0).shape)};
}

std::optional<Layout> layout_view(const OpView& op, const Layout& in, int) {
  return loop::reshaped(in, static_shape(op.out_type(0)));
}

std::vector<Sample> view_samples(const char* attr) {
  return joined({over_dtypes(all_dtypes, {2, 6}, {{attr, {3, 4}}}),
                 {{{f32({2, 6})}, {{attr, {-1, 3}}}},
                  {{f32({2, 3, 4})}, {{attr, {6, 4}}}},
                  {{f32({2, 3, 4})}, {{attr, {2, -1, 2, 1}}}},
                  {{f32({1})}, {{attr, std::vector<int64_t>{}}}},
                  {{f32({})}, {{attr, {1, 1}}}},
                  {{f32({0, 3})}, {{attr, {-1, 2}}}},
                  {{f32({0, 3})}, {{attr, {5, 0}}}},
                  {{f32({2, 6})}, {{attr, {2, 6}}}},
                  {{f32({2, 6})}, {{attr, {12}}}},
                  {{f32({2, 6})}, {{attr, {-1}}}},
                  {{f32({6})}, {{attr, {1, 2, 1, 3, 1}}}},
                  {{f32({})}, {{attr, {-1}}}},
                  {{f32({})}, {{attr, std::vector<int64_t>{}}}},
                  {{bf16({2, 3, 4})}, {{attr, {4, -1}}}},
                  {{f32({1, 1, 1})}, {{attr, {1}}}},
                  {{f32({2, 0, 3})}, {{attr, {0}}}},
                  {{f64({5, 7})}, {{attr, {7, 5}}}},
                  {{f32({2, 3}).with({NAN, INFINITY, -INFINITY, 0, -0.0, 1})}, {{attr, {3, 2}}}}}});
}

OpDef view(const char* name, const char* attr) {
  const auto text = [name](const char* rest) { return fmt::format("{}: {}", name, rest); };
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor self, SymInt[] {}) -> Tensor", attr),
      .summary = "The same elements in row-major order under another shape.",
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = traits,
      .infer = infer_view(attr),
      .reference = reference_view(attr),
      .decompose = Absent{"a primitive view"},
      .grad = grad_to_operand_shape,
      .lower = loop::view(layout_view),
      .cost = cost_of_view(),
      .samples = [=] { return view_samples(attr); },
      .rejects = [=]() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{attr, {-1, -1}}}},
                 text("C1: [-1,-1] has a second -1, expected at most one")},
                {"C2",
                 {{f32({2, 3})}, {{attr, {-2, 3}}}},
                 text("C2: size -2 of [-2,3] is negative, expected -1 or a size of at least 0")},
                {"C3",
                 {{f32({2, 3})}, {{attr, {4, 2}}}},
                 text("C3: [4,2] can't hold the 6 elements of self: f32[2,3], expected as many")},
                {"C4",
                 {{f32({0, 3})}, {{attr, {-1, 0}}}},
                 text("C4: the -1 of [-1,0] stands beside a 0, expected sizes that determine it")}};
      },
  };
}

// ---- unsqueeze

int64_t new_dim(const OpView& op) {
  return from_front(op.int_attr("dim"), op.in_type(0).rank() + 1);
}

Result<Types> infer_unsqueeze(const OpView& op) {
  const Type& x = op.in_type(0);
  const int64_t dim = op.int_attr("dim"), ranks = x.rank() + 1;
  if (dim < -ranks || dim >= ranks)
    return op.broken("C1", "dim {} is outside [{}, {}) for a new dim of self: {}", dim, -ranks,
                     ranks, x.text());
  Shape shape = x.shape;
  shape.insert(shape.begin() + new_dim(op), Dim(1));
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference_unsqueeze(const OpView& op, std::span<const Array* const> in) {
  Array y = *in[0];
  const int64_t dim = op.int_attr("dim");
  y.shape.insert(dim < 0 ? y.shape.end() + (dim + 1) : y.shape.begin() + dim, 1);
  return Arrays{y};
}

std::optional<Layout> layout_unsqueeze(const OpView& op, const Layout& in, int) {
  Layout out = in;
  const int64_t d = new_dim(op);
  const bool last = d == std::ssize(in.shape);
  const int64_t stride = last ? 1 : in.shape[d] * in.strides[d];
  out.shape.insert(out.shape.begin() + d, 1);
  out.strides.insert(out.strides.begin() + d, stride);
  return out;
}

OpDef unsqueeze() {
  return OpDef{
      .name = "unsqueeze",
      .signature = "(Tensor self, int dim) -> Tensor",
      .summary = "A new dim of size 1.",
      .source = "aten::unsqueeze, PyTorch 2.13",
      .traits = traits,
      .infer = infer_unsqueeze,
      .reference = reference_unsqueeze,
      .decompose = [](Builder& b, const OpView& op) -> Values {
        return {b.view(op.in(0), op.out_type(0).shape)};
      },
      .grad = grad_to_operand_shape,
      .lower = loop::view(layout_unsqueeze),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 3}, {{"dim", 1}}),
                           {{{f32({2, 3})}, {{"dim", 0}}},
                            {{f32({2, 3})}, {{"dim", 2}}},
                            {{f32({2, 3})}, {{"dim", -1}}},
                            {{f32({2, 3})}, {{"dim", -3}}},
                            {{f32({0, 3})}, {{"dim", 1}}},
                            {{f32({})}, {{"dim", 0}}},
                            {{f32({})}, {{"dim", -1}}},
                            {{f32({4})}, {{"dim", 0}}},
                            {{f32({4})}, {{"dim", -1}}},
                            {{bf16({2, 3, 4})}, {{"dim", -2}}},
                            {{f64({1})}, {{"dim", 1}}},
                            {{f32({2, 0})}, {{"dim", -1}}},
                            {{f32({2, 2, 2, 2})}, {{"dim", 3}}},
                            {{f32({2, 3, 2})}, {{"dim", -4}}},
                            {{boolean({3})}, {{"dim", 1}}},
                            {{f32({3}).with({NAN, INFINITY, -0.0})}, {{"dim", 1}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dim", 3}}},
                 "unsqueeze: C1: dim 3 is outside [-3, 3) for a new dim of self: f32[2,3]"}};
      },
  };
}

// ---- squeeze

// Which dims are dropped, as determined by infer.
std::vector<bool> squeezed(const OpView& op) {
  const Type& x = op.in_type(0);
  std::vector<bool> named(x.shape.size(), !op.given("dim"));
  for (int64_t d : op.ints_attr("dim"))
    if (x.rank() > 0) named[from_front(d, x.rank())] = true;
  for (size_t d = 0; d < named.size(); ++d)
    named[d] = named[d] && op.env().provably_equal(x.shape[d], Dim(1));
  return named;
}

Result<Types> infer_squeeze(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_TRY(std::vector<int64_t> dims, checked_dims(op, "C1", "C2", op.ints_attr("dim"), x));
  if (!op.given("dim"))
    for (int64_t d = 0; d < x.rank(); ++d) dims.push_back(d);
  for (int64_t d : dims)
    if (x.rank() > 0 && op.env().equal(x.shape[d], Dim(1)) == SymEnv::Truth::unknown)
      return op.broken("C3", "dim {} of self: {} is {}, which can't be proven to be 1 or not", d,
                       x.text(), x.shape[d].text());
  const std::vector<bool> drop = squeezed(op);
  Shape shape;
  for (size_t d = 0; d < drop.size(); ++d)
    if (!drop[d]) shape.push_back(x.shape[d]);
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference_squeeze(const OpView& op, std::span<const Array* const> in) {
  Array y = *in[0];
  y.shape.clear();
  const std::vector<int64_t> dims = op.ints_attr("dim");
  const int64_t rank = in[0]->rank();
  for (int64_t d = 0; d < rank; ++d) {
    bool named = op.attr("dim").is_none();
    for (int64_t given : dims) named = named || given == d || given + rank == d;
    if (!named || in[0]->shape[d] != 1) y.shape.push_back(in[0]->shape[d]);
  }
  return Arrays{y};
}

std::optional<Layout> layout_squeeze(const OpView& op, const Layout& in, int) {
  const std::vector<bool> drop = squeezed(op);
  Layout out{{}, {}, in.offset};
  for (size_t d = 0; d < drop.size(); ++d) {
    if (drop[d]) continue;
    out.shape.push_back(in.shape[d]);
    out.strides.push_back(in.strides[d]);
  }
  return out;
}

OpDef squeeze() {
  return OpDef{
      .name = "squeeze",
      .signature = "(Tensor self, int[1]? dim=None) -> Tensor",
      .summary = "Drops the named dims whose size is 1; without names, all of them.",
      .source = "aten::squeeze, squeeze.dim, squeeze.dims, PyTorch 2.13",
      .traits = traits,
      .infer = infer_squeeze,
      .reference = reference_squeeze,
      .decompose = [](Builder& b, const OpView& op) -> Values {
        return {b.view(op.in(0), op.out_type(0).shape)};
      },
      .grad = grad_to_operand_shape,
      .lower = loop::view(layout_squeeze),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 1, 3}, {{"dim", 1}}),
                           {{{f32({1, 2, 1})}},
                            {{f32({1, 2, 1})}, {{"dim", {-1}}}},
                            {{f32({1, 2, 1})}, {{"dim", {0, 1, 2}}}},
                            {{f32({1, 2, 1})}, {{"dim", std::vector<int64_t>{}}}},
                            {{f32({0, 1})}, {{"dim", {1}}}},
                            {{f32({})}, {{"dim", {0}}}},
                            {{f32({})}},
                            {{f32({2, 3})}},
                            {{f32({2, 3})}, {{"dim", 0}}},
                            {{f32({1, 1})}},
                            {{f32({1, 0, 1})}},
                            {{f32({1, 2, 1})}, {{"dim", 0}}},
                            {{f32({1, 2, 1})}, {{"dim", {-3, -1}}}},
                            {{bf16({2, 1, 3, 1})}, {{"dim", {1, 3}}}},
                            {{f64({1})}, {{"dim", -1}}},
                            {{f32({2, 1})}, {{"dim", {0, 1}}}},
                            {{f32({1, 3}).with({NAN, INFINITY, -0.0})}, {{"dim", 0}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 1})}, {{"dim", {2}}}},
                 "squeeze: C1: dim 2 is outside [-2, 2) of self: f32[2,1]"},
                {"C2",
                 {{f32({2, 1})}, {{"dim", {1, -1}}}},
                 "squeeze: C2: dim 1 is named twice in [1,-1], expected once"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(view) {
  return {view("view", "size"), view("_unsafe_view", "size"), view("reshape", "shape"), unsqueeze(),
          squeeze()};
}

}  // namespace cleave
