#include <algorithm>
#include <cmath>

#include "op/attention.h"
#include "op/broadcast.h"
#include "op/dims.h"

namespace cleave {
namespace {

constexpr const char* names[] = {"query", "key", "value"};

// Leading dims of an operand; if its heads are grouped, they are replaced by the query's heads.
Result<Shape> leading(const AttentionView& call, int k, Dim& group) {
  const OpView& op = call.op;
  const Type &t = call.type(k), &q = call.type(0);
  Shape lead(t.shape.begin(), t.shape.end() - 2);
  if (k == 0 || !call.grouped()) return lead;
  if (lead.empty() || q.rank() < 3)
    return op.broken("C6", "{} is {}, expected a dim of heads", lead.empty() ? names[k] : "query",
                     (lead.empty() ? t : q).text());
  const Dim heads = q.shape[q.rank() - 3];
  if (op.env().provably_equal(heads, lead.back())) return lead;  // none of none, too
  if (!op.env().provably_equal(Dim::mod(heads, lead.back()), Dim(0)) || lead.back() == Dim(0))
    return op.broken("C6", "{} has {} heads, expected a divisor of those of the query: {}",
                     names[k], lead.back().text(), heads.text());
  group = Dim::floordiv(heads, lead.back());
  lead.back() = heads;
  return lead;
}

Status check_operands(const AttentionView& call) {
  const OpView& op = call.op;
  const DType t = call.type(0).dtype;
  for (int k = 0; k < 3; ++k) {
    if (call.type(k).rank() < 2)
      return op.broken("C1", "{} is {}, expected rank 2 or more", names[k], call.type(k).text());
    if (!is_floating(t))
      return op.broken("C2", "query is {}, expected a floating dtype", call.type(0).text());
    if (call.type(k).dtype != t)
      return op.broken("C2", "{} is {}, expected the dtype of query: {}", names[k],
                       call.type(k).text(), name_of(t));
  }
  return {};
}

Status check_mask(const AttentionView& call, const AttentionShape& s) {
  if (!call.masked()) return {};
  const OpView& op = call.op;
  const Type &m = op.in_type(call.mask), &q = call.type(0);
  if (m.dtype != DType::boolean && m.dtype != DType::f32 && m.dtype != q.dtype)
    return op.broken("C7", "attn_mask is {}, expected bool, f32 or the dtype of query: {}",
                     m.text(), name_of(q.dtype));
  return check_expandable(op, "C7", m.shape, s.with(s.rows, s.columns));
}

}  // namespace

Shape AttentionShape::with(const Dim& r, const Dim& c) const {
  Shape out = batch;
  out.push_back(r);
  out.push_back(c);
  return out;
}

bool groups_heads(const OpView& op) {
  if (op.name().starts_with("_scaled_dot_product_")) return true;
  return op.def().schema.find("enable_gqa") >= 0 && op.bool_attr("enable_gqa");
}

DType AttentionView::work() const { return type(0).dtype == DType::f64 ? DType::f64 : DType::f32; }

double default_attention_scale(int64_t width) {
  return 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, width)));
}

double AttentionView::scale() const {
  if (op.given("scale")) return op.float_attr("scale");
  return default_attention_scale(type(0).shape.back().value());
}

double keep_scale(double dropout_p) { return dropout_p == 1 ? 0 : 1 / (1 - dropout_p); }

Result<AttentionShape> checked_attention(const AttentionView& call) {
  const OpView& op = call.op;
  CLEAVE_CHECK(check_operands(call));
  const Shape &q = call.type(0).shape, &k = call.type(1).shape, &v = call.type(2).shape;
  AttentionShape s{{}, q[q.size() - 2], k[k.size() - 2], q.back(), v.back()};
  CLEAVE_CHECK(check_equal(op, "C3", "widths of query and key", q.back(), k.back()));
  CLEAVE_CHECK(check_equal(op, "C4", "rows of key and value", s.columns, v[v.size() - 2]));
  Dim own = 1;
  CLEAVE_TRY(s.batch, leading(call, 0, own));
  CLEAVE_TRY(const Shape of_key, leading(call, 1, s.key_group));
  CLEAVE_TRY(s.batch, broadcast_shapes(op, "C5", s.batch, of_key));
  CLEAVE_TRY(const Shape of_value, leading(call, 2, s.value_group));
  CLEAVE_TRY(s.batch, broadcast_shapes(op, "C5", s.batch, of_value));
  CLEAVE_CHECK(check_mask(call, s));
  const double p = op.float_attr("dropout_p");
  if (!(p >= 0 && p <= 1))
    return op.broken("C8", "dropout_p is {}, expected a number in [0, 1]",
                     op.attr("dropout_p").text());
  CLEAVE_CHECK(common_device(op, "C9", {call.query, call.query + 1, call.query + 2, call.mask}));
  if (!op.given("scale") && !q.back().is_const())
    return op.broken("C10", "the width of query is {}, expected a number, or a scale",
                     q.back().text());
  return s;
}

AttentionShape attention_shape(const AttentionView& call) {
  return value_or_bug(checked_attention(call));
}

}  // namespace cleave
