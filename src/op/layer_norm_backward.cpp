// native_layer_norm_backward(grad_out, input, mean, rstd, weight, bias; normalized_shape,
//                            output_mask) -> dx, dweight, dbias
//
//   h = (x - mean) * rstd        g = dy * w
//   dx = rstd * (g - mean of g - h * mean of (g * h))      means over the inner dims
//   dweight = sum over rows of dy * h      dbias = sum over rows of dy
//
//   (C1..C4) layer_norm.h   (C5) grad_out has the type of input
//   (C6) mean and rstd are floating and of input's shape with 1 for the inner dims
//   (C7) output_mask has 3 entries, and requests dweight only if there is a weight
// A result that output_mask excludes has no type. dweight and dbias have the dtype of weight and
// bias; without a bias, dbias has that of weight, else of input.
// Source: aten/src/ATen/native/layer_norm.cpp, PyTorch 2.13.
#include "op/layer_norm.h"
#include "op/reference_lines.h"
#include "op/reference_sum.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

enum Operand { at_grad_out, at_input, at_mean, at_rstd, at_weight, at_bias };
constexpr NormOperands operands{at_input, at_weight, at_bias};

std::vector<bool> output_mask(const OpView& op) {
  std::vector<bool> mask;
  if (const AttrList* list = op.attr("output_mask").get<AttrList>())
    for (const AttrValue& v : *list) mask.push_back(v.get<bool>() && *v.get<bool>());
  return mask;
}

Shape statistic_shape(const OpView& op) {
  Shape rows = op.in_type(at_input).shape;
  for (int64_t d : inner_dims(op, at_input)) rows[d] = 1;
  return rows;
}

Result<Types> infer_backward(const OpView& op) {
  CLEAVE_CHECK(check_layer_norm(op, operands));
  const Type& x = op.in_type(at_input);
  CLEAVE_CHECK(check_grad_out(op, "C5", at_grad_out, at_input));
  for (int k : {at_mean, at_rstd}) {
    CLEAVE_CHECK(check_floating(op, "C6", k));
    CLEAVE_CHECK(check_same_shape(op, "C6",
                                  fmt::format("{} and the rows of input", operand_name(op, k)),
                                  op.in_type(k).shape, statistic_shape(op)));
  }
  const std::vector<bool> mask = output_mask(op);
  if (mask.size() != 3)
    return op.broken("C7", "output_mask has {} entries, expected 3", mask.size());
  if (mask[1] && !op.has(at_weight))
    return op.broken("C7", "output_mask asks for the gradient of weight, which is none");
  const Shape inner = op.dims_attr("normalized_shape");
  const DType w = op.has(at_weight) ? op.in_type(at_weight).dtype : x.dtype;
  Types out = {typed_like(x, x.dtype, x.shape), typed_like(x, w, inner),
               typed_like(x, op.has(at_bias) ? op.in_type(at_bias).dtype : w, inner)};
  for (size_t k = 0; k < 3; ++k)
    if (!mask[k]) out[k] = Type::none();
  return out;
}

Result<Arrays> reference_backward(const OpView& op, std::span<const Array* const> in) {
  const Array &dy = *in[0], &x = *in[1], &m = *in[2], &r = *in[3];
  const Array* w = in[4];
  const std::vector<int64_t> inner = op.ints_attr("normalized_shape");
  std::vector<bool> folded(x.shape.size(), false);
  for (size_t k = 0; k < inner.size(); ++k) folded[x.shape.size() - 1 - k] = true;
  const DType dw_dtype = w ? w->dtype : x.dtype;
  Array dx(x.dtype, x.shape), dw(dw_dtype, inner), db(in[5] ? in[5]->dtype : dw_dtype, inner);
  ReferenceSums dw_sum(dw.f.size()), db_sum(db.f.size());
  for_each_line(x.shape, folded, [&](int64_t row, const std::vector<int64_t>& line) {
    const auto count = static_cast<double>(line.size());
    ReferenceSum sum, product;
    for (size_t j = 0; j < line.size(); ++j) {
      const double h = (x.f[line[j]] - m.f[row]) * r.f[row], d = dy.f[line[j]];
      const double g = w ? d * w->f[j] : d;
      sum += g;
      product += g * h;
      dw_sum[j] += d * h;
      db_sum[j] += d;
    }
    for (size_t j = 0; j < line.size(); ++j) {
      const double h = (x.f[line[j]] - m.f[row]) * r.f[row];
      const double g = w ? dy.f[line[j]] * w->f[j] : dy.f[line[j]];
      dx.f[line[j]] = r.f[row] * (g - sum / count - h * product / count);
    }
  });
  dw.f = rounded(dw_sum);
  db.f = rounded(db_sum);
  return Arrays{dx, dw, db};
}

// The operands in the compute dtype, and terms that all rules share.
struct Terms {
  DType t;
  std::vector<int64_t> rows, inner;
  ValueId dy, x, rstd, w, off, h, g;  // off = x - mean; w is none without a weight

  Terms(Builder& b, const OpView& op)
      : t(norm_dtype(op.in_type(at_input).dtype)), rows(row_dims(op, at_input)),
        inner(inner_dims(op, at_input)), dy(b.convert(op.in(at_grad_out), t)),
        x(b.convert(op.in(at_input), t)), rstd(b.convert(op.in(at_rstd), t)) {
    if (op.has(at_weight)) w = b.convert(op.in(at_weight), t);
    off = b.sub(x, b.convert(op.in(at_mean), t));
    h = b.mul(off, rstd);
    g = w.valid() ? b.mul(dy, w) : dy;
  }
  ValueId over_rows(Builder& b, ValueId v) const { return rows.empty() ? v : b.sum(v, rows); }
};

Values decompose_backward(Builder& b, const OpView& op) {
  const std::vector<bool> mask = output_mask(op);
  const Terms v(b, op);
  Values out(3);
  if (mask[0]) {
    const ValueId along = b.mul(v.h, b.mean(b.mul(v.g, v.h), v.inner, true));
    const ValueId dx = b.sub(b.sub(v.g, b.mean(v.g, v.inner, true)), along);
    out[0] = b.convert(b.mul(v.rstd, dx), op.out_type(0).dtype);
  }
  if (mask[1]) out[1] = b.convert(v.over_rows(b, b.mul(v.dy, v.h)), op.out_type(1).dtype);
  if (mask[2]) out[2] = b.convert(v.over_rows(b, v.dy), op.out_type(2).dtype);
  return out;
}

// ---- The gradient of the gradient.

ValueId plus(Builder& b, ValueId x, ValueId y) {
  if (!x.valid() || !y.valid()) return x.valid() ? x : y;
  return b.add(x, y);
}

// Whether mean and rstd are computed from input, so that input also gets gradients through them.
bool are_statistics_of_input(const Graph& g, const OpView& op) {
  for (int k : {at_mean, at_rstd}) {
    const ValueInfo& s = g.value(op.in(k));
    if (!s.def.valid() || s.index != static_cast<uint32_t>(k == at_mean ? 1 : 2)) return false;
    const Node& norm = g.node(s.def);
    if (norm.op->name != "native_layer_norm" || norm.inputs[0] != op.in(at_input)) return false;
  }
  return true;
}

// The gradients that reach h, g, rstd and dy; the operands' gradients are derived from them.
struct Parts {
  ValueId h, g, rstd, dy;
};

Parts parts_of_cotangents(Builder& b, const GradView& op, const Terms& v) {
  Parts d;
  if (op.dout(0).valid()) {
    const ValueId u = b.convert(op.dout(0), v.t), u_rstd = b.mul(u, v.rstd);
    const ValueId mean_gh = b.mean(b.mul(v.g, v.h), v.inner, true);
    const ValueId mean_uh = b.mean(b.mul(u_rstd, v.h), v.inner, true);
    const ValueId centred = b.sub(b.sub(v.g, b.mean(v.g, v.inner, true)), b.mul(v.h, mean_gh));
    d.g = b.sub(b.sub(u_rstd, b.mean(u_rstd, v.inner, true)), b.mul(v.h, mean_uh));
    d.h = b.neg(b.add(b.mul(u_rstd, mean_gh), b.mul(v.g, mean_uh)));
    d.rstd = b.sum(b.mul(u, centred), v.inner, true);
  }
  if (op.dout(1).valid()) {
    const ValueId u = b.convert(op.dout(1), v.t);
    d.h = plus(b, d.h, b.mul(u, v.dy));
    d.dy = b.mul(u, v.h);
  }
  if (op.dout(2).valid()) {
    const ValueId u = b.expand(b.convert(op.dout(2), v.t), op.in_type(at_input).shape);
    d.dy = plus(b, d.dy, u);
  }
  return d;
}

Values grad_backward(Builder& b, const GradView& op) {
  const Terms v(b, op);
  const Parts d = parts_of_cotangents(b, op, v);
  Values out = op.no_grads();
  const auto give = [&](int k, ValueId x) {
    if (x.valid()) out[k] = b.convert(x, op.in_type(k).dtype);
  };
  ValueId dy = d.dy, dx, d_mean, d_rstd = d.rstd;
  if (d.g.valid()) {
    dy = plus(b, dy, v.w.valid() ? b.mul(d.g, v.w) : d.g);
    if (v.w.valid()) give(at_weight, v.over_rows(b, b.mul(d.g, v.dy)));
  }
  if (d.h.valid()) {
    dx = b.mul(d.h, v.rstd);
    d_mean = b.neg(b.sum(dx, v.inner, true));
    d_rstd = plus(b, d_rstd, b.sum(b.mul(d.h, v.off), v.inner, true));
    if (are_statistics_of_input(b.graph(), op)) {
      const ValueId cube = b.mul(b.mul(v.rstd, v.rstd), v.rstd);
      const ValueId through = b.sub(d_mean, b.mul(b.mul(d_rstd, cube), v.off));
      dx = b.add(dx, b.div(through, count_operand(b, op.in(at_input), v.inner)));
    }
  }
  give(at_grad_out, dy);
  give(at_input, dx);
  give(at_mean, d_mean);
  give(at_rstd, d_rstd);
  return out;
}

// ---- Loops: dx row by row, then dweight and dbias column by column.

struct Loads {
  loop::KernelBuilder& k;
  int64_t first;  // first of the inner dims

  Expr dy(const Exprs& i) const { return k.load(at_grad_out, i); }
  Exprs row(const Exprs& i) const {
    Exprs s(i.begin(), i.begin() + first);
    s.resize(i.size(), Expr(0));
    return s;
  }
  Expr h(const Exprs& i) const {
    return (k.load(at_input, i) - k.load(at_mean, row(i))) * k.load(at_rstd, row(i));
  }
  Expr g(const Exprs& i) const {
    const Expr d = dy(i);
    return k.has(at_weight) ? d * k.load(at_weight, {i.begin() + first, i.end()}) : d;
  }
};

Sample call(DType t, std::vector<int64_t> shape, std::vector<int64_t> inner, bool has_weight,
            bool has_bias, std::vector<bool> mask, DType parameter, DType statistic) {
  std::vector<int64_t> rows = shape;
  for (size_t k = 0; k < inner.size(); ++k) rows[rows.size() - 1 - k] = 1;
  const auto given = [&](bool present) {
    return present ? SampleOperand(sample(parameter, inner)) : SampleOperand(std::nullopt);
  };
  return {{sample(t, shape), sample(t, shape), sample(statistic, rows),
           sample(statistic, rows).range(0.5, 2), given(has_weight), given(has_bias)},
          {{"normalized_shape", inner}, {"output_mask", mask}}};
}

std::vector<Sample> samples() {
  constexpr DType f = DType::f32, bf = DType::bf16, h = DType::f16, d = DType::f64;
  return {call(f, {2, 3}, {3}, true, true, {true, true, true}, f, f),
          call(f, {1, 2}, {2}, true, true, {true, true, true}, f, f),
          call(f, {2, 2}, {2}, false, false, {true, false, false}, f, f),
          call(f, {2, 2}, {2}, true, false, {false, true, false}, f, f),
          call(f, {2, 3}, {3}, false, true, {true, false, true}, f, f),
          call(f, {3, 2}, {2}, true, true, {false, false, true}, f, f),
          call(f, {2, 2, 3}, {2, 3}, true, true, {true, true, true}, f, f),
          call(f, {2, 3, 5}, {5}, true, true, {true, true, true}, f, f),
          call(f, {6}, {6}, true, true, {true, true, true}, f, f),
          call(f, {3, 70}, {70}, true, true, {true, true, true}, f, f),
          call(f, {3, 1}, {1}, true, true, {true, true, true}, f, f),
          call(d, {2, 3}, {3}, true, true, {true, true, true}, d, d),
          call(bf, {3, 5}, {5}, true, true, {true, true, true}, bf, bf),
          call(bf, {3, 20}, {20}, true, true, {true, true, true}, f, f),
          call(h, {3, 5}, {5}, true, true, {true, true, true}, h, h),
          call(f, {0, 3}, {3}, true, true, {true, true, true}, f, f),
          call(f, {2, 0}, {0}, true, true, {true, true, true}, f, f)};
}

std::vector<Reject> rejects() {
  std::vector<Reject> out = layer_norm_rejects("native_layer_norm_backward", {true, false, false});
  const auto base = [](SampleTensor d, SampleTensor m, SampleTensor r, std::vector<bool> mask) {
    return Sample{{std::move(d), f32({2, 3}), std::move(m), std::move(r)},
                  {{"normalized_shape", {3}}, {"output_mask", std::move(mask)}}};
  };
  const std::vector<bool> dx = {true, false, false};
  const auto add = [&](const char* rule, Sample s, const char* text) {
    out.push_back(
        {rule, std::move(s), fmt::format("native_layer_norm_backward: {}: {}", rule, text)});
  };
  const SampleTensor d = f32({2, 3}), s = f32({2, 1});
  add("C5", base(f64({2, 3}), s, s, dx),
      "grad_out is f64[2,3] for input: f32[2,3], expected its dtype");
  add("C5", base(f32({3, 3}), s, s, dx),
      "grad_out and input: [3,3] and [2,3], expected equal shapes");
  add("C6", base(d, f32({2}), s, dx),
      "mean and the rows of input: [2] and [2,1], expected equal shapes");
  add("C6", base(d, s, i64({2, 1}), dx), "rstd is i64[2,1], expected a floating dtype");
  add("C7", base(d, s, s, {true}), "output_mask has 1 entries, expected 3");
  add("C7", base(d, s, s, {true, true, false}),
      "output_mask asks for the gradient of weight, which is none");
  return out;
}

OpDef layer_norm_backward() {
  return OpDef{
      .name = "native_layer_norm_backward",
      .signature =
          "(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, "
          "Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> "
          "(Tensor, Tensor, Tensor)",
      .summary = "The cotangents of native_layer_norm's operands.",
      .source = "aten::native_layer_norm_backward, PyTorch 2.13",
      .traits = Trait::reduction | Trait::fusible | Trait::recomputable,
      .infer = infer_backward,
      .reference = reference_backward,
      .decompose = decompose_backward,
      .grad = grad_backward,
      .lower = loop::by_decomposition(),
      .cost = cost_per_operand(14),
      .samples = samples,
      .rejects = rejects,
  };
}

}  // namespace

CLEAVE_OPS(layer_norm_backward) { return {layer_norm_backward()}; }

}  // namespace cleave
