#include "cut/split_joint.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

class Splitter {
 public:
  Splitter(const JointView& joint, const std::function<KeepChoice(ValueId)>& choose)
      : joint_(joint), g_(joint.graph()), choose_(choose), saved_(g_.value_capacity()),
        seen_(g_.value_capacity()), placed_(g_.node_capacity()) {}

  Result<Partition> run() {
    for (const Return& r : g_.returns())
      if (r.kind == ReturnKind::grad) need(r.value, "a gradient that is returned");
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
      if (joint_.half(n) == Half::backward) place(n);
    // Gradients that the forward could compute and that no node of the backward reads.
    for (const Return& r : g_.returns())
      if (r.kind == ReturnKind::grad) place_def(r.value);
    sort_saved();
    CLEAVE_CHECK(make_backward());
    CLEAVE_CHECK(make_forward());
    report();
    return std::move(p_);
  }

 private:
  // Adds a node to the backward, after those of its operands that the backward computes.
  void place(NodeId n) {
    std::vector<NodeId> open{n};
    while (!open.empty()) {
      const NodeId top = open.back();
      if (placed_[top.v]) {
        open.pop_back();
        continue;
      }
      const size_t before = open.size();
      for (ValueId in : g_.node(top).inputs) {
        if (!in.valid()) continue;
        need(in, fmt::format("{} %{}", g_.node(top).op->name, g_.name(g_.node(top).out(0))));
        const NodeId def = g_.value(in).def;
        if (def.valid() && !saved_[in.v] && !placed_[def.v]) open.push_back(def);
      }
      if (open.size() > before) continue;
      placed_[top.v] = true;
      backward_order_.push_back(top);
      open.pop_back();
    }
  }

  void place_def(ValueId v) {
    if (const NodeId n = g_.value(v).def; n.valid() && !saved_[v.v]) place(n);
  }

  // Decides about a value that the forward can compute; called at each of its readers.
  void need(ValueId v, const std::string& reader) {
    if (seen_[v.v] || !joint_.forward_can_compute(v)) return;
    seen_[v.v] = true;
    const bool placeholder = g_.placeholder_of(v) != nullptr;
    const KeepChoice choice = placeholder ? KeepChoice{} : choose_(v);
    const std::string why =
        fmt::format("read by {}{}{}", reader, choice.why.empty() ? "" : "; ", choice.why);
    const int64_t bytes = joint_.bytes(v);
    if (choice.keep == Keep::save) {
      saved_[v.v] = true;
      saves_.push_back({v, {g_.name(v), bytes, placeholder, why}});
      return;
    }
    const NodeId n = g_.value(v).def;
    if (joint_.half(n) != Half::forward) return;  // the backward alone computes it
    int64_t flops = 0;
    if (g_.node(n).op->cost.present() && counted_.insert(n).second)
      flops = (*g_.node(n).op->cost)(g_.view(n)).flops;
    p_.recomputed.push_back({g_.name(v), bytes, flops, why});
  }

  // Symints first, then the joint graph's order.
  void sort_saved() {
    add_symbols();
    std::vector<uint32_t> rank(g_.value_capacity());
    uint32_t next = 0;
    const auto is_symint = [&](const Placeholder& p) { return p.role == Role::symint; };
    for (const Placeholder& p : g_.placeholders())
      if (is_symint(p)) rank[p.value.v] = next++;
    for (const Placeholder& p : g_.placeholders())
      if (!is_symint(p)) rank[p.value.v] = next++;
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
      for (uint32_t k = 0; k < g_.node(n).output_count; ++k) rank[g_.node(n).out(k).v] = next++;
    std::sort(saves_.begin(), saves_.end(),
              [&](const auto& a, const auto& b) { return rank[a.first.v] < rank[b.first.v]; });
  }

  // Saves the symbols that occur in the types and attributes of the backward.
  void add_symbols() {
    std::vector<std::string> symbols;
    const auto add_type = [&](const Type& t) {
      for (const Dim& d : t.shape) d.collect_symbols(symbols);
      if (t.strides)
        for (const Dim& d : *t.strides) d.collect_symbols(symbols);
    };
    for (const auto& [v, save] : saves_) add_type(g_.type(v));
    for (const Placeholder& p : g_.placeholders())
      if (p.role == Role::tangent) add_type(g_.type(p.value));
    for (NodeId n : backward_order_) {
      for (const auto& [arg, value] : g_.node(n).attrs.given()) collect_symbols(value, symbols);
      for (uint32_t k = 0; k < g_.node(n).output_count; ++k) add_type(g_.type(g_.node(n).out(k)));
    }
    for (const std::string& name : std::set<std::string>(symbols.begin(), symbols.end())) {
      const ValueId v = g_.find(name);
      if (!v.valid() || saved_[v.v]) continue;
      saved_[v.v] = true;
      saves_.push_back({v, {name, joint_.bytes(v), true, "a size that the backward needs"}});
    }
  }

  Status make_backward() {
    Graph b(g_.name() + ".backward");
    std::unordered_map<uint32_t, ValueId> map;
    for (const auto& [v, save] : saves_) {
      const Placeholder* p = g_.placeholder_of(v);
      const bool symint = p && p->role == Role::symint;
      CLEAVE_TRY(map[v.v], b.add_placeholder(symint ? Role::symint : Role::saved, save.name,
                                             g_.type(v), false, symint ? p->sym : SymInfo{}));
    }
    for (const Placeholder& p : g_.placeholders())
      if (p.role == Role::tangent) {
        CLEAVE_TRY(map[p.value.v], b.add_placeholder(p.role, g_.name(p.value), g_.type(p.value)));
        ++p_.backward_arity.inputs;
      }
    CLEAVE_CHECK(copy_nodes(g_, backward_order_, b, map));
    for (const Return& r : g_.returns())
      if (r.kind == ReturnKind::grad) b.add_return({map.at(r.value.v), ReturnKind::result, {}});
    p_.backward_arity.inputs += std::ssize(saves_);
    p_.backward_arity.outputs = std::ssize(b.returns());
    p_.backward = std::move(b);
    return {};
  }

  // The nodes that results, updates and saved values need.
  std::vector<NodeId> forward_order() const {
    std::vector<bool> wanted(g_.node_capacity());
    for (const auto& [v, save] : saves_)
      if (const NodeId n = g_.value(v).def; n.valid()) wanted[n.v] = true;
    std::vector<NodeId> order;
    for (NodeId n = g_.last_node(); n.valid(); n = g_.prev_node(n)) {
      if (!wanted[n.v] && joint_.half(n) != Half::forward) continue;
      order.push_back(n);
      for (ValueId in : g_.node(n).inputs)
        if (in.valid() && g_.value(in).def.valid()) wanted[g_.value(in).def.v] = true;
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  Status make_forward() {
    Graph f(g_.name() + ".forward");
    std::unordered_map<uint32_t, ValueId> map;
    for (const Placeholder& p : g_.placeholders()) {
      if (p.role == Role::tangent) continue;
      CLEAVE_TRY(map[p.value.v],
                 f.add_placeholder(p.role, g_.name(p.value), g_.type(p.value), false, p.sym));
      if (p.role != Role::symint) ++p_.forward_arity.inputs;
    }
    const std::vector<NodeId> order = forward_order();
    CLEAVE_CHECK(copy_nodes(g_, order, f, map));
    for (const NodeId n : order)
      if (placed_[n.v]) p_.run_twice.push_back(n);
    for (const Return& r : g_.returns())
      if (r.kind == ReturnKind::result)
        f.add_return({map.at(r.value.v), r.kind, {}});
      else if (r.kind == ReturnKind::update)
        f.add_return({map.at(r.value.v), r.kind, map.at(r.target.v)});
    for (const auto& [v, save] : saves_) f.add_return({map.at(v.v), ReturnKind::result, {}});
    p_.forward_arity.outputs = std::ssize(f.returns());
    p_.forward = std::move(f);
    return {};
  }

  void report() {
    std::set<ValueId> storages;
    for (auto& [v, save] : saves_) {
      p_.saved_bytes += save.bytes;
      const ValueId base = joint_.storage(v);
      if (!g_.placeholder_of(base) && storages.insert(base).second)
        p_.saved_activation_bytes += joint_.bytes(base);
      p_.saved.push_back(std::move(save));
    }
    for (const RecomputedValue& r : p_.recomputed) p_.recompute_flops += r.flops;
  }

  const JointView& joint_;
  const Graph& g_;
  const std::function<KeepChoice(ValueId)>& choose_;
  std::vector<bool> saved_, seen_;  // by value
  std::vector<bool> placed_;        // by node
  std::vector<NodeId> backward_order_;
  std::vector<std::pair<ValueId, SavedValue>> saves_;
  std::set<NodeId> counted_;
  Partition p_;
};

}  // namespace

Result<Partition> split_joint(const JointView& joint,
                              const std::function<KeepChoice(ValueId)>& choose) {
  return Splitter(joint, choose).run();
}

}  // namespace cleave
