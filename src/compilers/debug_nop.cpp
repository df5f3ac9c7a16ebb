#include <fmt/ranges.h>

#include "compilers/compilers.h"
#include "interp/moved_oracle.h"
#include "ir/edit.h"
#include "ir/strides.h"
#include "ir/text.h"

namespace cleave {
namespace {

bool lies_as(const HostTensor& t, const Type& type) {
  const std::vector<int64_t> wanted = strides_of(type);
  for (size_t d = 0; d < wanted.size() && t.numel() > 0; ++d)
    if (t.shape()[d] != 1 && t.stride(static_cast<int64_t>(d)) != wanted[d]) return false;
  return true;
}

// One run of a graph, call by call.
class DebugRun {
 public:
  DebugRun(const TracedGraph& graph, const GraphCompiler& calls, HostTensors&& inputs)
      : ops_(graph.state().ops), calls_(calls) {
    const Graph& g = graph.state().graph;
    const SymbolValues symbols = value_or_throw(symbols_of(g, inputs));
    graph_ = is_static(g) ? g : value_or_throw(specialize(g, symbols));
    for (const auto& [name, value] : symbols)
      where_ += fmt::format("{}{}: {}", where_.empty() ? " where {" : ", ", name, value);
    if (!where_.empty()) where_ += "}";
    values_.resize(graph_.value_capacity());
    for (size_t k = 0; k < inputs.size(); ++k)
      values_[graph_.placeholders()[k].value.v] = std::move(inputs[k]);
    inputs.clear();
  }

  HostTensors run() {
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) run_call(n);
    HostTensors out;
    for (const Return& r : graph_.returns()) out.push_back(values_[r.value.v]);
    return out;
  }

 private:
  void run_call(NodeId n) {
    const Node& node = graph_.node(n);
    Values operands, results;
    for (const ValueId v : node.inputs)
      if (v.valid() && std::ranges::find(operands, v) == operands.end()) operands.push_back(v);
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (!graph_.type(node.out(k)).is_none) results.push_back(node.out(k));
    if (results.empty()) return;
    Graph call = value_or_throw(
        extract_subgraph(graph_, graph_.name(results[0]), operands, results, Role::input));
    HostTensors given;
    for (const Placeholder& p : call.placeholders())
      given.push_back(values_[graph_.find(call.name(p.value)).v]);
    Arrays arrays;
    for (const HostTensor& t : given) arrays.push_back(array_of(t));
    const TracedGraph alone = traced_graph(call, ops_);
    const GraphCallable callable = calls_(alone, given);
    if (!callable)
      throw_failure(
          user_error("debug_nop: the compiler returned no callable for @{}", call.name()));
    HostTensors got = callable(std::move(given));
    check(n, call, arrays, results, got);
    for (size_t k = 0; k < results.size(); ++k) values_[results[k].v] = std::move(got[k]);
  }

  [[noreturn]] void fail(NodeId n, const std::string& what) const {
    throw_failure(bug("@{}: {}\n  {}", graph_.name(), what, print_node(graph_, n)));
  }

  std::string output_text(NodeId n, ValueId v) const {
    const Node& node = graph_.node(n);
    return fmt::format("output {} of %{}{}", v.v - node.first_output.v, graph_.name(node.out(0)),
                       where_);
  }

  void check(NodeId n, const Graph& call, const Arrays& operands, const Values& results,
             const HostTensors& got) const {
    if (got.size() != results.size())
      fail(n, fmt::format("%{}{}: {} results, expected {}", graph_.name(results[0]), where_,
                          got.size(), results.size()));
    Arrays arrays;
    for (size_t k = 0; k < got.size(); ++k) {
      const Type& type = graph_.type(results[k]);
      if (got[k].dtype() != type.dtype || got[k].shape() != static_shape(type))
        fail(n, fmt::format("{}: {}, expected {}", output_text(n, results[k]), got[k].type_text(),
                            type.text()));
      if (!lies_as(got[k], type))
        fail(n, fmt::format("{}: strides [{}], expected [{}]", output_text(n, results[k]),
                            fmt::join(got[k].strides(), ","), fmt::join(strides_of(type), ",")));
      arrays.push_back(array_of(got[k]));
    }
    const Agreement agreement = value_or_throw(compare_with_oracle(call, operands, arrays));
    if (agreement.difference.empty()) return;
    fail(n, fmt::format("{}: {}", output_text(n, results[agreement.at]), agreement.difference));
  }

  const Operators ops_;
  const GraphCompiler& calls_;
  Graph graph_;
  std::string where_;
  HostTensors values_;  // by value
};

}  // namespace

GraphCompiler debug_nop(GraphCompiler calls) {
  require_compiler(calls, "debug_nop");
  return [calls = std::move(calls)](const TracedGraph& graph, const HostTensors&) {
    return [graph, calls](HostTensors&& inputs) {
      return DebugRun(graph, calls, std::move(inputs)).run();
    };
  };
}

}  // namespace cleave
