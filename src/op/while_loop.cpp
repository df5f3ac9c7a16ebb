// while_loop(operands; condition, body) -> y...    x = operands; while (condition(x, w))
//                                                  x = body(x, w); y = x
//   operands   any tensors: the carried values x, as many as body returns, then values w that each
//              iteration reads
//   condition  a graph that returns (C1) one bool of one element
//   body       a graph that returns the next values of x: (C4) at least one, at most as many as
//              operands, of their types
//   both       (C2) one placeholder for each operand, (C3) of its type, (C4) only results; (C5)
//              symints are the caller's of the same name; (C6) the state of each random call
//              depends on a carried value, for example rng_fold(state, counter); otherwise every
//              iteration would draw the same numbers
//
// If the condition is false initially, no iteration runs. PyTorch calls the graphs cond_fn and
// body_fn, and passes w as a separate list, additional_inputs. Non-terminating loops are not
// detected.
#include <set>

#include "ir/subgraph.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/subgraph_rules.h"

namespace cleave {

std::vector<Sample> while_loop_samples();
std::vector<Reject> while_loop_rejects();

namespace {

// With nested graphs that are each referred to twice, the number of call paths doubles at each
// level; this bounds the (graph, varying operands) pairs that are searched.
constexpr size_t max_ways = 4096;

// Finds a random call whose state doesn't depend on values that change from iteration to iteration.
class DrawSearch {
 public:
  // `varies` has this property for each parameter of g. Returns text that names the call, or "".
  std::string search(const Graph& g, const std::vector<bool>& varies) {
    if (seen_.size() == max_ways || !seen_.emplace(&g, varies).second) return "";
    std::vector<bool> changes(g.value_capacity());
    const Values parameters = parameters_of(g);
    for (size_t k = 0; k < parameters.size(); ++k) changes[parameters[k].v] = varies[k];
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      const Node& node = g.node(n);
      bool any = false;
      for (ValueId v : node.inputs) any = any || (v.valid() && changes[v.v]);
      for (uint32_t k = 0; k < node.output_count; ++k) changes[node.out(k).v] = any;
      if (std::string found = in_node(g, n, changes); !found.empty()) return found;
    }
    return "";
  }

  bool is_complete() const { return seen_.size() < max_ways; }

 private:
  std::string in_node(const Graph& g, NodeId n, const std::vector<bool>& changes) {
    const Node& node = g.node(n);
    const Schema& schema = node.op->schema;
    if (has(node.op->traits, Trait::random)) {
      const OpView op = g.view(n);
      for (int k = 0; k < op.operand_count(); ++k)
        if (schema.args[schema.operands[k]].name == "rng" && op.has(k) && !changes[op.in(k).v])
          return fmt::format("{} of @{}", node.op->name, g.name());
    }
    for (const auto& [arg, value] : node.attrs.given()) {
      const GraphRef* sub = value.get<GraphRef>();
      if (!sub || !*sub) continue;
      std::vector<bool> varies;
      const OpView op = g.view(n);
      for (int k = 0; k < op.list_size(); ++k) varies.push_back(changes[op.list_in(k).v]);
      if (varies.size() != parameters_of(**sub).size()) continue;  // another call form
      if (std::string found = search(**sub, varies); !found.empty()) return found;
    }
    return "";
  }

  std::set<std::pair<const Graph*, std::vector<bool>>> seen_;
};

Status check_draws(const OpView& op, size_t carried) {
  std::vector<bool> varies(static_cast<size_t>(op.list_size()));
  std::fill_n(varies.begin(), carried, true);
  DrawSearch draws;
  for (const char* attr : {"condition", "body"})
    if (std::string found = draws.search(*op.graph_attr(attr), varies); !found.empty())
      return op.broken("C6",
                       "{} draws the same numbers in each iteration, expected a state that depends "
                       "on a carried value, such as rng_fold(state, counter)",
                       found);
  if (!draws.is_complete())
    return op.broken("C6", "its graphs call others in more than {} ways", max_ways);
  return {};
}

Result<Types> infer(const OpView& op) {
  const std::vector<const Type*> operands = list_types(op);
  for (const char* attr : {"condition", "body"}) CLEAVE_CHECK(check_subgraph(op, attr, operands));
  const Types flag = result_types(*op.graph_attr("condition"));
  if (flag.size() != 1 || !is_flag(op, flag[0]))
    return op.broken("C1", "condition returns {}{}, expected one bool of one element",
                     flag[0].text(), flag.size() > 1 ? " and more" : "");
  Types carried = result_types(*op.graph_attr("body"));
  if (carried.size() > operands.size())
    return op.broken("C4", "body returns {} results for {} operands", carried.size(),
                     operands.size());
  for (size_t k = 0; k < carried.size(); ++k)
    if (!is_same_type(op, carried[k], *operands[k]))
      return op.broken("C4", "result {} of body is {}, expected that of its operand: {}", k,
                       carried[k].text(), operands[k]->text());
  CLEAVE_CHECK(check_draws(op, carried.size()));
  return carried;
}

Result<Arrays> reference(const RunView& op, std::span<const Array* const> in) {
  const GraphRef condition = op.graph_attr("condition"), body = op.graph_attr("body");
  std::vector<const Array*> operands(in.begin(), in.end());
  Arrays carried;
  for (size_t k = 0; k < body->returns().size(); ++k) carried.push_back(*in[k]);
  for (;;) {
    for (size_t k = 0; k < carried.size(); ++k) operands[k] = &carried[k];
    CLEAVE_TRY(const Arrays flag, op.run(*condition, operands));
    if (flag[0].i[0] == 0) return carried;
    CLEAVE_TRY(carried, op.run(*body, operands));
  }
}

}  // namespace

CLEAVE_OPS(while_loop) {
  return {OpDef{
      .name = "while_loop",
      .signature = "(Graph condition, Graph body, Tensor[] operands) -> Tensor[]",
      .summary = "A graph run again and again on its own results, as long as another one says so.",
      .source = "torch.ops.higher_order.while_loop, PyTorch 2.13",
      .traits = Trait::compute_intensive,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"control flow is a primitive"},
      .grad = Absent{"it would keep values of as many iterations as run, a number that isn't known "
                     "ahead; write a loop of known length as its iterations"},
      .lower = loop::repeat(),
      .cost = [](const OpView& op) -> Cost {  // per iteration
        const Cost test = cost_of_graph(*op.graph_attr("condition"));
        const Cost body = cost_of_graph(*op.graph_attr("body"));
        return {test.flops + body.flops, test.bytes + body.bytes};
      },
      .samples = while_loop_samples,
      .rejects = while_loop_rejects,
  }};
}

}  // namespace cleave
