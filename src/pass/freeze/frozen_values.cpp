#include "pass/freeze/frozen_values.h"

#include <algorithm>

#include "ir/edit.h"
#include "ir/subgraph.h"
#include "pass/freeze/constant_values.h"
#include "pass/frozen.h"
#include "pass/uniform_value.h"

namespace cleave {
namespace {

// A table of positions from one number costs more memory traffic to read than to compute.
constexpr int64_t most_growth = 4;

int64_t bytes_of(const Type& t) {
  int64_t bytes = size_of(t.dtype);
  for (const int64_t n : static_shape(t)) bytes *= n;
  return bytes;
}

bool is_reshape(const OpView& call) {
  return call.name() == "view" || call.name() == "reshape" || call.name() == "_unsafe_view";
}

// Views that leave the elements of a dense value in their order.
bool keeps_order(const OpView& call) {
  return is_reshape(call) || call.name() == "unsqueeze" || call.name() == "squeeze" ||
         call.name() == "alias" || call.name() == "detach";
}

class Folding {
 public:
  Folding(const Graph& g, const std::vector<bool>& frozen)
      : g_(g), uniform_(g), frozen_(frozen), needed_(g.value_capacity()) {}

  Values find() {
    Values found;
    for (const Return& r : g_.returns()) needed_[r.value.v] = true;
    for (NodeId n = g_.last_node(); n.valid(); n = g_.prev_node(n)) {
      const Node& node = g_.node(n);
      if (!is_frozen_call(node)) {
        need_operands(node);
      } else if (const Values results = needed_of(node); !results.empty()) {
        if (stays(n, results))
          need_operands(node);
        else
          found.insert(found.end(), results.rbegin(), results.rend());
      }
    }
    std::ranges::reverse(found);
    return found;
  }

 private:
  bool is_frozen_call(const Node& node) const {
    return node.output_count > 0 && frozen_[node.out(0).v];
  }
  void need_operands(const Node& node) {
    for (const ValueId v : node.inputs)
      if (v.valid()) needed_[v.v] = true;
  }
  Values needed_of(const Node& node) const {
    Values out;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (const ValueId v = node.out(k); needed_[v.v] && !g_.type(v).is_none) out.push_back(v);
    return out;
  }

  bool stays(NodeId n, const Values& results) const {
    const OpView call = g_.view(n);
    const auto all = [&](auto holds) { return std::ranges::all_of(results, holds); };
    if (!all([&](ValueId v) { return g_.type(v).is_static(); })) return true;
    if (all([&](ValueId v) { return uniform_.find(v) != nullptr; })) return true;
    if (has(call.def().traits, Trait::view) &&
        (!is_reshape(call) || is_dense(g_.node(n).inputs[0])))
      return true;
    return grows(g_, g_.node(n).inputs, results) &&
           !all([&](ValueId v) { return is_read_by_product(v); });
  }

  // Whether v's elements lie in order without gaps.
  bool is_dense(ValueId v) const {
    const NodeId def = g_.value(v).def;
    if (!def.valid()) return !g_.type(v).strides;
    const OpView call = g_.view(def);
    if (!has(call.def().traits, Trait::view)) return true;
    return keeps_order(call) && is_dense(g_.node(def).inputs[0]);
  }

  bool is_read_by_product(ValueId v) const {
    return std::ranges::any_of(g_.uses(v), [&](const Use& use) {
      const Node& reader = g_.node(use.node);
      if (has(reader.op->traits, Trait::compute_intensive)) return true;
      return has(reader.op->traits, Trait::view) && is_read_by_product(reader.out(0));
    });
  }

  const Graph& g_;
  const UniformValues uniform_;
  const std::vector<bool>& frozen_;
  std::vector<bool> needed_;  // by value, in each run
};

}  // namespace

bool grows(const Graph& g, const Values& operands, const Values& results) {
  int64_t read = 0, made = 0;
  for (const ValueId v : operands) {
    if (!v.valid()) continue;
    if (!g.type(v).is_static()) return true;
    read += bytes_of(g.type(v));
  }
  for (const ValueId v : results) made += bytes_of(g.type(v));
  return made / most_growth > read;
}

bool is_kept(const Graph& g, ValueId v) {
  return is_frozen(g, v) && std::ranges::none_of(g.returns(), [&](const Return& r) {
           return r.kind == ReturnKind::update && r.target == v;
         });
}

std::vector<bool> frozen_values(const Graph& g, std::vector<bool> frozen,
                                const std::function<bool(const Node&)>& leaves) {
  for (const NodeId n : g.order()) {
    const Node& node = g.node(n);
    const Trait traits = traits_of(node);
    if (runs_once(traits) || has(traits, Trait::random) || (leaves && leaves(node))) continue;
    if (!std::ranges::all_of(node.inputs, [&](ValueId v) { return !v.valid() || frozen[v.v]; }))
      continue;
    for (uint32_t k = 0; k < node.output_count; ++k) frozen[node.out(k).v] = true;
  }
  return frozen;
}

std::vector<bool> frozen_values(const Graph& g) {
  std::vector<bool> kept(g.value_capacity());
  for (const Placeholder& p : g.placeholders()) kept[p.value.v] = is_kept(g, p.value);
  return frozen_values(g, std::move(kept));
}

Values foldable_values(const Graph& g) { return foldable_values(g, frozen_values(g)); }
Values foldable_values(const Graph& g, const std::vector<bool>& frozen) {
  return Folding(g, frozen).find();
}

bool is_folded(const Graph& g, ValueId v) { return g.name(v).starts_with(folded_prefix); }

Result<int64_t> name_folded(Graph& g, const Values& values) {
  int64_t named = 0;
  for (const ValueId v : values) {
    if (is_folded(g, v)) continue;
    CLEAVE_CHECK(g.rename(v, g.fresh_name(fmt::format("{}{}", folded_prefix, g.name(v)))));
    ++named;
  }
  return named;
}

namespace {

// Moves what computes the values from `kept` into a graph of its own.
Result<Graph> moved_out(Graph& g, const Values& kept, const Values& values) {
  CLEAVE_TRY(Graph out, extract_subgraph(g, "frozen", kept, values, Role::constant));
  out.filter_placeholders([&](const Placeholder& p) { return out.use_count(p.value) > 0; });
  for (const ValueId v : values) {
    const std::string name = g.name(v);
    CLEAVE_CHECK(g.rename(v, g.fresh_name("computed_once")));
    CLEAVE_TRY(const ValueId given, g.add_placeholder(Role::constant, name, g.type(v)));
    g.replace_uses(v, given);
  }
  eliminate_dead_code(g);
  return out;
}

}  // namespace

Result<Graph> take_frozen(Graph& g) {
  Values values = foldable_values(g);
  std::erase_if(values, [&](ValueId v) { return !is_folded(g, v); });
  if (values.empty()) return Graph("frozen");
  Values kept;
  for (const Placeholder& p : g.placeholders())
    if (is_kept(g, p.value)) kept.push_back(p.value);
  CLEAVE_TRY(Graph frozen, moved_out(g, kept, values));
  std::vector<bool> returned(g.value_capacity());
  for (const Return& r : g.returns()) {
    returned[r.value.v] = true;
    if (r.target.valid()) returned[r.target.v] = true;
  }
  g.filter_placeholders([&](const Placeholder& p) {
    return !is_kept(g, p.value) || g.use_count(p.value) > 0 || returned[p.value.v];
  });
  return frozen;
}

Result<Graph> take_constants(Graph& g) {
  const std::vector<bool> constant = constant_values(g);
  Values values;
  for (const NodeId n : g.order())
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (const ValueId v = g.node(n).out(k); constant[v.v] && is_folded(g, v)) values.push_back(v);
  if (values.empty()) return Graph("frozen");
  CLEAVE_TRY(Graph out, moved_out(g, {}, values));
  for (const NodeId n : out.order()) out.set_tag(n, {});  // it has no backward
  return out;
}

}  // namespace cleave
