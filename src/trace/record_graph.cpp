#include "trace/record_graph.h"

#include <map>

#include "ir/builder.h"
#include "ir/rebuild.h"
#include "ir/subgraph.h"
#include "trace/tracing.h"

namespace cleave::trace {
namespace {

// The graph with numbers and names that are the program's own.
struct Renumbered : Rebuilding {
  Recording& to;
  const std::string& graph;
  std::map<int64_t, int64_t> streams, regions;

  Renumbered(Recording& to, const std::string& graph) : to(to), graph(graph) {}
  Dim number(const ArgDef& of, const Dim& d) override {
    if (of.name != "stream") return d;
    const auto [at, is_new] = streams.emplace(d.value(), 0);
    if (is_new) at->second = to.next_stream();
    return Dim(at->second);
  }
  void call(NodeSpec& spec) override {
    if (spec.tag.ac_graph == 0) return;
    const auto [at, is_new] = regions.emplace(spec.tag.ac_graph, 0);
    if (is_new) at->second = to.next_region();
    spec.tag.ac_graph = at->second;
  }
  std::string name(const Graph& subgraph) override {
    return to.subgraph_name(graph + "." + subgraph.name());
  }
};

// The program has no symints of these names: in a static graph each has one value.
Result<bool> take_out_symints(Graph& g, const OpRegistry& ops) {
  bool changed = false;
  for (const Placeholder& p : std::vector(g.placeholders())) {
    if (p.role != Role::symint) continue;
    changed = true;
    if (g.use_count(p.value) == 0) continue;
    Builder b(g, ops);
    b.insert_before(g.first_node());
    const ValueId number = b.call1(
        "full", {}, {{"size", Sizes{}}, {"fill_value", p.sym.range.lo}, {"dtype", DType::i64}});
    CLEAVE_CHECK(b.status());
    g.replace_uses(p.value, number);
  }
  if (changed) g.filter_placeholders([](const Placeholder& p) { return p.role != Role::symint; });
  return changed;
}

class Recorder {
 public:
  Recorder(Recording& to, const Graph& from, Location at)
      : to_(to), from_(from), map_(from.value_capacity()), loc_(to.loc(at)), at_(at) {}

  Values run(const Values& given) {
    for (size_t k = 0; k < given.size(); ++k) {
      const Placeholder& p = from_.placeholders()[k];
      map_[p.value.v] = p.role == Role::rng_state ? to_.rng() : given[k];
    }
    for (NodeId n = from_.first_node(); n.valid(); n = from_.next_node(n)) add(from_.node(n));
    Values out;
    for (const Return& r : from_.returns()) out.push_back(map_[r.value.v]);
    return out;
  }

 private:
  void add(const Node& node) {
    Graph& g = to_.graph();
    NodeSpec spec;
    spec.op = to_.ops().find(node.op->name);
    if (spec.op == nullptr)
      refuse(at_, "the operator {} of @{} is not among the program's Operators", node.op->name,
             from_.name());
    for (const ValueId v : node.inputs) spec.inputs.push_back(v.valid() ? map_[v.v] : v);
    spec.list_size = node.list_size;
    spec.attrs = node.attrs;
    spec.tag = node.tag;
    spec.loc = loc_of(node);
    for (uint32_t k = 0; k < node.output_count; ++k)
      spec.names.push_back(g.fresh_name(from_.name(node.out(k))));
    const NodeId made = value_or_throw_at(at_, g.add_node(std::move(spec)));
    for (uint32_t k = 0; k < node.output_count; ++k) map_[node.out(k).v] = g.node(made).out(k);
  }

  // Its own line where it has one, else that of the call of the graph.
  SourceLoc loc_of(const Node& node) {
    if (node.loc.file == 0) return loc_;
    return {to_.graph().file_id(from_.files()[node.loc.file]), node.loc.line};
  }

  Recording& to_;
  const Graph& from_;
  std::vector<ValueId> map_;  // by value id of from_
  SourceLoc loc_;
  Location at_;
};

}  // namespace

Values record_graph(Recording& r, const Graph& g, const Values& given, Location at) {
  for (const Placeholder& p : g.placeholders()) {
    if (p.role != Role::rng_state) continue;
    if (r.is_free())
      refuse(at, "@{} draws random numbers, and none of its inputs belongs to a program", g.name());
    if (r.mode() == Mode::evaluation)
      refuse(at,
             "@{} draws random numbers, and {} draws none; use a graph that was exported for "
             "evaluation",
             g.name(), r.what());
  }
  Renumbered how(r, g.name());
  Graph own = value_or_throw_at(at, rebuilt(g, how));
  value_or_throw_at(
      at, rewrite_subgraphs(own, [&](Graph& sub) { return take_out_symints(sub, r.ops()); }));
  return Recorder(r, own, at).run(given);
}

}  // namespace cleave::trace
