#include "pass/decomposed/turned_call.h"

#include <algorithm>
#include <string_view>

#include "op/pool.h"
#include "pass/decomposed/by_element.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;

enum class Kind {
  none,
  pointwise,
  fold,
  expand,
  cat,
  slice,
  pad,
  max_pool,
  max_pool_backward,
  avg_pool,
  adaptive_pool
};

struct Named {
  std::string_view name;
  Kind kind;
};
constexpr Named kinds[] = {{"sum", Kind::fold},
                           {"mean", Kind::fold},
                           {"amax", Kind::fold},
                           {"amin", Kind::fold},
                           {"expand", Kind::expand},
                           {"cat", Kind::cat},
                           {"slice", Kind::slice},
                           {"constant_pad_nd", Kind::pad},
                           {"max_pool2d_with_indices", Kind::max_pool},
                           {"max_pool2d_with_indices_backward", Kind::max_pool_backward},
                           {"avg_pool2d", Kind::avg_pool},
                           {"avg_pool2d_backward", Kind::avg_pool},
                           {"_adaptive_avg_pool2d", Kind::adaptive_pool},
                           {"_adaptive_avg_pool2d_backward", Kind::adaptive_pool}};

Kind kind_of(const OpView& op) {
  if (is_by_element(op)) return Kind::pointwise;
  const auto* found = std::ranges::find(kinds, op.name(), &Named::name);
  return found == std::end(kinds) ? Kind::none : found->kind;
}

// ---- which values go together

// The pooling whose indices a backward reads, if it pools the same image: they are known to be
// within their windows, and become those of the turned pooling.
bool reads_own_indices(const Graph& g, NodeId n) {
  const ValueInfo& indices = g.value(g.node(n).inputs[2]);
  if (!indices.def.valid() || indices.index != 1) return false;
  const OpView backward = g.view(n), pool = g.view(indices.def);
  return pool.name() == "max_pool2d_with_indices" &&
         pool.in_type(0).shape == backward.in_type(1).shape;
}

// Operands and results, each once; empty unless all of them are images of this rank, or of any.
Values all_of(const Graph& g, NodeId n, int64_t rank = 0) {
  const Node& node = g.node(n);
  Values out = node.inputs;
  for (uint32_t k = 0; k < node.output_count; ++k) out.push_back(node.out(k));
  for (const ValueId v : out)
    if (!is_image(g, v) || (rank != 0 && g.type(v).rank() != rank)) return {};
  return out;
}

// Those of the results' rank; of the results all.
Values same_rank(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  const ValueId y = node.out(0);
  Values out;
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const ValueId v = node.out(k);
    if (!is_image(g, v) || g.type(v).rank() != g.type(y).rank()) return {};
    out.push_back(v);
  }
  for (const ValueId v : node.inputs) {
    if (!v.valid()) continue;
    if (!g.type(v).is_static()) return {};
    if (is_image(g, v) && g.type(v).rank() == g.type(y).rank()) out.push_back(v);
  }
  return out;
}

Values of_fold(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (!is_image(g, node.inputs[0])) return {};
  Values out = {node.inputs[0]};
  if (g.view(n).bool_attr("keepdim")) out.push_back(node.out(0));
  return out;
}

// ---- attributes

// Of windows over [h,w], those over [h,w,c].
NamedAttrs pool_attrs(const OpView& op) {
  PoolEntries windows(op, 2);
  windows.kernel.push_back(1), windows.stride.push_back(1);
  windows.padding.push_back(0), windows.dilation.push_back(1);
  NamedAttrs attrs = {{"kernel_size", windows.kernel},
                      {"stride", windows.stride},
                      {"padding", windows.padding},
                      {"ceil_mode", op.attr("ceil_mode")}};
  if (op.def().schema.find("dilation") >= 0) attrs.emplace_back("dilation", windows.dilation);
  for (const char* name : {"count_include_pad", "divisor_override"})
    if (op.def().schema.find(name) >= 0 && op.given(name)) attrs.emplace_back(name, op.attr(name));
  return attrs;
}

// "avg_pool2d_backward" to "avg_pool3d_backward".
std::string over_three_dims(std::string name) {
  name[name.find("2d")] = '3';
  return name;
}

// ---- the calls

class Turning {
 public:
  Turning(Builder& b, NodeId n, TurnedValues& values)
      : b_(b), n_(n), node_(b.graph().node(n)), op_(b.graph().view(n)), values_(values) {}

  Values run(Kind kind) {
    switch (kind) {
      case Kind::none: return {};
      case Kind::pointwise: return pointwise();
      case Kind::fold: return {fold()};
      case Kind::expand: {
        const Shape size = with_channels_last(op_.out_type(0).shape);
        return {b_.expand(values_.broadcast(op_.in(0), std::ssize(size)), size)};
      }
      case Kind::cat: return {cat()};
      case Kind::slice:
        return {b_.call1("slice", {image(0)},
                         {{"dim", dim()},
                          {"start", op_.attr("start")},
                          {"end", op_.attr("end")},
                          {"step", op_.attr("step")}})};
      case Kind::pad: return {pad()};
      case Kind::max_pool: return max_pool();
      case Kind::max_pool_backward:
        return {b_.call1(over_three_dims(op_.name()), {image(0), image(1), own_indices()},
                         pool_attrs(op_))};
      case Kind::avg_pool:
        return {b_.call1(over_three_dims(op_.name()), images(), pool_attrs(op_))};
      case Kind::adaptive_pool: return {adaptive_pool()};
    }
    return {};
  }

 private:
  int64_t rank() const { return op_.in_type(0).rank(); }
  ValueId image(int operand) { return values_.last(op_.in(operand)); }
  std::vector<CallOperand> images() {
    std::vector<CallOperand> out;
    for (int k = 0; k < op_.operand_count(); ++k) out.emplace_back(image(k));
    return out;
  }
  int64_t dim() const {
    const ValueId any = node_.inputs[0];
    const int64_t rank = b_.type(any).rank();
    return channels_last_dim(from_front(op_.int_attr("dim"), rank), rank);
  }

  Values pointwise() {
    const int64_t rank = op_.out_type(0).rank();
    Values inputs;
    for (const ValueId v : node_.inputs) inputs.push_back(values_.broadcast(v, rank));
    if (!b_.status().ok()) return {};
    Attrs attrs = node_.attrs;
    if (const int format = op_.def().schema.find("memory_format"); format >= 0)
      attrs.erase(static_cast<uint16_t>(format));
    return b_.copy(node_, std::move(inputs), std::move(attrs));
  }

  ValueId fold() {
    const Ints dims = reduction_dims(op_);
    const bool keeps = op_.bool_attr("keepdim");
    Ints turned;
    for (const int64_t d : dims) turned.push_back(channels_last_dim(d, rank()));
    NamedAttrs attrs = {{"dim", turned}, {"keepdim", keeps}};
    if (op_.def().schema.find("dtype") >= 0 && op_.given("dtype"))
      attrs.emplace_back("dtype", op_.attr("dtype"));
    const ValueId y = b_.call1(op_.name(), {image(0)}, std::move(attrs));
    if (keeps || !b_.status().ok()) return y;
    // The dims that are left, in the order that readers expect.
    Ints left, order;
    for (const int64_t d : to_channels_last(rank()))
      if (std::ranges::find(dims, d) == dims.end()) left.push_back(d);
    Ints sorted = left;
    std::ranges::sort(sorted);
    for (const int64_t d : sorted) order.push_back(std::ranges::find(left, d) - left.begin());
    const ValueId seen = sorted == left ? y : b_.permute(y, order);
    if (!b_.status().ok() || !is_image(b_.graph(), node_.out(0))) return seen;
    return b_.permute(seen, to_channels_last(std::ssize(left)));
  }

  ValueId cat() {
    Values parts;
    for (const ValueId v : node_.inputs) parts.push_back(values_.last(v));
    return b_.cat(parts, dim());
  }

  ValueId pad() {
    const std::vector<Dim> pads = op_.dims_attr("pad");
    const auto rank = static_cast<size_t>(this->rank());
    std::vector<Dim> before(rank, Dim(0)), after(rank, Dim(0)), turned;
    for (size_t k = 0; k + 1 < pads.size(); k += 2) {
      before[rank - 1 - k / 2] = pads[k];
      after[rank - 1 - k / 2] = pads[k + 1];
    }
    before = with_channels_last(before), after = with_channels_last(after);
    for (size_t d = rank; d-- > 0;) {
      turned.push_back(before[d]);
      turned.push_back(after[d]);
    }
    return b_.call1("constant_pad_nd", {image(0)}, {{"pad", turned}, {"value", op_.attr("value")}});
  }

  // An index is a position among [h,w,c] then: that in [h,w], times c, and the channel.
  Values max_pool() {
    Values y = b_.call(over_three_dims(op_.name()), {image(0)}, pool_attrs(op_));
    if (!b_.status().ok()) return {};
    if (b_.graph().use_count(node_.out(1)) > 0 || is_returned(node_.out(1)))
      y[1] = b_.call1("div", {y[1], CallOperand(AttrValue(op_.in_type(0).shape[1]))},
                      {{"rounding_mode", "floor"}});
    return y;
  }
  bool is_returned(ValueId v) const {
    return std::ranges::any_of(b_.graph().returns(), [&](const Return& r) { return r.value == v; });
  }
  // Through the division above, to the indices of the turned pooling.
  ValueId own_indices() {
    const ValueId divided = image(2);
    const NodeId n = b_.graph().value(divided).def;
    return b_.graph().node(n).inputs[0];
  }

  ValueId adaptive_pool() {
    if (op_.operand_count() == 2) return b_.call1(over_three_dims(op_.name()), images());
    const Shape& y = op_.out_type(0).shape;
    return b_.call1(over_three_dims(op_.name()), {image(0)},
                    {{"output_size", Shape{y[2], y[3], y[1]}}});
  }

  Builder& b_;
  const NodeId n_;
  const Node& node_;
  const OpView op_;
  TurnedValues& values_;
};

}  // namespace

Values images_of(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  switch (kind_of(g.view(n))) {
    case Kind::none: return {};
    case Kind::pointwise:
    case Kind::expand: return same_rank(g, n);
    case Kind::fold: return of_fold(g, n);
    case Kind::cat:
    case Kind::slice:
    case Kind::pad: return all_of(g, n, g.type(node.out(0)).rank());
    case Kind::max_pool_backward: return reads_own_indices(g, n) ? all_of(g, n, 4) : Values();
    case Kind::max_pool:
    case Kind::avg_pool:
    case Kind::adaptive_pool: return all_of(g, n, 4);
  }
  return {};
}

Status turn_call(Builder& b, NodeId n, TurnedValues& values) {
  const Values made = Turning(b, n, values).run(kind_of(b.graph().view(n)));
  CLEAVE_CHECK(b.status());
  return put_results(b, n, made, values);
}

Status put_results(Builder& b, NodeId n, const Values& last, TurnedValues& values) {
  Graph& g = b.graph();
  const Node& node = g.node(n);
  std::vector<std::pair<ValueId, std::string>> named;
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const ValueId v = node.out(k);
    if (g.type(v).is_none || last[k].is_none()) continue;
    const std::string name = g.name(v);
    if (!is_image(g, v)) {
      g.replace_uses(v, last[k]);
      named.emplace_back(last[k], name);
      continue;
    }
    CLEAVE_CHECK(g.rename(last[k], g.fresh_name(name + ".last")));
    named.emplace_back(values.put(v, last[k]), name);
    CLEAVE_CHECK(b.status());
  }
  g.erase(n);
  for (const auto& [v, name] : named) CLEAVE_CHECK(g.rename(v, name));
  return {};
}

}  // namespace cleave
