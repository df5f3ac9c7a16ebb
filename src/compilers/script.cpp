#include "compilers/compilers.h"
#include "ir/builder.h"
#include "ir/edit.h"
#include "ir/subgraph.h"
#include "ir/text.h"

namespace cleave {
namespace {

// A conversion that keeps the dtype is its operand, where that has the same strides and device.
void drop_copies(Graph& g) {
  for (const NodeId n : g.order()) {
    const Node& node = g.node(n);
    if (node.op->name != "_to_copy" || g.type(node.inputs[0]) != g.type(node.out(0))) continue;
    g.replace_uses(node.out(0), node.inputs[0]);
    g.erase(n);
  }
}

// What else a conversion says (a memory format) means nothing where it changes the dtype alone.
Status reduce_conversions(Graph& g, const OpRegistry& ops) {
  for (const NodeId n : g.order()) {
    const Node& node = g.node(n);
    if (node.op->name != "_to_copy") continue;
    Type wanted = g.type(node.inputs[0]);
    wanted.dtype = g.type(node.out(0)).dtype;
    if (wanted != g.type(node.out(0))) continue;
    if (node.attrs.given().size() < 2) continue;
    Builder b(g, ops);
    b.insert_before(n);
    b.set_loc(node.loc);
    b.set_tag(node.tag);
    const ValueId made =
        b.call1("_to_copy", {node.inputs[0]}, {{"dtype", AttrValue(wanted.dtype)}});
    CLEAVE_CHECK(b.status());
    g.replace_uses(node.out(0), made);
    const std::string name = g.name(node.out(0));
    g.erase(n);
    CLEAVE_CHECK(g.rename(made, name));
  }
  return {};
}

Result<Graph> normalised(Graph g, const OpRegistry& ops) {
  drop_copies(g);
  CLEAVE_CHECK(reduce_conversions(g, ops));
  CLEAVE_CHECK(rewrite_subgraphs(g, [&](Graph& sub) -> Result<bool> {
    const int64_t before = sub.edits();
    drop_copies(sub);
    CLEAVE_CHECK(reduce_conversions(sub, ops));
    return sub.edits() != before;
  }));
  eliminate_dead_code(g);
  CLEAVE_CHECK(verify(g));
  return g;
}

}  // namespace

GraphCompiler script(CompileOptions options) {
  options.freeze = true;
  return [options = std::move(options)](const TracedGraph& graph, const HostTensors& examples) {
    const auto& [g, ops] = graph.state();
    auto function = std::make_shared<GraphFunction>(value_or_throw(normalised(g, ops.registry())),
                                                    ops, options);
    HostTensors warm = examples;
    value_or_throw(function->run(std::move(warm)));
    return callable_of(std::move(function));
  };
}

GraphCompiler simple_script(CompileOptions options) {
  options.freeze = true;
  return native(std::move(options));
}

}  // namespace cleave
