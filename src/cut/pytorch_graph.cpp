#include "cut/pytorch_graph.h"

#include <algorithm>

#include "ir/subgraph.h"

namespace cleave {

using Kind = PytorchNode::Kind;
using Symbol = PytorchNode::Symbol;

const char* runs_once_because(const Node& call) {
  const Trait traits = traits_of(call);
  if (has(traits, Trait::effect)) return "its call has an effect";
  return has(traits, Trait::collective) ? "its call meets other ranks" : nullptr;
}

PytorchGraph::PytorchGraph(const JointView& joint)
    : joint_(&joint), node_of_(joint.graph().value_capacity(), -1),
      returned_(joint.graph().value_capacity()) {
  const Graph& g = joint.graph();
  for (const Return& r : g.returns()) returned_[r.value.v] = true;
  add_placeholders();
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) add_call(n);
  classify();
  keep_borders();
  measure_distance();
}

void PytorchGraph::add_placeholders() {
  const Graph& g = joint_->graph();
  for (const Placeholder& p : g.placeholders()) {
    PytorchNode node{.kind = Kind::placeholder, .value = p.value};
    node.parameter = p.role == Role::param || p.role == Role::buffer;
    node.constant = p.role == Role::constant;
    node.symbol = p.role == Role::symint ? Symbol::integer : Symbol::none;
    node.bytes = p.role == Role::symint ? 1 : node.constant ? 0 : joint_->bytes(p.value);
    node.returned = returned_[p.value.v];
    node.required_backward = node.reads_tangents = p.role == Role::tangent;
    node.required_forward = p.role != Role::tangent;
    node_of_[p.value.v] = size();
    nodes_.push_back(std::move(node));
  }
}

void PytorchGraph::add_use(int32_t user, ValueId v, bool in_list) {
  if (!v.valid()) return;
  const int32_t from = node_of_[v.v];
  PytorchNode& reader = nodes_[static_cast<size_t>(user)];
  PytorchNode& read = nodes_[static_cast<size_t>(from)];
  reader.inputs.push_back(from);
  if (!in_list) reader.argument_bytes += read.bytes;
  if (std::find(read.users.begin(), read.users.end(), user) == read.users.end())
    read.users.push_back(user);
}

void PytorchGraph::add_symbol_uses(int32_t user) {
  const Graph& g = joint_->graph();
  std::vector<std::string> symbols;
  for (const auto& [arg, value] : g.node(node(user).call).attrs.given()) {
    collect_symbols(value, symbols);
    if (const Dim* d = value.get<Dim>(); d && !d->is_const())
      ++nodes_[static_cast<size_t>(user)].argument_bytes;
  }
  for (const std::string& name : symbols)
    if (const ValueId v = g.find(name); v.valid()) add_use(user, v, true);
}

// Of a call with one result.
Symbol PytorchGraph::symbol_of(NodeId n) const {
  const Graph& g = joint_->graph();
  const Node& call = g.node(n);
  if (call.op->name == "sym_size" || call.op->name == "sym_numel") return Symbol::integer;
  if (!has(call.op->traits, Trait::pointwise) || call.inputs.empty()) return Symbol::none;
  for (ValueId v : call.inputs)
    if (v.valid() && node(node_of_[v.v]).symbol == Symbol::none) return Symbol::none;
  const DType dtype = g.type(call.out(0)).dtype;
  if (dtype == DType::boolean) return Symbol::boolean;
  return is_floating(dtype) ? Symbol::floating : Symbol::integer;
}

void PytorchGraph::add_call(NodeId n) {
  const Graph& g = joint_->graph();
  const Node& call = g.node(n);
  const bool several = call.op->schema.results != 1;
  const int32_t at = size();
  PytorchNode node{.call = n, .op = pytorch_op(*call.op), .tag = call.tag};
  const char* const node_once = node.once = runs_once_because(call);
  if (!several) {
    node.value = call.out(0);
    node.returned = returned_[node.value.v];
  }
  for (uint32_t k = 0; k < call.output_count; ++k) node.bytes += joint_->bytes(call.out(k));
  if (!several) node.symbol = symbol_of(n);
  if (node.symbol != Symbol::none) node.bytes = 1;
  node.required_backward = node.reads_tangents = joint_->half(n) == Half::backward;
  nodes_.push_back(std::move(node));
  const OpView view = g.view(n);
  const int list = call.op->schema.list_operand;
  for (int operand = 0; operand < view.operand_count(); ++operand)
    if (operand != list)
      add_use(at, view.in(operand), false);
    else
      for (int k = 0; k < view.list_size(); ++k) add_use(at, view.list_in(k), true);
  add_symbol_uses(at);
  if (!several) {
    node_of_[call.out(0).v] = at;
    return;
  }
  for (uint32_t k = 0; k < call.output_count; ++k) {
    const ValueId v = call.out(k);
    if (g.use_count(v) == 0 && !returned_[v.v]) continue;
    PytorchNode item{.kind = Kind::getitem, .call = n, .value = v, .tag = call.tag};
    item.op.recomputable = true;
    item.once = node_once;
    item.bytes = joint_->bytes(v);
    item.returned = returned_[v.v];
    item.inputs = {at};
    node_of_[v.v] = size();
    nodes_[static_cast<size_t>(at)].users.push_back(size());
    nodes_.push_back(std::move(item));
  }
}

void PytorchGraph::classify() {
  const auto mark = [&](ValueId from) {
    std::vector<int32_t> open{node_of_[from.v]};
    while (!open.empty()) {
      PytorchNode& n = nodes_[static_cast<size_t>(open.back())];
      open.pop_back();
      if (n.required_forward && n.kind != Kind::placeholder) continue;
      n.required_forward = true;
      open.insert(open.end(), n.inputs.begin(), n.inputs.end());
    }
  };
  const std::vector<Return>& returns = joint_->graph().returns();
  for (const Return& r : returns)
    if (r.kind != ReturnKind::grad && joint_->forward_can_compute(r.value)) mark(r.value);
  for (const PytorchNode& n : nodes_)
    if (n.once && joint_->half(n.call) == Half::forward) mark(joint_->graph().node(n.call).out(0));
  for (PytorchNode& n : nodes_) {
    if (!n.reads_tangents) continue;
    for (int32_t user : n.users)
      nodes_[static_cast<size_t>(user)].reads_tangents =
          nodes_[static_cast<size_t>(user)].required_backward = true;
  }
  for (const Return& r : returns)
    if (r.kind == ReturnKind::grad)
      nodes_[static_cast<size_t>(node_of_[r.value.v])].required_backward = true;
  int32_t order = 0;
  for (PytorchNode& n : nodes_)
    if (n.required_forward) n.forward_order = order++;
}

void PytorchGraph::keep_borders() {
  const auto asks = [](const PytorchNode& n) {
    return n.tag.policy == Recompute::must_recompute || n.tag.policy == Recompute::prefer_recompute;
  };
  for (PytorchNode& n : nodes_) {
    if (!asks(n)) continue;
    const bool border = std::any_of(n.users.begin(), n.users.end(), [&](int32_t user) {
      const PytorchNode& reader = node(user);
      return asks(reader) && !reader.reads_tangents && reader.tag.ac_graph > n.tag.ac_graph;
    });
    if (border) n.tag.policy = Recompute::must_save;
  }
}

void PytorchGraph::measure_distance() {
  for (int32_t i = size() - 1; i >= 0; --i) {
    PytorchNode& n = nodes_[static_cast<size_t>(i)];
    if (!n.required_forward) continue;
    n.distance = far;
    for (int32_t user : n.users) n.distance = std::min(n.distance, node(user).distance + 1);
  }
}

bool PytorchGraph::is_fusible(int32_t a, int32_t b) const {
  const PytorchNode& reader = node(b);
  if (reader.kind == Kind::call && joint_->graph().node(reader.call).op->name == "cat") return true;
  return node(a).op.fusible() && reader.op.fusible();
}

}  // namespace cleave
