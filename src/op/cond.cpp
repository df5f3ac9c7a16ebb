// cond(pred, operands; then, otherwise) -> y...      y = then(operands) where pred is true,
//                                                    else otherwise(operands)
//   pred       bool of one element (C1)
//   operands   any tensors, what the graphs read
//   then, otherwise   graphs with (C2) one placeholder for each operand, (C3) of its type, that
//              (C4) return the same types, at least one, and results alone; (C5) their symints are
//              the caller's of the same name
//
// One of the graphs runs: what the other would refuse (an index out of range) is no error. PyTorch
// writes true_fn and false_fn. The gradient is a cond of the same pred whose graphs compute their
// forward again from the operands; random calls in it draw the same numbers.
#include "ir/edit.h"
#include "ir/subgraph.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/subgraph_rules.h"

namespace cleave {

std::vector<Sample> cond_samples();
std::vector<Reject> cond_rejects();

namespace {

constexpr const char* attrs[] = {"then", "otherwise"};

Result<Types> infer(const OpView& op) {
  if (!is_flag(op, op.in_type(0)))
    return op.broken("C1", "pred is {}, expected a bool of one element", op.in_type(0).text());
  const std::vector<const Type*> operands = list_types(op);
  for (const char* attr : attrs) CLEAVE_CHECK(check_subgraph(op, attr, operands));
  Types then = result_types(*op.graph_attr("then"));
  const Types otherwise = result_types(*op.graph_attr("otherwise"));
  if (then.size() != otherwise.size())
    return op.broken("C4", "then returns {} results, otherwise {}", then.size(), otherwise.size());
  for (size_t k = 0; k < then.size(); ++k)
    if (!is_same_type(op, then[k], otherwise[k]))
      return op.broken("C4", "result {} of then is {}, that of otherwise {}", k, then[k].text(),
                       otherwise[k].text());
  return then;
}

// What the gradient of one branch is made of, before operands that none of them reads go.
struct Backward {
  Graph graph;
  Values grads;  // by wanted operand; none where nothing reaches it
};

// The operands of the list whose gradients are asked for.
std::vector<size_t> wanted_operands(const GradView& op) {
  std::vector<size_t> out;
  for (int k = 0; k < op.list_size(); ++k)
    if (op.list_needs(k) && is_floating(op.list_type(k).dtype))
      out.push_back(static_cast<size_t>(k));
  return out;
}

// A copy of the branch, with a tangent behind the operands for each result that has a cotangent.
Result<Backward> differentiated(Builder& b, const GradView& op, const char* attr,
                                const std::string& name, const std::vector<size_t>& wanted) {
  Backward out{*op.graph_attr(attr), {}};
  Graph& g = out.graph;
  g.set_name(name);
  const Values parameters = parameters_of(g);
  Values outputs, tangents, wrt;
  for (int k = 0; k < op.out_count(); ++k) {
    if (!op.dout(k).valid()) continue;
    const ValueId y = g.returns()[static_cast<size_t>(k)].value;
    const Type& type = g.type(y);
    CLEAVE_TRY(const ValueId t,
               g.add_placeholder(Role::tangent, g.fresh_name(fmt::format("tangent.{}", k)),
                                 typed_like(type, type.dtype, type.shape)));
    outputs.push_back(y);
    tangents.push_back(t);
  }
  for (const size_t k : wanted) wrt.push_back(parameters[k]);
  CLEAVE_TRY(out.grads, op.differentiate(g, b.ops(), outputs, tangents, wrt));
  return out;
}

// Returns the gradients of `kept` operands, zeros where nothing reaches one.
Status finish(Builder& b, Backward& branch, const std::vector<size_t>& kept,
              const Values& parameters) {
  Builder inside(branch.graph, b.ops());
  std::vector<Return> returns;
  for (const size_t k : kept) {
    ValueId& grad = branch.grads[k];
    if (!grad.valid()) grad = inside.full_like(parameters[k], 0.0);
    returns.push_back({grad});
  }
  CLEAVE_CHECK(inside.status());
  branch.graph.set_returns(std::move(returns));
  eliminate_dead_code(branch.graph);
  return {};
}

bool is_read(const Graph& g, ValueId v) {
  if (g.use_count(v) > 0) return true;
  for (const Return& r : g.returns())
    if (r.value == v) return true;
  return false;
}

Result<Values> backward(Builder& b, const GradView& op) {
  Values out = op.no_grads();
  const std::vector<size_t> wanted = wanted_operands(op);
  Backward branches[2];
  for (int i = 0; i < 2; ++i) {
    const std::string name = fresh_graph_name(
        b.graph(),
        fmt::format("{}.{}.grad.{}", b.graph().name(), b.graph().name(op.out(0)), attrs[i]));
    CLEAVE_TRY(branches[i], differentiated(b, op, attrs[i], name, wanted));
  }
  std::vector<size_t> kept;  // into wanted
  for (size_t k = 0; k < wanted.size(); ++k)
    if (branches[0].grads[k].valid() || branches[1].grads[k].valid()) kept.push_back(k);
  if (kept.empty()) return out;

  Values operands;
  for (int k = 0; k < op.list_size(); ++k) operands.push_back(op.list_in(k));
  for (int k = 0; k < op.out_count(); ++k)
    if (op.dout(k).valid()) operands.push_back(op.dout(k));
  for (Backward& branch : branches) {
    const Values all = parameters_of(branch.graph);
    Values parameters;
    for (const size_t k : wanted) parameters.push_back(all[k]);
    CLEAVE_CHECK(finish(b, branch, kept, parameters));
  }
  Values handed;
  std::vector<bool> read(operands.size());
  for (const Backward& branch : branches) {
    const Values parameters = parameters_of(branch.graph);
    for (size_t k = 0; k < operands.size(); ++k)
      read[k] = read[k] || is_read(branch.graph, parameters[k]);
  }
  for (size_t k = 0; k < operands.size(); ++k)
    if (read[k]) handed.push_back(operands[k]);
  NamedAttrs graphs;
  for (int i = 0; i < 2; ++i) {
    size_t next = 0;
    branches[i].graph.filter_placeholders(
        [&](const Placeholder& p) { return p.role == Role::symint || read[next++]; });
    graphs.emplace_back(attrs[i],
                        GraphRef(std::make_shared<const Graph>(std::move(branches[i].graph))));
  }
  const Values grads = b.call("cond", {op.in(0), CallOperand(handed)}, std::move(graphs));
  CLEAVE_CHECK(b.status());
  const auto first = static_cast<size_t>(op.flat(1));
  for (size_t i = 0; i < kept.size(); ++i) out[first + wanted[kept[i]]] = grads[i];
  return out;
}

}  // namespace

CLEAVE_OPS(cond) {
  return {OpDef{
      .name = "cond",
      .signature = "(Tensor pred, Graph then, Graph otherwise, Tensor[] operands) -> Tensor[]",
      .summary = "One of two graphs, chosen by a bool when the program runs.",
      .source = "torch.ops.higher_order.cond, PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = infer,
      .reference = [](const RunView& op, std::span<const Array* const> in) -> Result<Arrays> {
        const GraphRef g = op.graph_attr(in[0]->i[0] != 0 ? "then" : "otherwise");
        return op.run(*g, in.subspan(1));
      },
      .decompose = Absent{"control flow is a primitive"},
      .grad = [](Builder& b, const GradView& op) -> Values {
        Result<Values> grads = backward(b, op);
        if (grads.ok()) return *std::move(grads);
        b.fail(std::move(grads).failure());
        return op.no_grads();
      },
      .lower = loop::branch(),
      .cost = [](const OpView& op) -> Cost {
        const Cost then = cost_of_graph(*op.graph_attr("then"));
        const Cost otherwise = cost_of_graph(*op.graph_attr("otherwise"));
        return then.flops > otherwise.flops ? then : otherwise;
      },
      .samples = cond_samples(),
      .rejects = cond_rejects(),
  }};
}

}  // namespace cleave
