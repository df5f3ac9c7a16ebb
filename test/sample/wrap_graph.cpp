#include "test/sample/wrap_graph.h"

#include "ir/builder.h"
#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave::test {
namespace {

using Map = std::unordered_map<uint32_t, ValueId>;

Status add_placeholder(const Graph& from, const Placeholder& p, Graph& to, Map& map) {
  CLEAVE_TRY(const ValueId v, to.add_placeholder(p.role, from.name(p.value), from.type(p.value),
                                                 p.wants_grad, p.sym));
  map[p.value.v] = v;
  return {};
}

Status add_placeholders(const Graph& from, Graph& to, Map& map) {
  for (const Placeholder& p : from.placeholders()) CLEAVE_CHECK(add_placeholder(from, p, to, map));
  return {};
}

// The placeholders that correspond to operands, in `to`.
Values operands_of(const Graph& from, const Map& map) {
  Values out;
  for (const ValueId v : parameters_of(from)) out.push_back(map.at(v.v));
  return out;
}

void return_results(Graph& g, const Values& values) {
  std::vector<Return> returns;
  for (const ValueId v : values) returns.push_back({v});
  g.set_returns(std::move(returns));
}

}  // namespace

Result<Graph> in_cond(const Graph& g, const OpRegistry& ops) {
  auto inner = std::make_shared<Graph>(g);
  inner->set_name("inner");
  Values results;
  for (const Return& r : g.returns()) results.push_back(r.value);
  return_results(*inner, results);

  Graph out("main");
  Map map;
  CLEAVE_TRY(const ValueId pred,
             out.add_placeholder(Role::input, "wrap.pred", Type(DType::boolean, {})));
  CLEAVE_CHECK(add_placeholders(g, out, map));
  Builder b(out, ops);
  const AttrValue body{GraphRef(inner)};
  const Values made = b.call("cond", {pred, CallOperand(operands_of(g, map))},
                             {{"then", body}, {"otherwise", body}});
  CLEAVE_CHECK(b.status());
  return_results(out, made);
  return out;
}

namespace {

// The condition and the body of a loop, and main have the same placeholders.
struct LoopPart {
  explicit LoopPart(const std::string& name) : graph(name) {}
  Graph graph;
  Map map = {};
  Values operands = {};  // go, the carried results and random numbers, stop, the rest
  Values next = {};      // of go and of random numbers
};

bool is_random(const Placeholder& p) { return p.role == Role::rng_state; }

Status add_operand(LoopPart& part, Role role, const std::string& name, const Type& type) {
  CLEAVE_TRY(const ValueId v, part.graph.add_placeholder(role, name, type));
  part.operands.push_back(v);
  return {};
}

Status declare(const Graph& g, LoopPart& part) {
  const auto add_all = [&](bool (*wanted)(const Placeholder&)) -> Status {
    for (const Placeholder& p : g.placeholders()) {
      if (!wanted(p)) continue;
      CLEAVE_CHECK(add_placeholder(g, p, part.graph, part.map));
      if (p.role != Role::symint) part.operands.push_back(part.map.at(p.value.v));
    }
    return {};
  };
  CLEAVE_CHECK(add_all([](const Placeholder& p) { return p.role == Role::symint; }));
  const Type flag(DType::boolean, {});
  CLEAVE_CHECK(add_operand(part, Role::input, "wrap.go", flag));
  const Types carried = result_types(g);
  for (size_t k = 0; k < carried.size(); ++k)
    CLEAVE_CHECK(add_operand(part, Role::input, fmt::format("wrap.c{}", k), carried[k]));
  CLEAVE_CHECK(add_all(is_random));
  CLEAVE_CHECK(add_operand(part, Role::input, "wrap.stop", flag));
  part.next = {part.operands.back()};
  for (const Placeholder& p : g.placeholders()) {
    if (!is_random(p)) continue;
    CLEAVE_CHECK(add_operand(part, Role::rng_state, "wrap." + g.name(p.value), g.type(p.value)));
    part.next.push_back(part.operands.back());
  }
  return add_all([](const Placeholder& p) { return p.role != Role::symint && !is_random(p); });
}

}  // namespace

// The body has the graph's calls and no other: passes that order calls see nothing else.
Result<Graph> in_loop(const Graph& g, const OpRegistry& ops) {
  LoopPart condition("condition"), inner("inner"), main("main");
  for (LoopPart* part : {&condition, &inner, &main}) CLEAVE_CHECK(declare(g, *part));
  return_results(condition.graph, {condition.operands[0]});

  CLEAVE_CHECK(copy_nodes(g, g.order(), inner.graph, inner.map));
  Values next = {inner.next[0]};
  for (const Return& r : g.returns()) next.push_back(inner.map.at(r.value.v));
  next.insert(next.end(), inner.next.begin() + 1, inner.next.end());
  return_results(inner.graph, next);

  Builder b(main.graph, ops);
  const Values made =
      b.call("while_loop", {CallOperand(main.operands)},
             {{"condition", AttrValue(std::make_shared<const Graph>(std::move(condition.graph)))},
              {"body", AttrValue(std::make_shared<const Graph>(std::move(inner.graph)))}});
  CLEAVE_CHECK(b.status());
  return_results(main.graph, made);
  return std::move(main.graph);
}

}  // namespace cleave::test
