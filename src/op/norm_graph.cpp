#include "op/norm_graph.h"

#include <algorithm>

#include "op/dims.h"

namespace cleave {

Status check_parameter_dtype(const OpView& op, int input, int operand) {
  const Type &x = op.in_type(input), &t = op.in_type(operand);
  const bool narrow = x.dtype == DType::bf16 || x.dtype == DType::f16;
  if (t.dtype == x.dtype || (narrow && t.dtype == DType::f32)) return {};
  return op.broken("C4", "{} is {} for input: {}, expected its dtype{}", operand_name(op, operand),
                   t.text(), x.text(), narrow ? " or f32" : "");
}

Status check_channel_operand(const OpView& op, int input, int operand) {
  CLEAVE_CHECK(check_same_shape(
      op, "C3", fmt::format("{} and the channels of input", operand_name(op, operand)),
      op.in_type(operand).shape, {op.in_type(input).shape[1]}));
  return check_parameter_dtype(op, input, operand);
}

Status check_grad_out(const OpView& op, std::string_view rule, int grad_out, int input) {
  const Type &d = op.in_type(grad_out), &x = op.in_type(input);
  if (d.dtype != x.dtype)
    return op.broken(rule, "grad_out is {} for input: {}, expected its dtype", d.text(), x.text());
  return check_same_shape(op, rule, "grad_out and input", d.shape, x.shape);
}

ValueId sum_of(Builder& b, ValueId x, ValueId y) {
  if (!x.valid() || !y.valid()) return x.valid() ? x : y;
  return b.add(x, y);
}

ValueId normalised(Builder& b, ValueId x, ValueId mean, ValueId rstd, ValueId weight,
                   ValueId bias) {
  ValueId y = b.mul(mean.valid() ? b.sub(x, mean) : x, rstd);
  if (weight.valid()) y = b.mul(y, weight);
  return bias.valid() ? b.add(y, bias) : y;
}

void NormTerms::complete(Builder& b) {
  off = mean.valid() ? b.sub(x, mean) : x;
  h = b.mul(off, rstd);
  g = weight.valid() ? b.mul(dy, weight) : dy;
}

// With a weight for each statistic the means are those of dy, times it: one pass adds up what dx,
// dweight and dbias need.
ValueId NormTerms::dx(Builder& b) {
  if (fixed) return b.mul(g, rstd);
  if (weight.valid() && statistic == parameter) {
    const CallOperand count = count_operand(b, x, statistic);
    ValueId centred = b.sub(dy, b.mul(h, b.div(dweight(b), count)));
    if (mean.valid()) centred = b.sub(centred, b.div(dbias(b), count));
    return b.mul(b.mul(rstd, weight), centred);
  }
  ValueId centred = b.sub(g, b.mul(h, b.mean(b.mul(g, h), statistic, true)));
  if (mean.valid()) centred = b.sub(centred, b.mean(g, statistic, true));
  return b.mul(rstd, centred);
}

ValueId NormTerms::dweight(Builder& b) {
  if (dweight_.valid()) return dweight_;
  const ValueId each = b.mul(dy, h);
  return dweight_ = parameter.empty() ? each : b.sum(each, parameter, true);
}

ValueId NormTerms::dbias(Builder& b) {
  if (dbias_.valid()) return dbias_;
  return dbias_ = parameter.empty() ? dy : b.sum(dy, parameter, true);
}

namespace {

// The gradients that reach h, g, rstd and dy.
struct Parts {
  ValueId h, g, rstd, dy;
};

Parts through_dx(Builder& b, const NormTerms& t, ValueId u) {
  Parts d;
  d.g = b.mul(u, t.rstd);
  if (t.fixed) {
    d.rstd = b.sum(b.mul(u, t.g), t.statistic, true);
    return d;
  }
  const ValueId scaled = d.g;
  const ValueId mean_gh = b.mean(b.mul(t.g, t.h), t.statistic, true);
  const ValueId mean_uh = b.mean(b.mul(scaled, t.h), t.statistic, true);
  ValueId centred = b.sub(t.g, b.mul(t.h, mean_gh));
  d.g = b.sub(d.g, b.mul(t.h, mean_uh));
  if (t.mean.valid()) {
    centred = b.sub(centred, b.mean(t.g, t.statistic, true));
    d.g = b.sub(d.g, b.mean(scaled, t.statistic, true));
  }
  d.h = b.neg(b.add(b.mul(scaled, mean_gh), b.mul(t.g, mean_uh)));
  d.rstd = b.sum(b.mul(u, centred), t.statistic, true);
  return d;
}

}  // namespace

NormCotangents norm_second_order(Builder& b, const NormTerms& t, ValueId u_dx, ValueId u_dweight,
                                 ValueId u_dbias, bool follows) {
  NormCotangents out;
  if (!b.status().ok()) return out;
  Parts d;
  if (u_dx.valid()) d = through_dx(b, t, u_dx);
  if (u_dweight.valid()) {
    d.h = sum_of(b, d.h, b.mul(u_dweight, t.dy));
    d.dy = b.mul(u_dweight, t.h);
  }
  if (u_dbias.valid()) d.dy = sum_of(b, d.dy, b.expand(u_dbias, b.type(t.x).shape));
  out.dy = d.dy;
  out.rstd = d.rstd;
  if (d.g.valid()) {
    out.dy = sum_of(b, out.dy, t.weight.valid() ? b.mul(d.g, t.weight) : d.g);
    const ValueId each = b.mul(d.g, t.dy);
    if (t.weight.valid()) out.weight = t.parameter.empty() ? each : b.sum(each, t.parameter, true);
  }
  if (d.h.valid()) {
    out.x = b.mul(d.h, t.rstd);
    if (t.mean.valid()) out.mean = b.neg(b.sum(out.x, t.statistic, true));
    out.rstd = sum_of(b, out.rstd, b.sum(b.mul(d.h, t.off), t.statistic, true));
  }
  if (follows && out.rstd.valid())
    out.x = sum_of(b, out.x, through_statistics(b, t, out.mean, out.rstd));
  return out;
}

ValueId through_statistics(Builder& b, const NormTerms& t, ValueId dmean, ValueId drstd) {
  ValueId through = dmean;
  if (drstd.valid()) {
    const ValueId cube = b.mul(b.mul(t.rstd, t.rstd), t.rstd);
    through = b.neg(b.mul(b.mul(drstd, cube), t.off));
    if (dmean.valid()) through = b.add(through, dmean);
  }
  const ValueId each = b.div(through, count_operand(b, t.x, t.statistic));
  return drstd.valid() ? each : b.expand(each, b.type(t.x).shape);
}

bool is_statistic_of(const Graph& g, const OpView& op, int k, uint32_t result, int input,
                     std::initializer_list<std::string_view> names) {
  if (!op.has(k)) return false;
  const ValueInfo& value = g.value(op.in(k));
  if (!value.def.valid() || value.index != result) return false;
  const Node& norm = g.node(value.def);
  return norm.inputs[0] == op.in(input) &&
         std::find(names.begin(), names.end(), norm.op->name) != names.end();
}

std::vector<bool> bools_attr(const OpView& op, std::string_view name) {
  std::vector<bool> mask;
  if (const AttrList* list = op.attr(name).get<AttrList>())
    for (const AttrValue& v : *list) mask.push_back(v.get<bool>() && *v.get<bool>());
  return mask;
}

}  // namespace cleave
