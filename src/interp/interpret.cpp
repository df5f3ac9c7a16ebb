#include "interp/interpret.h"

#include "interp/graph_run.h"

namespace cleave {
namespace {

constexpr int64_t max_elements = int64_t{1} << 36;  // half a TiB: more than any machine has here

Result<Arrays> run_subgraph(const Graph& g, std::span<const Array* const> operands);

// The unrounded results.
Result<Arrays> computed(const Graph& g, NodeId n, std::span<const Array* const> operands) {
  const Node& node = g.node(n);
  if (!node.op->reference.present())
    return at_line(
        g, n,
        unsupported("{}: has no reference rule: {}", node.op->name, node.op->reference.reason()));
  for (const Type& t : g.output_types(n))
    if (!t.is_none && t.is_static() && numel_of(static_shape(t)) > max_elements)
      return at_line(g, n,
                     user_error("{}: a result is {}: more than 2^36 elements, expected fewer for "
                                "the reference engine",
                                node.op->name, t.text()));
  return settled(g, n, (*node.op->reference)(RunView(g.view(n), run_subgraph), operands));
}

Result<Arrays> finished(GraphRun run, Results which) {
  for (size_t k = 0; k < run.size(); ++k) {
    CLEAVE_TRY(Arrays results, computed(run.graph(), run.node(k), run.operands(k)));
    run.store(k, std::move(results));
  }
  return run.results(which);
}

Result<Arrays> run_subgraph(const Graph& g, std::span<const Array* const> operands) {
  CLEAVE_TRY(GraphRun run, GraphRun::start_subgraph(g, operands));
  return finished(std::move(run), Results::computed);
}

}  // namespace

Result<Arrays> run_node(const Graph& g, NodeId n, std::span<const Array* const> operands) {
  CLEAVE_TRY(Arrays results, computed(g, n, operands));
  for (Array& a : results) round_halves(a);
  return results;
}

Result<Arrays> interpret(const Graph& g, std::span<const Array* const> inputs, Results results) {
  CLEAVE_TRY(GraphRun run, GraphRun::start(g, inputs));
  return finished(std::move(run), results);
}

Result<Arrays> interpret(const Graph& g, std::span<const Array* const> inputs) {
  return interpret(g, inputs, Results::stored);
}

Result<Arrays> interpret(const Graph& g, const std::map<std::string, Array>& inputs) {
  CLEAVE_TRY(const std::vector<const Array*> in, by_placeholder(g, inputs));
  return interpret(g, in);
}

}  // namespace cleave
