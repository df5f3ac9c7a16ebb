// constant_pad_nd(self; pad, value) -> y     surrounds x with `value`; negative pads crop
//   pad = [before last dim, after last dim, before the dim preceding it, ...]
//   (C1) an even number of pads, at most two for each dim
//   (C2) no dim gets a negative size, and no single pad crops more than the dim has
//   (C3) value fits: a number that self's dtype can represent
// flip(self; dims) -> y                      y[..., i, ...] = x[..., n-1-i, ...]
//   (C1) dims in range  (C2) each once
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

constexpr Trait traits = Trait::fusible | Trait::recomputable;

// ---- constant_pad_nd

struct Pads {
  std::vector<Dim> before, after;  // by dim of self
};

Pads pads_by_dim(const OpView& op) {
  const size_t rank = op.in_type(0).shape.size();
  const std::vector<Dim> pad = op.dims_attr("pad");
  Pads p{std::vector<Dim>(rank), std::vector<Dim>(rank)};
  for (size_t k = 0; k + 1 < pad.size(); k += 2) {
    p.before[rank - 1 - k / 2] = pad[k];
    p.after[rank - 1 - k / 2] = pad[k + 1];
  }
  return p;
}

// Whether an integer dtype represents the number exactly; floating dtypes accept any.
bool fits(const AttrValue& value, DType t) {
  if (is_floating(t) || t == DType::boolean) return true;
  const double x = value.as_double();
  if (!(x > -0x1p63 && x < 0x1p63)) return false;
  const auto whole = static_cast<int64_t>(x);
  return wrap_to(t, whole) == whole;
}

Result<Types> infer_pad(const OpView& op) {
  const Type& x = op.in_type(0);
  const std::vector<Dim> pad = op.dims_attr("pad");
  if (pad.size() % 2 != 0 || std::ssize(pad) > 2 * x.rank())
    return op.broken("C1", "{} pads, expected an even number up to {} for self: {}", pad.size(),
                     2 * x.rank(), x.text());
  const Pads p = pads_by_dim(op);
  Shape shape = x.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    shape[d] = shape[d] + p.before[d] + p.after[d];
    for (const Dim& left : {x.shape[d] + p.before[d], x.shape[d] + p.after[d], shape[d]})
      if (op.env().range_of(left).hi < 0)
        return op.broken("C2", "pads {} and {} of dim {} of self: {} leave {}, expected at least 0",
                         p.before[d].text(), p.after[d].text(), d, x.text(), left.text());
  }
  if (!fits(op.attr("value"), x.dtype))
    return op.broken("C3", "value {} does not fit into {}", op.attr("value").text(),
                     name_of(x.dtype));
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference_pad(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const std::vector<int64_t> pad = op.ints_attr("pad");
  std::vector<int64_t> shape = x.shape, before(shape.size(), 0);
  for (size_t k = 0; k < pad.size(); k += 2) {
    const size_t d = shape.size() - 1 - k / 2;
    before[d] = pad[k];
    shape[d] += pad[k] + pad[k + 1];
  }
  Array y(x.dtype, shape);
  const AttrValue& value = op.attr("value");
  for (int64_t k = 0; k < y.numel(); ++k) {
    if (value.is_int())
      y.set_int(k, op.int_attr("value"));
    else
      y.set(k, round_to(y.dtype == DType::f32 ? DType::f64 : y.dtype, value.as_double()));
  }
  move_into(y, x, [&](std::vector<int64_t> at) {
    for (size_t d = 0; d < at.size(); ++d) {
      at[d] -= before[d];
      if (at[d] < 0 || at[d] >= x.shape[d]) return int64_t{-1};
    }
    return position_of(at, x.shape);
  });
  return Arrays{y};
}

// Crops what was padded, and pads with zeros what was cropped.
Values grad_pad(Builder& b, const GradView& op) {
  std::vector<Dim> pad = op.dims_attr("pad");
  for (Dim& p : pad) p = Dim(0) - p;
  return {b.call1("constant_pad_nd", {op.dout(0)}, {{"pad", pad}})};
}

// Both arms are evaluated: outside self the index is clamped to the edge.
Exprs lower_pad(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const std::vector<int64_t> from = static_shape(op.in_type(0));
  const Pads p = pads_by_dim(op);
  const DType stored = op.out_type(0).dtype, t = loop::compute_type(stored);
  const AttrValue& value = op.attr("value");
  const Expr fill = value.is_int() ? loop::constant_int(t, op.int_attr("value"))
                                   : loop::constant(t, value.as_double());
  if (numel_of(from) == 0) return {fill};
  Exprs at;
  Expr inside;
  const auto also = [&](const Expr& condition) {
    inside = inside.defined() ? binary(loop::Op::logical_and, inside, condition) : condition;
  };
  for (size_t d = 0; d < from.size(); ++d) {
    Expr i = index[d] - Expr(p.before[d].value());
    const Expr zero(0), last(from[d] - 1);
    if (p.before[d].value() > 0) {
      also(binary(loop::Op::ge, i, zero));
      i = binary(loop::Op::max, i, zero);
    }
    if (p.after[d].value() > 0) {
      also(binary(loop::Op::le, index[d], Expr(p.before[d].value() + from[d] - 1)));
      i = binary(loop::Op::min, i, last);
    }
    at.push_back(i);
  }
  const Expr x = k.load(0, at);
  return {inside.defined() ? select(inside, x, fill) : x};
}

OpDef constant_pad_nd() {
  return OpDef{
      .name = "constant_pad_nd",
      .signature = "(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
      .summary = "A constant around self; negative pads cut off.",
      .source = "aten::constant_pad_nd, PyTorch 2.13",
      .traits = traits,
      .infer = infer_pad,
      .reference = reference_pad,
      .decompose = Absent{"primitive: index arithmetic and a choice"},
      .grad = grad_pad,
      .lower = loop::elementwise(lower_pad, true),
      .cost = cost_per_result(0),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 3}, {{"pad", {1, 2}}, {"value", 1}}),
                           {{{f32({2, 3})}, {{"pad", {0, 1, 2, 0}}, {"value", 1.5}}},
                            {{f32({2, 3})}, {{"pad", {-1, 1}}}},
                            {{f32({2, 4})}, {{"pad", {-1, -2, 1, -1}}, {"value", -2.0}}},
                            {{f32({2, 2, 2})}, {{"pad", {0, 0, 0, 0, 1, 1}}}},
                            {{f32({3})}, {{"pad", std::vector<int64_t>{}}}},
                            {{f32({3})}, {{"pad", {-2, -1}}}},
                            {{f32({0, 2})}, {{"pad", {1, 1, 2, 0}}, {"value", 3}}},
                            {{f32({2})}, {{"pad", {1, 0}}, {"value", -INFINITY}}},
                            {{i64({2})}, {{"pad", {1, 1}}, {"value", 2.7}}},
                            {{boolean({2})}, {{"pad", {1, 1}}, {"value", 0.5}}},
                            {{f32({2, 3})}, {{"pad", {2, 2, 2, 2}}}},
                            {{bf16({2, 3, 4})}, {{"pad", {1, -1, 0, 2, -1, 0}}, {"value", 0.1}}},
                            {{f64({3, 2})}, {{"pad", {0, 0, -1, 3}}, {"value", -1}}},
                            {{f32({1, 1})}, {{"pad", {70, 1}}}},
                            {{f32({2, 3})}, {{"pad", {0, -3}}}},
                            {{f16({2, 2})}, {{"pad", {1, 0}}, {"value", NAN}}},
                            {{f32({2, 2, 2, 2})}, {{"pad", {1, 1, 0, 1}}}},
                            {{f32({3}).with({NAN, INFINITY, -0.0})}, {{"pad", {1, 1}}}},
                            {{i64({2, 2})}, {{"pad", {-1, 1, 1, -1}}, {"value", 9}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"pad", {1, 2, 3}}}},
                 "constant_pad_nd: C1: 3 pads, expected an even number up to 4 for self: "
                 "f32[2,3]"},
                {"C1",
                 {{f32({2})}, {{"pad", {1, 2, 3, 4}}}},
                 "constant_pad_nd: C1: 4 pads, expected an even number up to 2 for self: f32[2]"},
                {"C2",
                 {{f32({3})}, {{"pad", {-2, -2}}}},
                 "constant_pad_nd: C2: pads -2 and -2 of dim 0 of self: f32[3] leave -1, "
                 "expected at least 0"},
                {"C3",
                 {{sample(DType::i8, {2})}, {{"pad", {1, 0}}, {"value", 300}}},
                 "constant_pad_nd: C3: value 300 does not fit into i8"}};
      },
  };
}

// ---- flip

Result<Types> infer_flip(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(checked_dims(op, "C1", "C2", op.ints_attr("dims"), x));
  return Types{typed_like(x, x.dtype, x.shape)};
}

Result<Arrays> reference_flip(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const std::vector<int64_t> dims = op.ints_attr("dims");
  return Arrays{moved(x, x.shape, [&](std::vector<int64_t> at) {
    for (int64_t d : dims)
      if (x.rank() > 0) {
        const size_t k = static_cast<size_t>(d < 0 ? d + x.rank() : d);
        at[k] = x.shape[k] - 1 - at[k];
      }
    return position_of(at, x.shape);
  })};
}

Exprs lower_flip(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  Exprs at = index;
  const Type& x = op.in_type(0);
  if (x.rank() > 0)
    for (int64_t d : from_front(op.ints_attr("dims"), x.rank()))
      at[d] = Expr(x.shape[d].value() - 1) - at[d];
  return {k.load(0, at)};
}

OpDef flip() {
  return OpDef{
      .name = "flip",
      .signature = "(Tensor self, int[] dims) -> Tensor",
      .summary = "Dims in reverse.",
      .source = "aten::flip, PyTorch 2.13",
      .traits = traits,
      .infer = infer_flip,
      .reference = reference_flip,
      .decompose = Absent{"primitive: index arithmetic"},
      .grad = [](Builder& b, const GradView& op) -> Values {
        const std::vector<int64_t> dims = op.ints_attr("dims");
        return {b.call1("flip", {op.dout(0)}, {{"dims", dims}})};
      },
      .lower = loop::elementwise(lower_flip, true),
      .cost = cost_per_result(0),
      .samples =
          [] {
            return joined(
                {over_dtypes(all_dtypes, {2, 3}, {{"dims", {1}}}),
                 {{{f32({2, 3, 2})}, {{"dims", {0, -1}}}},
                  {{f32({2, 3})}, {{"dims", std::vector<int64_t>{}}}},
                  {{f32({0, 3})}, {{"dims", {0, 1}}}},
                  {{f32({})}, {{"dims", {0}}}},
                  {{f32({})}, {{"dims", std::vector<int64_t>{}}}},
                  {{f32({5})}, {{"dims", {0}}}},
                  {{f32({5})}, {{"dims", {-1}}}},
                  {{f32({1, 1})}, {{"dims", {0, 1}}}},
                  {{bf16({2, 3, 4})}, {{"dims", {2, 0}}}},
                  {{f64({2, 3, 2})}, {{"dims", {0, 1, 2}}}},
                  {{f32({3, 70})}, {{"dims", {-1}}}},
                  {{f32({3, 70})}, {{"dims", {-2}}}},
                  {{f16({2, 2, 2, 2})}, {{"dims", {1, 3}}}},
                  {{f32({2, 0, 2})}, {{"dims", {1}}}},
                  {{f32({2, 3}).with({NAN, INFINITY, -INFINITY, 0, -0.0, 1})}, {{"dims", {1}}}},
                  {{i64({2}).with({-9223372036854775808.0, 4503599627370497.0})},
                   {{"dims", {0}}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2, 3})}, {{"dims", {2}}}},
                 "flip: C1: dim 2 is outside [-2, 2) of self: f32[2,3]"},
                {"C2",
                 {{f32({2, 3})}, {{"dims", {0, -2}}}},
                 "flip: C2: dim 0 is named twice in [0,-2], expected once"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(pad) { return {constant_pad_nd(), flip()}; }

}  // namespace cleave
