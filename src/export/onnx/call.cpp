#include "export/onnx/call.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cleave::to_onnx {
namespace {

constexpr int64_t most_constants = int64_t{1} << 24;
constexpr int64_t longest_range = 4096;  // a constant up to here, Range beyond

}  // namespace

Call::Call(Exporter& exporter, const Graph& g, NodeId n, std::function<V(ValueId)> value_of)
    : exporter_(exporter), graph_(g), node_(n), op_(g.view(n)), value_of_(std::move(value_of)),
      given_(g.node(n).output_count) {}

// ---- operands

V Call::number(const AttrValue& v, DType t) {
  if (const Dim* d = v.get<Dim>(); d && !is_floating(t))
    return d->is_const() ? model().integer_number(d->value(), t) : cast(sizes().scalar(*d), t);
  if (const Dim* d = v.get<Dim>(); d && !d->is_const()) return cast(sizes().scalar(*d), t);
  const double x = v.as_double();
  return is_floating(t) ? model().number(x, t)
                        : model().integer_number(truncate_to(DType::i64, x), t);
}

V Call::operand(int k, DType meet, bool rounded) {
  const DType t = to_onnx::carried(meet);
  if (!op_.is_number(k)) {
    V x = in(k);
    if (x.dtype != meet) x = cast(x, meet);
    return cast(x, t);
  }
  const AttrValue& n = op_.number(k);
  if (is_floating(meet) && rounded) return model().number(round_to(meet, n.as_double()), t);
  if (is_floating(meet)) return number(n, t);
  if (n.get<Dim>() && !n.get<Dim>()->is_const()) return cast(cast(number(n, DType::i64), meet), t);
  const int64_t whole =
      n.get<Dim>() ? n.get<Dim>()->value() : truncate_to(DType::i64, n.as_double());
  return model().integer_number(wrap_to(meet, whole), t);
}

// ---- nodes

V Call::where(const V& condition, const V& a, const V& b) {
  const DType t = a.dtype == DType::boolean ? DType::i32 : to_onnx::carried(a.dtype);
  return node("Where", {condition, cast(a, t), cast(b, t)}, t);
}

V Call::reshape(const V& x, const Shape& to, const Shape& from) {
  size_t open = 0, moved = 0;  // sizes that aren't numbers, and those that stand elsewhere in x
  const bool empty = std::ranges::find(to, Dim(0)) != to.end();
  Ints told, copied;
  for (size_t d = 0; d < to.size(); ++d) {
    const bool stays = d < from.size() && from[d] == to[d];
    open += to[d].is_const() ? 0 : 1;
    moved += to[d].is_const() || stays ? 0 : 1;
    told.push_back(to[d].is_const() ? to[d].value() : -1);
    copied.push_back(to[d].is_const() ? to[d].value() : 0);
  }
  if (open == 1 && !empty) return node("Reshape", {x, model().list(told)});
  if (open > 0 && moved == 0 && !empty) return node("Reshape", {x, model().list(copied)});
  Attributes attributes;
  if (open > 0 || empty) attributes.push_back(integer("allowzero", 1));
  return node("Reshape", {x, sizes().list(to)}, std::move(attributes));
}

V Call::expand(const V& x, const Shape& to) {
  // onnxruntime takes a size of 0 for 1.
  if (std::ranges::find(to, Dim(0)) != to.end())
    return full(model().number(0, x.dtype == DType::bf16 ? DType::f32 : x.dtype), to);
  return node("Expand", {x.dtype == DType::bf16 ? cast(x, DType::f32) : x, sizes().list(to)});
}

V Call::transpose(const V& x, const Ints& perm) {
  if (std::ranges::is_sorted(perm)) return x;
  return node("Transpose", {x}, {integers("perm", perm)});
}

V Call::slice(const V& x, int64_t dim, const Dim& start, const Dim& end, int64_t step) {
  return node("Slice", {x, sizes().list({start}), sizes().list({end}), model().list({dim}),
                        model().list({step})});
}

V Call::concat(const Vs& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return node("Concat", parts, {integer("axis", axis)});
}

V Call::reduce(const std::string& onnx, const V& x, const Ints& axes, bool keep) {
  if (axes.empty()) return x;
  return node(onnx, {x, model().list(axes)}, {integer("keepdims", keep ? 1 : 0)});
}

V Call::nan_of(DType t) { return model().number(std::numeric_limits<double>::quiet_NaN(), t); }

V Call::range(const Dim& n) {
  if (n.is_const() && n.value() <= longest_range) {
    Ints values;
    for (int64_t k = 0; k < n.value(); ++k) values.push_back(k);
    return model().list(values);
  }
  return node("Range", {model().integer_number(0), sizes().scalar(n), model().integer_number(1)});
}

// Sets before 20 have no bf16 for it.
V Call::full(const V& number, const Shape& shape) {
  if (number.dtype == DType::bf16) {
    const V y = expand(number, shape);
    return cast(y, DType::bf16);
  }
  return node("ConstantOfShape", {sizes().list(shape)}, number.dtype,
              {model().value_attribute(number)});
}

Status Call::check_count(const Ints& sizes) const {
  double count = 1;
  for (const int64_t n : sizes) count *= static_cast<double>(n);
  if (count <= static_cast<double>(most_constants)) return {};
  return refused("a table of {} entries, expected at most {}", count, most_constants);
}

// ---- results

bool Call::wants(int k) const {
  const ValueId v = graph_.node(node_).out(static_cast<uint32_t>(k));
  if (graph_.type(v).is_none) return false;
  return graph_.use_count(v) > 0 ||
         std::ranges::any_of(graph_.returns(), [&](const Return& r) { return r.value == v; });
}

void Call::give(int k, const V& v) {
  given_[static_cast<size_t>(k)] = cast(v, op_.out_type(k).dtype);
}

void Call::renamed(const std::string& from, const std::string& to) {
  for (V& v : given_)
    if (v.name == from) v.name = to;
}

}  // namespace cleave::to_onnx
