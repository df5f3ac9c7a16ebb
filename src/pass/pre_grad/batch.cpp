#include "pass/pre_grad/batch.h"

#include "ir/edit.h"
#include "pass/call_order.h"

namespace cleave {
namespace {

Status merge(Graph& graph, const OpRegistry& ops, const BatchKind& kind, const CallGroup& group) {
  std::vector<OpView> calls;
  for (const NodeId n : group) calls.push_back(graph.view(n));
  const Node& first = graph.node(group[0]);
  Builder b(graph, ops);
  b.insert_before(group[0]);
  b.set_loc(first.loc);
  b.set_tag(first.tag);
  const Values values = kind.build(b, calls);
  CLEAVE_CHECK(b.status());
  for (size_t k = 0; k < group.size(); ++k) {
    const ValueId old = graph.node(group[k]).out(0);
    const std::string name = graph.name(old);
    graph.replace_uses(old, values[k]);
    graph.erase(group[k]);
    CLEAVE_CHECK(graph.rename(values[k], name));
  }
  return {};
}

Result<PassCount> batch_calls(Graph& graph, const OpRegistry& ops, const BatchKind& kind,
                              const std::vector<PassSetting>& settings) {
  PassCount count;
  if (has_effect(graph)) return count;
  for (auto groups = call_groups(graph, kind.key, settings); !groups.empty();
       groups = call_groups(graph, kind.key, settings)) {
    for (const CallGroup& group : groups) {
      CLEAVE_CHECK(merge(graph, ops, kind, group));
      ++count.matches;
      count.nodes += std::ssize(group);
    }
    CLEAVE_CHECK(sort_topologically(graph));
  }
  return count;
}

}  // namespace

Pass batch_pass(std::string name, std::string summary, BatchKind kind, bool rounds) {
  Pass pass{.name = std::move(name), .summary = std::move(summary), .rounds = rounds};
  pass.settings = group_settings();
  pass.make_run = [kind = std::move(kind)](const std::vector<PassSetting>& settings) -> Pass::Run {
    return [kind, settings](Graph& g, const OpRegistry& ops) {
      return batch_calls(g, ops, kind, settings);
    };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

std::string type_key(const OpView& call, int k) { return call.in_type(k).text(); }

ValueId stacked(Builder& b, const std::vector<OpView>& calls, int k) {
  Values values;
  for (const OpView& call : calls) values.push_back(call.in(k));
  return b.call1("stack", {values}, {{"dim", 0}});
}

Values unstacked(Builder& b, ValueId batch) { return b.call("unbind", {batch}, {{"dim", 0}}); }

}  // namespace cleave
