// call(operands; graph, tag) -> y...      y = graph(operands)
//
//   operands   any tensors, the inputs of the graph
//   graph      (C2) one placeholder for each operand, (C3) of its type, strides aside, that (C4)
//              returns results alone, at least one; (C5) its symints are the caller's of the same
//              name
//   tag        names the region for reports; means nothing
//
// A region of a program that is lowered in parts (doc/decisions/033). Where the whole is lowered,
// the calls of the graph take its place, at most 2^20 of them: graphs that call each other twice
// grow fast. The gradient is a call whose graph recomputes its forward from the operands
// (branch_gradient.h), which what must run once doesn't allow.
// Source: call_module of torch.fx, as torch/distributed/_spmd/partial_lower.py makes them, 2.4.
#include <algorithm>
#include <functional>
#include <map>

#include "ir/edit.h"
#include "ir/subgraph.h"
#include "op/branch_gradient.h"
#include "op/entry.h"
#include "op/sample_sets.h"
#include "op/subgraph_rules.h"

namespace cleave {
namespace {

Result<Types> infer(const OpView& op) {
  const std::vector<const Type*> operands = list_types(op);
  CLEAVE_CHECK(check_subgraph(op, "graph", operands, SubgraphStrides::any));
  Types out;
  const Graph& g = *op.graph_attr("graph");
  for (const Return& r : g.returns()) out.push_back(g.type(r.value));
  return out;
}

constexpr int64_t most_calls = int64_t{1} << 20;

// The calls that stand in the place of a call of g, at most most_calls + 1.
int64_t inlined_calls(const Graph& g, std::map<const Graph*, int64_t>& known) {
  if (const auto at = known.find(&g); at != known.end()) return at->second;
  int64_t count = 0;
  for (NodeId n = g.first_node(); n.valid() && count <= most_calls; n = g.next_node(n)) {
    const OpView op = g.view(n);
    count += op.name() == "call" ? inlined_calls(*op.graph_attr("graph"), known) : 1;
  }
  return known[&g] = std::min(count, most_calls + 1);
}

bool has_call_that_runs_once(const Graph& g) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (runs_once(traits_of(g.node(n)))) return true;
  return false;
}

// The calls of the graph, in the place of this one.
Values decompose(Builder& b, const OpView& op) {
  const Graph& g = *op.graph_attr("graph");
  if (std::map<const Graph*, int64_t> known; inlined_calls(g, known) > most_calls) {
    b.fail(
        unsupported("call: @{} stands for more than {} calls, each counted as often as it would "
                    "run (src/op/call.cpp)",
                    g.name(), most_calls));
    return Values(g.returns().size());
  }
  std::unordered_map<uint32_t, ValueId> map;
  const Values parameters = parameters_of(g);
  for (size_t k = 0; k < parameters.size(); ++k)
    map[parameters[k].v] = op.list_in(static_cast<int>(k));
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint) map[p.value.v] = b.graph().find(g.name(p.value));
  if (Status s = copy_nodes(g, g.order(), b.graph(), map, b.position()); !s.ok()) {
    b.fail(std::move(s).failure());
    return Values(g.returns().size());
  }
  Values out;
  for (const Return& r : g.returns()) out.push_back(map.at(r.value.v));
  return out;
}

Result<Values> backward(Builder& b, const GradView& op) {
  Values out = op.no_grads();
  if (has_call_that_runs_once(*op.graph_attr("graph")))
    return unsupported(
        "call: the gradient of @{} would repeat its effects and collectives "
        "(src/op/call.cpp)",
        op.graph_attr("graph")->name());
  BranchQuestion question;
  for (int k = 0; k < op.out_count(); ++k) question.cotangents.push_back(op.dout(k).valid());
  for (int k = 0; k < op.list_size(); ++k)
    question.wanted.push_back(op.list_needs(k) && is_floating(op.list_type(k).dtype));
  CLEAVE_TRY(BranchGradient made,
             BranchGradient::make(b.ops(), op, op.graph_attr("graph"), question));
  const std::vector<bool> kept = made.reached();
  if (std::ranges::none_of(kept, std::identity())) return out;
  CLEAVE_CHECK(made.finish(kept));
  const std::vector<bool> read = made.reads();
  Values operands, handed;
  for (int k = 0; k < op.list_size(); ++k) operands.push_back(op.list_in(k));
  for (int k = 0; k < op.out_count(); ++k)
    if (op.dout(k).valid()) operands.push_back(op.dout(k));
  for (size_t k = 0; k < operands.size(); ++k)
    if (read[k]) handed.push_back(operands[k]);
  const Values grads =
      b.call("call", {CallOperand(handed)}, {{"graph", made.of(read)}, {"tag", op.attr("tag")}});
  CLEAVE_CHECK(b.status());
  const auto first = static_cast<size_t>(op.flat(0));
  for (size_t k = 0, next = 0; k < kept.size(); ++k)
    if (kept[k]) out[first + k] = grads[next++];
  return out;
}

Sample call(std::vector<SampleTensor> operands, std::string graph) {
  return {{std::move(operands)}, {{"graph", std::move(graph)}, {"tag", "part"}}};
}

std::vector<Sample> of_dtypes() {
  std::vector<Sample> out;
  for (const DType t : all_dtypes) {
    const bool number = t != DType::boolean;
    const std::string head =
        fmt::format("%a: input {}[2,3], %b: input {}[3]", name_of(t), name_of(t));
    out.push_back(call({any_of(t, {2, 3}), any_of(t, {3})},
                       graph_text(head,
                                  {number ? "%r = mul(%a, %b)" : "%r = logical_and(%a, %b)",
                                   number ? "%s = add(%r, %b)" : "%s = logical_or(%r, %b)"},
                                  "%r, %s")));
  }
  return out;
}

std::vector<Sample> samples() {
  const std::string two = "%a: input f32[2,3], %b: input f32[2,3]";
  const std::string product = "%x: input f32[5,3], %w: input f32[3,4]";
  const std::string rows = "%w: input f32[6,2], %i: input i64[4]";
  const std::string drops = "%x: input f32[4,5], %rng: rng_state i64[2]";
  const std::string nested =
      "graph @inner(%a: input f32[3]) {\n  %r = exp(%a)\n  return %r\n}\n"
      "graph @g(%a: input f32[3]) {\n  %q = call([%a]; graph=@inner)\n  %r = mul(%q, %a)\n"
      "  return %r\n}\n";
  SampleTensor rows_of_s0 = f32({1});
  rows_of_s0.type.shape = {Dim::symbol("s0")};
  return joined(
      {of_dtypes(),
       {call({f32({2, 3}), f32({2, 3})}, graph_text(two, {}, "%b, %a")),
        call({f32({2, 3}), f32({2, 3})}, graph_text(two, {"%r = tanh(%a)"}, "%r, %r, %b")),
        call(
            {f32({5, 3}), f32({3, 4})},
            graph_text(product,
                       {"%y = mm(%x, %w)", "%r = _softmax(%y; dim=1, half_to_float=false)"}, "%r")),
        call({f32({0, 3})}, graph_text("%a: input f32[0,3]", {"%r = sin(%a)"}, "%r")),
        call({f32({})}, graph_text("%a: input f32[]", {"%r = sin(%a)"}, "%r")),
        call({}, graph_text("", {"%r = full(size=[3], fill_value=1.5)"}, "%r")),
        call({f32({3, 4})}, graph_text("%a: input f32[3,4]",
                                       {"%e = exp(%a)", "%v = view(%e; size=[2,6])",
                                        "%r = permute(%v; dims=[1,0])"},
                                       "%r, %e")),
        call({f32({6, 2}), i64({4}).range(0, 6)},
             graph_text(rows, {"%r = embedding(%w, %i)"}, "%r")),
        call({f32({4, 5}), i64({2}).with({42, 7})},
             graph_text(drops,
                        {"%d, %m = native_dropout(%x, %rng; p=0.5, train=true, stream=3)",
                         "%r = mul(%d, %x)"},
                        "%r, %m")),
        call({f32({3})}, nested),
        call({rows_of_s0}, graph_text("%s0: symint, %a: input f32[s0]", {"%r = sin(%a)"}, "%r"))}});
}

Rejects rejects() {
  const std::string head = "%a: input f32[3]";
  const std::string plain = graph_text(head, {"%r = sin(%a)"}, "%r");
  const auto reject = [&](const char* rule, std::vector<SampleTensor> operands, std::string graph,
                          const std::string& message) {
    return Reject{rule, call(std::move(operands), std::move(graph)), "call: " + message};
  };
  return {reject("C2", {f32({3}), f32({3})}, plain, "C2: graph takes 1 operands, got 2"),
          reject("C3", {f32({4})}, plain, "C3: %a of graph is f32[3], its operand f32[4]"),
          reject("C4", {f32({3})}, graph_text(head, {}, ""), "C4: graph returns nothing"),
          reject("C4", {f32({3})}, graph_text(head, {"%r = sin(%a)"}, "%r -> %a"),
                 "C4: graph updates or differentiates %a, expected results alone"),
          reject("C5", {f32({3})}, graph_text("%s0: symint, %a: input f32[3]", {}, "%a"),
                 "C5: graph has the symint s0, which the caller doesn't have")};
}

}  // namespace

CLEAVE_OPS(call) {
  return {OpDef{
      .name = "call",
      .signature = "(Graph graph, Tensor[] operands, str tag='') -> Tensor[]",
      .summary = "The results of a graph.",
      .source = "torch.fx's call_module, PyTorch 2.4",
      .traits = Trait::recomputable,
      .infer = infer,
      .reference = [](const RunView& op, std::span<const Array* const> in) -> Result<Arrays> {
        return op.run(*op.graph_attr("graph"), in);
      },
      .decompose = decompose,
      .grad = [](Builder& b, const GradView& op) -> Values {
        Result<Values> grads = backward(b, op);
        if (grads.ok()) return *std::move(grads);
        b.fail(std::move(grads).failure());
        return op.no_grads();
      },
      .lower = loop::by_decomposition(),
      .cost = [](const OpView& op) -> Cost { return cost_of_graph(*op.graph_attr("graph")); },
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
