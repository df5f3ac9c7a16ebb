#include "schedule/group_values.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/result.h"
#include "loop/shared_parts.h"
#include "schedule/read_recorder.h"

namespace cleave {

using namespace cleave::loop;

// The builder that a call's rule writes into: loads give the values of the operands.
class CallBuilder final : public KernelBuilder {
 public:
  CallBuilder(GroupValues& values, NodeId n, bool guards, std::vector<Bound> operands,
              std::vector<Bound> results)
      : KernelBuilder(values.sheet_, std::move(operands), std::move(results)), values_(values),
        node_(n), guards_(guards) {}

  Expr load(int flat, const Exprs& index) override {
    const bool outer = std::exchange(values_.guarded_, values_.guarded_ || guards_);
    Exprs own = index;
    const std::vector<int64_t>& shape = operand(flat).layout.shape;
    for (size_t d = 0; d < own.size(); ++d)
      own[d] = shape[d] == 1 ? Expr(0) : values_.math().simplify(own[d]);
    const ValueId v = values_.graph_.node(node_).inputs[static_cast<size_t>(flat)];
    Expr out = values_.value(v, own);
    values_.guarded_ = outer;
    return out;
  }
  Expr simplified(Expr index) override { return values_.math().simplify(index); }
  void checked(const Expr& var, int64_t bound) override { values_.math().declare(var, bound); }
  Expr stream() override {
    std::vector<NodeId>& streams = values_.streams_;
    const auto at = static_cast<size_t>(std::ranges::find(streams, node_) - streams.begin());
    if (at == streams.size()) {
      streams.push_back(node_);
      sheet().kernel.scalars.push_back({at == 0 ? "stream" : fmt::format("stream{}", at)});
    }
    return scalar_var(sheet().kernel, at);
  }

 private:
  GroupValues& values_;
  NodeId node_;
  bool guards_;
};

namespace {

Expr as_stored(Expr x, DType stored) {
  x = cast(std::move(x), compute_type(stored));
  return compute_type(stored) == stored ? x : round_to_stored(std::move(x), stored);
}

// An unnamed expression that is used again is written out again, maybe in an inner loop, and reads
// its operands there.
void record_reads_of(const Expr& e, AccessLog& accesses) {
  if (!e->reads_memory) return;
  if (e->op == Op::load) accesses.read(e->buffer(), e->args[0]);
  for (const Expr& a : e->args) record_reads_of(a, accesses);
}

}  // namespace

Expr address_of(IndexMath& math, const Layout& layout, const Exprs& index) {
  std::vector<int64_t> strides = layout.strides;
  Exprs own = index;
  for (size_t d = 0; d < own.size(); ++d)
    if (layout.shape[d] == 1) own[d] = Expr(0);
  own.emplace_back(1);
  strides.push_back(layout.offset);
  return math.dot(own, strides);
}

GroupValues::GroupValues(const Graph& graph, const std::vector<NodeId>& nodes, KernelSheet& sheet,
                         AccessLog& accesses)
    : graph_(graph), sheet_(sheet), accesses_(accesses), sources_(graph, nodes),
      scopes_(sheet, math_) {}

Expr GroupValues::outside(ValueId v, const Exprs& index) {
  const Bound& b = sources_.outside(v);
  Expr at = address_of(math_, b.layout, index);
  accesses_.read(b.buffer, at);
  return load(b.buffer, b.dtype, std::move(at));
}

// Long subexpressions of the index are named: with several views in a row each index is used
// several times by the next.
Exprs GroupValues::through_view(const OpView& op, const ViewRule& rule, int k, const Exprs& index) {
  constexpr size_t longest = 128;
  const std::vector<int64_t> shape = static_shape(op.in_type(0));
  const auto layout = rule.layout(op, Layout::contiguous(shape), k);
  if (!layout) throw_bug("{}: no view of row-major memory", op.name());
  Exprs out = math_.delinearise(address_of(math_, *layout, index), shape);
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d]->operations > longest && !(guarded_ && out[d]->reads_memory))
      out[d] = scopes_.name_part(out[d], shape[d]);
  }
  return out;
}

Expr GroupValues::value(ValueId v, const Exprs& index) {
  if (const auto* folded = sources_.folded(v)) {
    if (folded->index != index)
      throw_bug("lower: %{} is read at another index than it was folded at", graph_.name(v));
    return folded->variable;
  }
  const NodeId n = sources_.call(v);
  const auto k = static_cast<int>(graph_.value(v).index);
  // A view only maps the index.
  if (n.valid())
    if (const auto* rule = std::get_if<ViewRule>(&(*graph_.node(n).op->lower)->form)) {
      if (Expr e = from_kept(v, index); e.defined()) return e;
      const OpView op = graph_.view(n);
      return value(op.in(0), through_view(op, *rule, k, index));
    }
  const IndexKey key = index_key(v, index);
  const size_t depth = guarded_ ? scopes_.innermost() : scopes_.depth_of(index);
  if (const Expr* e = scopes_.known(key, depth)) {
    record_reads_of(*e, accesses_);
    return *e;
  }
  if (Expr e = from_kept(v, index); e.defined()) {
    if (!guarded_) scopes_.remember(key, depth, e);
    return e;
  }
  if (guarded_) return n.valid() ? results(n, index)[static_cast<size_t>(k)] : outside(v, index);
  Expr out;
  scopes_.write_at(depth, [&] {
    if (n.valid()) {
      out = compute(v, n, index, depth);
    } else {
      out = named(v, outside(v, index), depth);
      scopes_.remember(key, depth, out);
    }
  });
  return out;
}

Expr GroupValues::from_kept(ValueId v, const Exprs& index) {
  if (const auto* kept = sources_.kept(v); kept && kept->index == index)
    return load(kept->buffer, kept->dtype, kept->at);
  if (const auto* kept = sources_.kept_row(v))
    if (const Expr at = place_in_row(v, index, *kept); at.defined())
      return load(kept->buffer, kept->dtype, at);
  return {};
}

Expr GroupValues::place_in_row(ValueId v, const Exprs& index, const ValueSources::KeptRow& kept) {
  const std::vector<int64_t> shape = static_shape(graph_.type(v));
  const Expr number = math_.dot(index, row_major(shape));
  const Exprs place = math_.delinearise(number, {numel_of(shape) / kept.length, kept.length});
  return place[0] == kept.row ? place[1] : Expr();
}

Expr GroupValues::compute(ValueId v, NodeId n, const Exprs& index, size_t depth) {
  const Node& node = graph_.node(n);
  Exprs all = results(n, index);
  Expr out;
  for (uint32_t k = 0; k < all.size(); ++k) {
    Expr e = named(node.out(k), std::move(all[k]), depth);
    if (node.out(k) == v) out = e;
    scopes_.remember(index_key(node.out(k), index), depth, std::move(e));
  }
  return out;
}

// A value is named if it is read more than once, is hoisted out of a loop, or is long: silu reads
// its operand twice, so twenty in a row, written out, would be a million operations.
Expr GroupValues::named(ValueId v, Expr e, size_t depth) {
  constexpr size_t longest = 256;
  if (is_leaf(e) ||
      (depth == scopes_.innermost() && !sources_.is_shared(v) && e->operations <= longest))
    return e;
  std::string name = graph_.name(v);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return scopes_.name("v_" + name, std::move(e), depth);
}

Exprs GroupValues::results(NodeId n, const Exprs& index) {
  const OpView op = graph_.view(n);
  const Node& node = graph_.node(n);
  const ElementwiseRule* rule = elementwise_rule(**node.op->lower, op);
  if (!rule) throw_bug("lower: {} is no call that can be computed in place", op.name());
  std::vector<Bound> operands, given;
  for (const ValueId v : node.inputs) operands.push_back(shape_bound(graph_, v));
  for (uint32_t k = 0; k < node.output_count; ++k)
    given.push_back(
        shape_bound(graph_, op.out_type(static_cast<int>(k)).is_none ? ValueId{} : node.out(k)));
  CallBuilder builder(*this, n, !rule->in_range, std::move(operands), std::move(given));
  Exprs values = rule->value(builder, op, index);
  for (size_t k = 0; k < values.size(); ++k)
    values[k] = as_stored(std::move(values[k]), op.out_type(static_cast<int>(k)).dtype);
  return values;
}

}  // namespace cleave
