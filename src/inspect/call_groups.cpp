#include "inspect/call_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "cut/joint_view.h"
#include "inspect/program_phases.h"

namespace cleave {
namespace {

// "blocks.0.qkv" -> "blocks.0"; "wte" -> "".
std::string around(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

bool is_of_model(const Placeholder& p) { return p.role == Role::param || p.role == Role::buffer; }

// Parameters of a path, by which modules are known.
bool has_paths(const Graph& g) {
  return std::ranges::any_of(g.placeholders(), [&](const Placeholder& p) {
    return is_of_model(p) && g.name(p.value).find('.') != std::string::npos;
  });
}

// The state of an optimizer is named behind the parameter's name, or before it.
std::string module_of(const Graph& g, const std::set<std::string>& modules, ValueId v) {
  std::string path = around(g.name(v));
  if (modules.contains(path)) return path;
  const std::string whole = "." + path + ".";
  std::string best;
  for (const std::string& m : modules)
    if (m.size() > best.size() && whole.find("." + m + ".") != std::string::npos) best = m;
  return best;
}

class Modules {
 public:
  explicit Modules(const Graph& g) : g_(g), of_value_(g.value_capacity()) {}

  // By node.
  std::vector<std::string> all() {
    std::set<std::string> modules;
    for (const Placeholder& p : g_.placeholders())
      if (p.role == Role::param) modules.insert(around(g_.name(p.value)));
    for (const Placeholder& p : g_.placeholders())
      if (is_of_model(p)) of_value_[p.value.v] = {module_of(g_, modules, p.value), true};
    mark_results();
    std::vector<std::string> out(g_.node_capacity());
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n)) out[n.v] = place(n);
    return out;
  }

 private:
  struct Of {
    std::string module;
    bool is_own = false;  // a parameter, or a view or cast of it; what is made for one
    int64_t made = -1;    // when
  };

  // Gradients and updates belong to their parameter.
  void mark_results() {
    for (const Return& r : g_.returns())
      if (r.target.valid() && of_value_[r.target.v].is_own && g_.value(r.value).def.valid())
        made_for_[r.value] = of_value_[r.target.v].module;
  }

  std::string place(NodeId n) {
    const Node& node = g_.node(n);
    const Of* own = nullptr;
    const Of* last = nullptr;
    for (const ValueId v : node.inputs) {
      if (!v.valid()) continue;
      const Of& of = of_value_[v.v];
      if (of.is_own && own == nullptr) own = &of;
      if (of.made >= 0 && (last == nullptr || of.made > last->made)) last = &of;
    }
    Of here{.made = made_++};
    const auto result = made_for_.find(node.out(0));
    if (result != made_for_.end())
      here.module = result->second;
    else if (own != nullptr)
      here.module = own->module;
    else if (last != nullptr && has(node.op->traits, Trait::view))
      here.module = last->module;
    else if (last != nullptr)
      here.module = leaf_.contains(last->module) ? around(last->module) : last->module;
    if (own != nullptr || result != made_for_.end()) leaf_.insert(here.module);
    // A parameter as it is read: permuted, cast.
    const bool one = std::ranges::count_if(node.inputs, &ValueId::valid) == 1;
    here.is_own = own != nullptr && one;
    for (uint32_t k = 0; k < node.output_count; ++k) of_value_[node.out(k).v] = here;
    return here.module;
  }

  const Graph& g_;
  std::vector<Of> of_value_;
  std::map<ValueId, std::string> made_for_;
  std::set<std::string> leaf_;  // modules that own parameters
  int64_t made_ = 0;
};

std::string line_of(const Graph& g, NodeId n) { return g.loc_text(g.node(n).loc); }

// Drops last steps of the longest paths until there are few enough.
void shorten(std::vector<std::string>& names, size_t most) {
  for (;;) {
    const std::set<std::string> all(names.begin(), names.end());
    if (all.size() <= most) return;
    std::ptrdiff_t deepest = 0;
    for (const std::string& name : all)
      deepest = std::max(deepest, std::ranges::count(name, '.') + (name.empty() ? 0 : 1));
    for (std::string& name : names)
      if (std::ranges::count(name, '.') + (name.empty() ? 0 : 1) == deepest) name = around(name);
  }
}

void merge_rare(std::vector<std::string>& names, size_t most) {
  std::map<std::string, int64_t> calls;
  for (const std::string& name : names) ++calls[name];
  if (calls.size() <= most) return;
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [name, count] : calls) order.emplace_back(-count, name);
  std::ranges::sort(order);
  std::set<std::string> rare;
  for (size_t k = most - 1; k < order.size(); ++k) rare.insert(order[k].second);
  for (std::string& name : names)
    if (rare.contains(name)) name = "others";
}

// By node: how often a path to it has left the group and come back; of calls outside of it, of what
// is before them there, -1 where nothing is.
std::vector<int32_t> depths(const Graph& g, const std::vector<bool>& late,
                            const std::vector<size_t>& group_of, size_t group) {
  std::vector<int32_t> out(g.node_capacity(), -1);
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    if (late[n.v]) continue;
    const bool inside = group_of[n.v] == group;
    int32_t& depth = out[n.v];
    if (inside) depth = 0;
    for (const ValueId v : g.node(n).inputs) {
      const NodeId def = v.valid() ? g.value(v).def : NodeId{};
      if (!def.valid() || out[def.v] < 0) continue;
      depth = std::max(depth, out[def.v] + (inside && group_of[def.v] != group ? 1 : 0));
    }
  }
  return out;
}

}  // namespace

GroupBy best_grouping(const Graph& g) {
  if (has_paths(g)) return GroupBy::module;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (g.node(n).loc.file != 0) return GroupBy::line;
  return GroupBy::op;
}

CallGroups group_calls(const Graph& g, GroupBy by, size_t most) {
  std::vector<NodeId> calls = g.order();
  std::vector<std::string> names;
  const std::vector<std::string> modules =
      by == GroupBy::module ? Modules(g).all() : std::vector<std::string>();
  for (const NodeId n : calls)
    names.push_back(by == GroupBy::module ? modules[n.v]
                    : by == GroupBy::line ? line_of(g, n)
                                          : g.node(n).op->name);
  by == GroupBy::module ? shorten(names, most) : merge_rare(names, most);
  CallGroups out{.by = by, .groups = {}};
  std::map<std::string, size_t> at;
  for (size_t k = 0; k < calls.size(); ++k) {
    const auto [group, is_new] = at.try_emplace(names[k], out.groups.size());
    if (is_new) out.groups.push_back({.name = names[k], .calls = {}});
    out.groups[group->second].calls.push_back(calls[k]);
  }
  if (by == GroupBy::module)
    for (const Placeholder& p : g.placeholders()) {
      if (p.role != Role::param) continue;
      std::string path = around(g.name(p.value));
      while (!at.contains(path) && !path.empty()) path = around(path);
      if (const auto group = at.find(path); group != at.end())
        out.groups[group->second].parameter_bytes += hint_bytes_of(g, p.value);
    }
  const std::vector<bool> late = late_calls(g);
  for (CallGroup& group : out.groups)
    for (const NodeId n : group.calls) group.late += late[n.v];
  return out;
}

std::vector<GroupSegment> forward_segments(const Graph& g, const CallGroups& groups) {
  const std::vector<bool> late = late_calls(g);
  std::vector<size_t> group_of(g.node_capacity()), segment_of(g.node_capacity());
  for (size_t k = 0; k < groups.groups.size(); ++k)
    for (const NodeId n : groups.groups[k].calls) group_of[n.v] = k;
  std::vector<int32_t> depth(g.node_capacity());
  for (size_t k = 0; k < groups.groups.size(); ++k) {
    const std::vector<int32_t> own = depths(g, late, group_of, k);
    for (const NodeId n : groups.groups[k].calls) depth[n.v] = own[n.v];
  }
  std::vector<GroupSegment> out;
  std::map<std::pair<size_t, int32_t>, size_t> at;
  std::vector<std::set<size_t>> reads;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    if (late[n.v]) continue;
    const auto [found, is_new] = at.try_emplace({group_of[n.v], depth[n.v]}, out.size());
    if (is_new) out.push_back({.group = group_of[n.v], .calls = {}, .reads = {}});
    reads.resize(out.size());
    const size_t here = segment_of[n.v] = found->second;
    out[here].calls.push_back(n);
    for (const ValueId v : g.node(n).inputs)
      if (v.valid() && g.value(v).def.valid()) reads[here].insert(segment_of[g.value(v).def.v]);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    reads[k].erase(k);
    out[k].reads.assign(reads[k].begin(), reads[k].end());
  }
  return out;
}

}  // namespace cleave
