// Replaces spelled-out attention in a joint graph, forward and backward, by the calls of attention
// and of its gradient.
//
//   a forward as recognized by pass/attention_reader.h, and the backward that differentiation gives
//     ->    scaled_dot_product_attention and the result of its gradient rule
//
// The backward isn't written as a pattern: the recognized forward is extracted as a graph of its
// own; it and its replacement are differentiated, and the two joint graphs form the rule. Equal
// layers have equal graphs, so they share a rule. Where a mask is added there is a second rule,
// with the mask's gradient; it fits where the scores' gradient has another reader, which the first
// refuses. NaN of entirely masked rows become zeros.
#include <algorithm>
#include <set>

#include "grad/grad.h"
#include "ir/edit.h"
#include "ir/text.h"
#include "pass/attention_reader.h"
#include "pass/passes.h"
#include "rewrite/graph_rule.h"
#include "rewrite/rule_set.h"

namespace cleave {
namespace {

enum class Masks : uint8_t { given, trained };

bool adds(const AttentionMask& m) { return !m.fill; }

// Extracts the forward without the program's names and sources: equal layers give equal graphs.
Result<Graph> forward_alone(const Graph& g, const SpelledAttention& a, Masks masks) {
  Values inputs;
  const auto take = [&](ValueId v) {
    if (v.valid() && std::ranges::find(inputs, v) == inputs.end()) inputs.push_back(v);
  };
  for (const ValueId v : {a.query, a.key, a.value}) take(v);
  Values trained = inputs;
  for (const AttentionMask& m : a.masks) {
    take(m.value);
    if (masks == Masks::trained && adds(m)) trained.push_back(m.value);
  }
  take(a.rng);
  CLEAVE_TRY(Graph alone, extract_subgraph(g, "search", inputs, {a.out}, Role::input));
  for (size_t i = 0; i < alone.placeholders().size(); ++i) {
    Placeholder& p = alone.placeholder(i);
    if (p.role != Role::rng_state) p.role = Role::input;
    p.wants_grad = std::ranges::find(trained, inputs[i]) != trained.end();
    CLEAVE_CHECK(alone.rename(p.value, fmt::format("operand.{}", i)));
  }
  int64_t number = 0;
  for (const NodeId n : alone.order()) {
    alone.set_loc(n, {});
    alone.set_tag(n, {});
    for (uint32_t k = 0; k < alone.node(n).output_count; ++k)
      CLEAVE_CHECK(alone.rename(alone.node(n).out(k), fmt::format("value.{}", number++)));
  }
  return alone;
}

Result<Graph> replacement_of(const Graph& alone, const OpRegistry& ops) {
  Graph out("replace");
  std::unordered_map<uint32_t, ValueId> map;
  for (const Placeholder& p : alone.placeholders()) {
    CLEAVE_TRY(map[p.value.v], out.add_placeholder(p.role, alone.name(p.value), alone.type(p.value),
                                                   p.wants_grad, p.sym));
  }
  const NodeId last = alone.value(alone.returns()[0].value).def;
  std::optional<SpelledAttention> a = read_attention(alone, last);
  if (!a) return bug("attention is not read again");
  a->query = map.at(a->query.v);
  a->key = map.at(a->key.v);
  a->value = map.at(a->value.v);
  for (AttentionMask& m : a->masks) {
    if (!map.contains(m.value.v)) return bug("a mask is made inside");
    m.value = map.at(m.value.v);
  }
  if (a->rng.valid()) a->rng = map.at(a->rng.v);
  Builder b(out, ops);
  const ValueId y = write_attention(b, *a, alone.type(a->out).shape);
  CLEAVE_CHECK(b.status());
  out.add_return({y, ReturnKind::result, {}});
  return out;
}

// One rule for each kind of attention in the graph.
Result<std::vector<Rule>> rules_for(const Graph& g, const OpRegistry& ops) {
  std::vector<Rule> rules;
  std::set<std::string> seen;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const std::optional<SpelledAttention> a = read_attention(g, n, OtherReaders::any);
    if (!a) continue;
    for (const Masks masks : {Masks::given, Masks::trained}) {
      if (masks == Masks::trained && std::ranges::none_of(a->masks, adds)) continue;
      Result<Graph> alone = forward_alone(g, *a, masks);
      if (!alone.ok() || !seen.insert(print(*alone)).second) continue;
      Result<Graph> other = replacement_of(*alone, ops);
      if (!other.ok()) continue;
      Result<Rule> rule = rule_of(
          {fmt::format("attention {}", rules.size()),
           *std::move(alone),
           *std::move(other),
           {.derive = [&ops](const Graph& f) { return make_joint(f, ops); }, .rounds = true}});
      if (rule.ok()) rules.push_back(*std::move(rule));
    }
  }
  return rules;
}

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  PassCount count;
  if (!g.is_joint()) return count;
  CLEAVE_TRY(std::vector<Rule> rules, rules_for(g, ops));
  if (rules.empty()) return count;
  CLEAVE_TRY(const RuleSet set, RuleSet::make(std::move(rules), ops));
  CLEAVE_TRY(const std::vector<RuleCount> counts, set.apply(g, ops));
  for (const RuleCount& c : counts) {
    count.matches += c.matches;
    count.nodes += c.nodes;
  }
  return count;
}

}  // namespace

Pass fuse_attention_joint() {
  return {.name = "fuse_attention_joint",
          .summary = "spelled attention and its backward become calls",
          .run = run,
          .rounds = true,
          .assumes_open_rows = true};
}

}  // namespace cleave
