// max(self) -> y                                  the largest of all elements
// max(self; dim, keepdim) -> values, indices      the largest along a dim, and its position
// max(self, other) -> y                           maximum, element by element
// min: the smallest
//
//   (C1) self and other broadcast   (C2) they are on one device
//   (C3) dim and other aren't given together
//   (C4) dim in range; a 0-d tensor counts as one dim
//   (C5) every folded dim has an element
//
// NaN is both the largest and the smallest. Of equal elements the first is taken, or the first NaN.
// The gradient of max(self) is divided equally among the elements that tie; that of max(self; dim)
// goes to the element whose index was returned.
// Source: aten::max, max.dim, max.other and those of min, PyTorch 2.13.
#include <cmath>

#include "op/pointwise.h"
#include "op/pointwise_reference.h"
#include "op/reduction.h"

namespace cleave {
namespace {

constexpr int other = 1;

bool along_dim(const OpView& op) { return op.given("dim"); }
int64_t dim_of(const OpView& op) { return from_front(op.int_attr("dim"), op.in_type(0).rank()); }

Status check_element(const OpView& op, int64_t d) {
  const Type& x = op.in_type(0);
  if (op.env().range_of(x.shape[d]).hi != 0) return {};
  return op.broken("C5", "dim {} of self: {} is folded and empty, expected an element", d,
                   x.text());
}

Result<Types> infer(const OpView& op) {
  const Type& x = op.in_type(0);
  if (op.has(other)) {
    if (along_dim(op)) return op.broken("C3", "dim and other are given, expected one of them");
    return pointwise_type(op, promoted(op, {0, other}), {0, other});
  }
  if (!along_dim(op)) {
    for (int64_t d = 0; d < x.rank(); ++d) CLEAVE_CHECK(check_element(op, d));
    return Types{typed_like(x, x.dtype, {})};
  }
  CLEAVE_TRY(const int64_t dim, checked_dim(op, "C4", op.int_attr("dim"), x));
  if (x.rank() > 0) CLEAVE_CHECK(check_element(op, dim));
  const std::vector<int64_t> folded =
      x.rank() > 0 ? std::vector<int64_t>{dim} : std::vector<int64_t>{};
  const Shape shape = reduced_shape(x.shape, folded, op.bool_attr("keepdim"));
  return Types{typed_like(x, x.dtype, shape), typed_like(x, DType::i64, shape)};
}

ReferenceFn reference(bool largest) {
  return [largest](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
    if (op.has(other)) {
      PointReference rule;
      rule.floating = [largest](std::span<const double> v) {
        if (std::isnan(v[0]) || std::isnan(v[1])) return static_cast<double>(NAN);
        return (v[0] > v[1]) == largest ? v[0] : v[1];
      };
      rule.integer = [largest](std::span<const int64_t> v) {
        return (v[0] > v[1]) == largest ? v[0] : v[1];
      };
      return reference_pointwise(op, in, op.out_type(0).dtype, rule);
    }
    const Array& x = *in[0];
    const bool all = op.attr("dim").is_none();
    const std::vector<bool> folded =
        all ? std::vector<bool>(x.shape.size(), true) : folded_dim(op.int_attr("dim"), x.rank());
    Array values(x.dtype, kept_shape(x.shape, folded, !all && op.bool_attr("keepdim")));
    Array indices(DType::i64, values.shape);
    for_each_line(x.shape, folded, [&](int64_t k, const std::vector<int64_t>& line) {
      size_t best = 0;
      for (size_t j = 1; j < line.size(); ++j)
        if (beats(x, line[j], line[best], largest)) best = j;
      indices.i[k] = static_cast<int64_t>(best);
      if (x.floating())
        values.f[k] = x.f[line[best]];
      else
        values.i[k] = x.i[line[best]];
    });
    if (all) return Arrays{std::move(values)};
    return Arrays{std::move(values), std::move(indices)};
  };
}

DecomposeFn decompose(const std::string& name) {
  return [name](Builder& b, const OpView& op) -> Values {
    if (op.has(other)) return {b.call1(name + "imum", {op.in(0), op.in(other)})};
    if (!along_dim(op)) return {b.call1("a" + name, {op.in(0)})};
    const int64_t dim = dim_of(op);
    const bool keepdim = op.bool_attr("keepdim");
    const ValueId x =
        op.in_type(0).dtype == DType::boolean ? b.convert(op.in(0), DType::i32) : op.in(0);
    const ValueId at = b.call1("arg" + name, {x}, {{"dim", dim}, {"keepdim", true}});
    const ValueId values =
        b.call1("a" + name, {op.in(0)}, {{"dim", std::vector<int64_t>{dim}}, {"keepdim", true}});
    if (keepdim || op.in_type(0).rank() == 0) return {values, at};
    return {b.squeeze(values, {dim}), b.squeeze(at, {dim})};
  };
}

Values grad_pair(Builder& b, const GradView& op) {
  const bool largest = op.name() == "max";
  const auto share = [&](int mine, int theirs) {
    const ValueId x = op.in(mine), y = op.in(theirs), g = op.dout(0);
    const ValueId lost = largest ? b.lt(x, y) : b.gt(x, y);
    return b.where(lost, 0, b.where(b.eq(x, y), b.div(g, 2), g));
  };
  return {grad_to(b, op, 0, [&] { return share(0, other); }),
          grad_to(b, op, other, [&] { return share(other, 0); })};
}

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  if (op.has(other)) return grad_pair(b, op);
  const Type& x = op.in_type(0);
  if (!along_dim(op)) {
    const ValueId nan = b.logical_and(b.call1("isnan", {op.in(0)}), b.call1("isnan", {op.out(0)}));
    const ValueId hit = b.logical_or(b.eq(op.in(0), op.out(0)), nan);
    const ValueId share = b.div(op.dout(0), b.sum(b.convert(hit, x.dtype), {}));
    d[0] = b.where(hit, share, 0);  // not a product, which would spread a NaN share
    return d;
  }
  const int64_t dim = dim_of(op);
  const bool squeezed = x.rank() > 0 && !op.bool_attr("keepdim");
  const auto kept = [&](ValueId v) { return squeezed ? b.unsqueeze(v, dim) : v; };
  if (x.rank() == 0) {
    d[0] = op.dout(0);
    return d;
  }
  Shape line(x.shape.size(), 1);
  line[static_cast<size_t>(dim)] = x.shape[static_cast<size_t>(dim)];
  const ValueId place = b.view(
      b.call1("arange", {}, {{"end", line[static_cast<size_t>(dim)]}, {"dtype", DType::i64}}),
      line);
  d[0] = b.where(b.eq(place, kept(op.out(1))), kept(op.dout(0)), 0);
  return d;
}

std::vector<Sample> samples() {
  const SampleTensor nans = f32({2, 4}).with({1, NAN, 3, NAN, 5, 6, 7, 7});
  std::vector<Sample> out;
  for (DType t : all_dtypes) {
    out.push_back({{any_of(t, {3, 4})}});
    out.push_back({{any_of(t, {3, 4})}, {{"dim", 1}}});
    out.push_back({{any_of(t, {3, 4})}, {{"dim", 0}, {"keepdim", true}}});
  }
  out.insert(out.end(), {{{f32({})}},
                         {{f32({})}, {{"dim", 0}}},
                         {{f32({})}, {{"dim", -1}, {"keepdim", true}}},
                         {{f32({2, 3, 4})}, {{"dim", -2}}},
                         {{f32({2, 40})}, {{"dim", 1}}},
                         {{f32({33, 2})}},
                         {{i64({4, 9}).range(0, 3)}, {{"dim", 1}}},
                         {{i64({9}).range(0, 3)}},
                         {{nans}},
                         {{nans}, {{"dim", 0}}},
                         {{nans}, {{"dim", 1}, {"keepdim", true}}},
                         {{f32({3}).with({-INFINITY, INFINITY, -INFINITY})}, {{"dim", 0}}},
                         {{sample(DType::u8, {4}).with({200, 100, 250, 3})}, {{"dim", 0}}},
                         {{f32({0, 3})}, {{"dim", 1}}},
                         {{f32({2, 1})}, {{"dim", 1}}},
                         {{f32({2, 3}), f32({3})}},
                         {{f32({2, 1}), bf16({3})}},
                         {{i64({4}), f32({4})}},
                         {{i32({4}), i32({2, 1})}},
                         {{f32({3}).with({1, NAN, 2}), f32({3}).with({NAN, 1, 2})}},
                         {{f64({2}).with({1, 2}), f64({2}).with({1, 3})}}});
  return out;
}

OpDef entry(const std::string& name, bool largest) {
  return OpDef{
      .name = name,
      .signature =
          "(Tensor self, Tensor? other=None, *, int? dim=None, bool keepdim=False) -> Tensor[]",
      .summary = fmt::format("The {} element of all, along a dim with its place, or of two.",
                             largest ? "largest" : "smallest"),
      .source = fmt::format("aten::{0}, {0}.dim, {0}.other, PyTorch 2.13", name),
      .traits = reduction_traits,
      .infer = infer,
      .reference = reference(largest),
      .decompose = decompose(name),
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(2),
      .samples = samples,
      .rejects = [=]() -> Rejects {
        return {
            {"C1",
             {{f32({2}), f32({3})}},
             name + ": C1: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, expected equal "
                    "sizes or 1"},
            {"C2",
             {{f32({2}), on_cuda(f32({2}))}},
             name + ": C2: self is f32[2] and other is f32[2]@cuda:0, expected one device"},
            {"C3",
             {{f32({2}), f32({2})}, {{"dim", 0}}},
             name + ": C3: dim and other are given, expected one of them"},
            {"C4",
             {{f32({2, 3})}, {{"dim", 2}}},
             name + ": C4: dim 2 is outside [-2, 2) of self: f32[2,3]"},
            {"C5",
             {{f32({0, 3})}, {{"dim", 0}}},
             name + ": C5: dim 0 of self: f32[0,3] is folded and empty, expected an element"},
            {"C5",
             {{f32({0})}},
             name + ": C5: dim 0 of self: f32[0] is folded and empty, expected an element"}};
      },
      .nondifferentiable = 0b10,
  };
}

}  // namespace

CLEAVE_OPS(max_min) { return {entry("max", true), entry("min", false)}; }

}  // namespace cleave
