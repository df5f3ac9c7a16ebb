#include "lower/group_values.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/result.h"
#include "lower/group_reads.h"
#include "lower/read_recorder.h"

namespace cleave {

using namespace cleave::loop;

// What a rule writes one call of the group with.
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
    Expr out = values_.operand(node_, flat, own);
    values_.guarded_ = outer;
    return out;
  }
  Expr stream() override {
    const auto next = static_cast<int>(values_.streams_.size());
    const auto [it, fresh] = values_.scalar_of_.try_emplace(node_.v, next);
    if (fresh) {
      values_.streams_.push_back(node_);
      sheet().kernel.scalars.push_back({next == 0 ? "stream" : fmt::format("stream{}", next)});
    }
    return scalar_var(sheet().kernel, static_cast<size_t>(it->second));
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

bool is_leaf(const Expr& e) { return e->op == Op::constant || e->op == Op::var; }

}  // namespace

GroupValues::GroupValues(const Graph& graph, const std::vector<NodeId>& nodes, KernelSheet& sheet)
    : graph_(graph), sheet_(sheet) {
  for (const NodeId n : nodes) {
    nodes_[n.v] = true;
    for (const ValueId v : graph.node(n).inputs)
      if (v.valid()) ++uses_[v.v];
  }
}

NodeId GroupValues::def_in_group(ValueId v) const {
  const NodeId n = graph_.value(v).def;
  return n.valid() && nodes_.contains(n.v) && !outside_.contains(v.v) ? n : NodeId{};
}

void GroupValues::open_scope(const Exprs& variables) {
  scopes_.push_back({sheet_.open.back(), {}});
  writing_ = scopes_.size() - 1;
  for (const Expr& v : variables) own(v);
}

void GroupValues::close_scope() {
  scopes_.pop_back();
  writing_ = scopes_.empty() ? 0 : scopes_.size() - 1;
}

void GroupValues::own(const Expr& variable) {
  if (variable->op == Op::var) scope_of_[variable->i] = scopes_.size() - 1;
}

// Variables that a rule made belong to the scope in which it wrote.
void GroupValues::adopt(int64_t first_variable, size_t depth) {
  for (int64_t v = first_variable; v < sheet_.next_var; ++v) scope_of_.try_emplace(v, depth);
}

size_t GroupValues::depth_of(const Exprs& index) {
  size_t depth = 0;
  for (const Expr& e : index)
    for (const int64_t v : math_.variables(e))
      if (const auto it = scope_of_.find(v); it != scope_of_.end())
        depth = std::max(depth, it->second);
      else  // of the rule that asks
        depth = std::max(depth, writing_);
  return depth;
}

const Expr* GroupValues::known(const Key& key, size_t depth) const {
  for (size_t d = 0; d <= depth; ++d)
    if (const auto it = scopes_[d].known.find(key); it != scopes_[d].known.end())
      return &it->second;
  return nullptr;
}

bool GroupValues::is_shared(ValueId v) const {
  const auto it = uses_.find(v.v);
  return it != uses_.end() && it->second > 1;
}

Expr GroupValues::address(const Layout& layout, const Exprs& index) {
  std::vector<int64_t> strides = layout.strides;
  Exprs own = index;
  for (size_t d = 0; d < own.size(); ++d)
    if (layout.shape[d] == 1) own[d] = Expr(0);
  own.emplace_back(1);
  strides.push_back(layout.offset);
  return math_.dot(own, strides);
}

Expr GroupValues::operand(NodeId n, int flat, const Exprs& index) {
  return value(graph_.node(n).inputs[static_cast<size_t>(flat)], index);
}

void GroupValues::set_folded(ValueId v, const Exprs& index, Expr variable) {
  own(variable);
  folded_[v.v] = {index, std::move(variable)};
}

void GroupValues::set_kept(ValueId v, const Exprs& index, int64_t buffer, DType dtype, Expr at) {
  kept_[v.v] = {index, buffer, dtype, std::move(at)};
}

Expr GroupValues::outside(ValueId v, const Exprs& index) {
  const Bound& b = outside_.at(v.v);
  Expr at = address(b.layout, index);
  reads_.push_back({b.buffer, pass_, is_of_element(at)});
  return load(b.buffer, b.dtype, std::move(at));
}

void GroupValues::record_reads_of(const Expr& e) {
  if (!extent_of(e).reads_memory) return;
  if (e->op == Op::load) reads_.push_back({e->i, pass_, is_of_element(e->args[0])});
  for (const Expr& a : e->args) record_reads_of(a);
}

Exprs GroupValues::through_view(const OpView& op, const ViewRule& rule, int k, const Exprs& index) {
  const std::vector<int64_t> shape = static_shape(op.in_type(0));
  const auto layout = rule.layout(op, Layout::contiguous(shape), k);
  if (!layout) throw_failure(bug("{}: no view of row-major memory", op.name()));
  Exprs out = math_.delinearise(address(*layout, index), shape);
  name_long_parts(out, shape);
  return out;
}

void GroupValues::name_long_parts(Exprs& index, const std::vector<int64_t>& shape) {
  constexpr size_t longest = 128;
  for (size_t d = 0; d < index.size(); ++d) {
    const Extent extent = extent_of(index[d]);
    if (extent.operations <= longest || (guarded_ && extent.reads_memory)) continue;
    const size_t depth = depth_of({index[d]});
    const auto [it, fresh] = scopes_[depth].named_parts.try_emplace(&*index[d]);
    if (fresh) {
      const int64_t id = sheet_.next_var++;
      it->second = make_var(id, fmt::format("i_{}", id), DType::i64);
      math_.declare(it->second, shape[d]);
      scope_of_[id] = depth;
      scopes_[depth].block->push_back({Let{it->second, index[d]}});
    }
    index[d] = it->second;
  }
}

Expr GroupValues::value(ValueId v, const Exprs& index) {
  if (const auto it = folded_.find(v.v); it != folded_.end()) {
    if (!same_index(it->second.first, index))
      throw_failure(
          bug("lower: %{} is read at another index than it was folded at", graph_.name(v)));
    return it->second.second;
  }
  const NodeId n = def_in_group(v);
  // Views have no value of their own.
  if (n.valid())
    if (const auto* rule = std::get_if<ViewRule>(&(*graph_.node(n).op->lower)->form)) {
      const OpView op = graph_.view(n);
      return value(op.in(0),
                   through_view(op, *rule, static_cast<int>(graph_.value(v).index), index));
    }
  const Key key = key_of(v, index);
  const size_t depth = guarded_ ? scopes_.size() - 1 : depth_of(index);
  if (const Expr* e = known(key, depth)) {
    record_reads_of(*e);
    return *e;
  }
  if (const auto it = kept_.find(v.v); it != kept_.end() && same_index(it->second.index, index)) {
    Expr e = load(it->second.buffer, it->second.dtype, it->second.at);
    if (!guarded_) scopes_[depth].known.emplace(key, e);
    return e;
  }
  if (guarded_) return n.valid() ? compute(n, index)[graph_.value(v).index] : outside(v, index);
  // Written where the loops of its index are open, and no further inside.
  sheet_.open.push_back(scopes_[depth].block);
  const int64_t first = sheet_.next_var;
  const size_t outer = std::exchange(writing_, depth);
  Expr out;
  if (n.valid()) {
    const Node& node = graph_.node(n);
    Exprs all = compute(n, index);
    for (uint32_t k = 0; k < all.size(); ++k) {
      Expr e = named(node.out(k), std::move(all[k]), depth);
      if (node.out(k) == v) out = e;
      scopes_[depth].known.emplace(key_of(node.out(k), index), std::move(e));
    }
  } else {
    out = named(v, outside(v, index), depth);
    scopes_[depth].known.emplace(key, out);
  }
  adopt(first, depth);
  writing_ = outer;
  sheet_.open.pop_back();
  return out;
}

GroupValues::Key GroupValues::key_of(ValueId v, const Exprs& index) const {
  Key key = {v.v};
  for (const Expr& e : index) {
    const int64_t* number = e.as_const_int();
    key.push_back(number ? static_cast<uintptr_t>(*number) << 1 | 1
                         : reinterpret_cast<uintptr_t>(&*e));
  }
  return key;
}

GroupValues::Extent GroupValues::extent_of(const Expr& e) {
  constexpr size_t most = 1 << 16;
  if (const auto it = extents_.find(&*e); it != extents_.end()) return it->second;
  Extent all{1, e->op == Op::load};
  for (const Expr& a : e->args) {
    const Extent part = extent_of(a);
    all = {std::min(all.operations + part.operations, most), all.reads_memory || part.reads_memory};
  }
  sized_.push_back(e);
  return extents_[&*e] = all;
}

// What is read more than once, was taken out of a loop, or is long, gets a name: silu reads its
// operand twice, and twenty in a row, written out, are a million operations.
Expr GroupValues::named(ValueId v, Expr e, size_t depth) {
  constexpr size_t longest = 256;
  if (is_leaf(e) ||
      (depth + 1 == scopes_.size() && !is_shared(v) && extent_of(e).operations <= longest))
    return e;
  std::string name = graph_.name(v);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  const int64_t id = sheet_.next_var++;
  Expr var = make_var(id, fmt::format("v_{}_{}", name, id), e.type());
  scopes_[depth].block->push_back({Let{var, std::move(e)}});
  return var;
}

Exprs GroupValues::compute(NodeId n, const Exprs& index) {
  const OpView op = graph_.view(n);
  const Node& node = graph_.node(n);
  const ElementwiseRule* rule = elementwise_rule(**node.op->lower, op);
  if (!rule) throw_failure(bug("lower: {} is no call that can be computed in place", op.name()));
  std::vector<Bound> operands, results;
  for (const ValueId v : node.inputs) operands.push_back(shape_bound(graph_, v));
  for (uint32_t k = 0; k < node.output_count; ++k)
    results.push_back(
        shape_bound(graph_, op.out_type(static_cast<int>(k)).is_none ? ValueId{} : node.out(k)));
  CallBuilder builder(*this, n, !rule->in_range, std::move(operands), std::move(results));
  Exprs values = rule->value(builder, op, index);
  for (size_t k = 0; k < values.size(); ++k)
    values[k] = as_stored(std::move(values[k]), op.out_type(static_cast<int>(k)).dtype);
  return values;
}

}  // namespace cleave
