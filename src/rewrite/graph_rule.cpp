#include "rewrite/graph_rule.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/text.h"
#include "rewrite/any_attrs.h"

namespace cleave {
namespace {

using Numbers = std::vector<double>;  // in the order of GraphRule::numbers

// Both graphs with the numbers substituted.
struct Instance {
  Graph search, replace;
};

bool is_value(const AttrValue& v, double number) {
  const double* d = v.get<double>();
  return d && *d == number;
}

void put_numbers(Graph& g, const GraphRule& spec, const Numbers& numbers) {
  for (const NodeId n : g.order())
    for (const auto& [arg, value] : std::vector(g.node(n).attrs.given()))
      for (size_t k = 0; k < numbers.size(); ++k)
        if (is_value(value, spec.parts.numbers[k].second))
          g.set_attr(n, arg, AttrValue(numbers[k]));
}

Result<Instance> instance_of(const GraphRule& spec, const Numbers& numbers) {
  Instance made{spec.search, spec.replace};
  put_numbers(made.search, spec, numbers);
  put_numbers(made.replace, spec, numbers);
  if (spec.parts.derive) {
    CLEAVE_TRY(made.search, spec.parts.derive(made.search));
    CLEAVE_TRY(made.replace, spec.parts.derive(made.replace));
  }
  return made;
}

// Returns the symbol if the attribute is exactly one symbol; else an empty string.
std::string lone_symbol(const AttrValue& v) {
  const Dim* d = v.get<Dim>();
  if (!d || d->is_const()) return "";
  std::vector<std::string> symbols;
  d->collect_symbols(symbols);
  return symbols.size() == 1 && *d == Dim::symbol(symbols[0]) ? symbols[0] : "";
}

bool has_symbols(const AttrValue& v) {
  if (const Dim* d = v.get<Dim>()) return !d->is_const();
  const AttrList* list = v.get<AttrList>();
  return list && std::ranges::any_of(*list, has_symbols);
}

std::string number_name(size_t k) { return fmt::format("number {}", k); }
std::string symbol_name(const std::string& s) { return "symbol " + s; }

// Writes as a pattern what two instances with different numbers have in common.
class PatternWriter {
 public:
  PatternWriter(const Graph& g, const Graph& other, const Numbers& a, const Numbers& b,
                const AnyAttrs& any_attrs)
      : g_(g), other_(other), a_(a), b_(b), any_(any_attrs) {}

  std::vector<Pattern> run() {
    for (const Placeholder& p : g_.placeholders()) {
      const Type t = g_.type(p.value);
      made_.emplace(p.value.v, any(g_.name(p.value)).where([t](const Type& actual) {
        return actual.dtype == t.dtype && actual.rank() == t.rank();
      }));
    }
    NodeId o = other_.first_node();
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n), o = other_.next_node(o))
      write(n, other_.node(o));
    std::vector<Pattern> roots;
    for (const Return& r : g_.returns()) roots.push_back(made_.at(r.value.v));
    return roots;
  }

 private:
  AttrTest test_of(const AttrValue& v, const AttrValue& other) const {
    if (!(v == other)) {
      for (size_t k = 0; k < a_.size(); ++k)
        if (is_value(v, a_[k]) && is_value(other, b_[k])) return bind(number_name(k));
      return anything();
    }
    if (const std::string s = lone_symbol(v); !s.empty()) return bind(symbol_name(s));
    return has_symbols(v) ? anything() : AttrTest(v);
  }

  Pattern number_of(const AttrValue& v, const AttrValue& other) const {
    const AttrTest test = test_of(v, other);
    if (test.kind == AttrTest::Kind::binds) return number(test.name);
    if (test.kind == AttrTest::Kind::equals) return number(v.as_double());
    return number("");
  }

  void write(NodeId n, const Node& other) {
    const Node& node = g_.node(n);
    const Schema& schema = node.op->schema;
    std::vector<Pattern> operands;
    int operand = 0;
    const auto operand_at = [&](uint32_t flat) -> Pattern {
      const ValueId v = node.inputs[flat];
      if (v.is_none()) return absent();
      if (v.is_number()) {
        const uint16_t arg = schema.operands[operand];
        return number_of(*node.attrs.find(arg), *other.attrs.find(arg));
      }
      return made_.at(v.v);
    };
    for (uint32_t flat = 0; operand < std::ssize(schema.operands); ++operand) {
      if (operand != schema.list_operand) {
        operands.push_back(operand_at(flat++));
        continue;
      }
      std::vector<Pattern> items;
      for (uint32_t k = 0; k < node.list_size; ++k) items.push_back(operand_at(flat++));
      operands.push_back(list(std::move(items)));
    }
    AttrTests attrs;
    for (const auto& [arg, value] : node.attrs.given()) {
      if (schema.args[arg].is_operand() || any_.has(n, arg)) continue;
      attrs.emplace_back(schema.args[arg].name, test_of(value, *other.attrs.find(arg)));
    }
    for (uint16_t arg = 0; arg < schema.args.size(); ++arg)
      if (any_.has(n, arg)) attrs.emplace_back(schema.args[arg].name, anything());
    Pattern made = call(node.op->name, std::move(operands), std::move(attrs));
    const bool two =
        schema.operands.size() >= 2 && node.inputs[0].valid() && node.inputs[1].valid();
    if ((node.op->name == "add" || node.op->name == "mul") && two) made = made.commutes();
    made = made.named(g_.name(node.out(0)));
    for (uint32_t k = 0; k < node.output_count; ++k)
      made_.emplace(node.out(k).v, node.output_count == 1 ? made : result(made, int(k)));
  }

  const Graph &g_, &other_;
  const Numbers &a_, &b_;
  const AnyAttrs& any_;
  std::unordered_map<uint32_t, Pattern> made_;  // by value
};

using Sizes = std::map<std::string, Dim>;

Dim put_in(const Dim& d, const Sizes& sizes) {
  return d.substitute([&](const std::string& s) {
    const auto it = sizes.find(s);
    return it == sizes.end() ? Dim::symbol(s) : it->second;
  });
}

AttrValue put_in(const AttrValue& v, const Sizes& sizes) {
  if (const Dim* d = v.get<Dim>()) return put_in(*d, sizes);
  const AttrList* list = v.get<AttrList>();
  if (!list) return v;
  AttrList out;
  for (const AttrValue& item : *list) out.push_back(put_in(item, sizes));
  return out;
}

Attrs put_in(const Attrs& attrs, const Sizes& sizes) {
  Attrs out;
  for (const auto& [arg, value] : attrs.given()) out.set(arg, put_in(value, sizes));
  return out;
}

// The state of one rule: instances by their numbers, created when first needed.
class GraphRuleState {
 public:
  explicit GraphRuleState(GraphRule spec) : spec_(std::move(spec)) {}

  Result<std::vector<Pattern>> search() {
    Numbers a, b;
    for (const auto& [name, number] : spec_.parts.numbers) {
      a.push_back(number);
      b.push_back(number * 1.25 + 0.0078125);
    }
    CLEAVE_TRY(const Instance first, instance_of(spec_, a));
    CLEAVE_TRY(const Instance second, instance_of(spec_, b));
    CLEAVE_CHECK(check(first));
    CLEAVE_TRY(any_, AnyAttrs::of(first.search, spec_.parts.any));
    return PatternWriter(first.search, second.search, a, b, any_).run();
  }

  bool fits(const Match& m) {
    const Instance* made = instance(m);
    Sizes sizes;
    if (!made || !bind_sizes(made->search, m, sizes)) return false;
    const Graph& g = made->search;
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      const Node& node = g.node(n);
      const Node& actual = m.graph().node(m.node(g.name(node.out(0))));
      if (!any_.fit(n, put_in(node.attrs, sizes), actual.attrs)) return false;
      for (uint32_t k = 0; k < node.output_count && !any_.types_vary(n); ++k)
        if (!fits_type(g.type(node.out(k)), m.graph().type(actual.out(k)), sizes)) return false;
    }
    return !spec_.parts.when || spec_.parts.when(graph_match(*made, m, std::move(sizes)));
  }

  Values build(Builder& b, const Match& m) {
    const Instance* made = instance(m);
    Sizes sizes;
    bind_sizes(made->search, m, sizes);
    if (spec_.parts.make) return spec_.parts.make(b, graph_match(*made, m, std::move(sizes)));
    const Graph& g = made->replace;
    std::unordered_map<uint32_t, ValueId> map;
    for (const Placeholder& p : g.placeholders())
      if (p.role != Role::symint) map[p.value.v] = m[g.name(p.value)];
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      const Node& node = g.node(n);
      Values inputs = node.inputs;
      for (ValueId& v : inputs)
        if (v.valid()) v = map.at(v.v);
      const Values out = b.copy(node, std::move(inputs), put_in(node.attrs, sizes));
      for (uint32_t k = 0; k < node.output_count; ++k) map[node.out(k).v] = out[k];
    }
    Values values;
    for (const Return& r : g.returns()) values.push_back(map.at(r.value.v));
    return values;
  }

 private:
  static Status check(const Instance& made) {
    const Graph &s = made.search, &r = made.replace;
    if (s.returns().size() != r.returns().size())
      return bug("search has {} results, replace {}", s.returns().size(), r.returns().size());
    for (size_t k = 0; k < s.returns().size(); ++k) {
      if (!s.value(s.returns()[k].value).def.valid())
        return bug("search: no call makes result {}", k);
      if (s.returns()[k].kind != r.returns()[k].kind)
        return bug("result {} is of another kind in replace", k);
    }
    for (const Placeholder& p : r.placeholders()) {
      const ValueId other = s.find(r.name(p.value));
      if (!other.valid() || !s.placeholder_of(other) || !(s.type(other) == r.type(p.value)))
        return bug("replace: search has no placeholder %{}: {}", r.name(p.value),
                   r.type(p.value).text());
    }
    return {};
  }

  GraphMatch graph_match(const Instance& made, const Match& m, Sizes sizes) const {
    std::map<std::string, double> numbers;
    for (size_t k = 0; k < spec_.parts.numbers.size(); ++k)
      numbers[spec_.parts.numbers[k].first] = m.scalar(number_name(k));
    return {made.search, m, std::move(sizes), std::move(numbers)};
  }

  const Instance* instance(const Match& m) {
    Numbers numbers;
    for (size_t k = 0; k < spec_.parts.numbers.size(); ++k)
      numbers.push_back(m.scalar(number_name(k)));
    for (const auto& [known, made] : made_)
      if (known == numbers) return made.get();
    Result<Instance> made = instance_of(spec_, numbers);
    made_.emplace_back(numbers, made.ok() ? std::make_unique<Instance>(*std::move(made)) : nullptr);
    return made_.back().second.get();
  }

  static bool bind_sizes(const Graph& g, const Match& m, Sizes& sizes) {
    for (const Placeholder& p : g.placeholders()) {
      if (p.role == Role::symint) {
        if (const std::string name = symbol_name(g.name(p.value)); m.knows(name) && m.has(name))
          if (const Dim* d = m.attr(name).get<Dim>()) sizes[g.name(p.value)] = *d;
        continue;
      }
      const Type &t = g.type(p.value), &actual = m.type(g.name(p.value));
      for (size_t k = 0; k < t.shape.size(); ++k)
        if (const std::string s = lone_symbol(t.shape[k]); !s.empty())
          sizes.emplace(s, actual.shape[k]);
    }
    for (const Placeholder& p : g.placeholders())
      if (p.role != Role::symint && !fits_type(g.type(p.value), m.type(g.name(p.value)), sizes))
        return false;
    return true;
  }

  static bool fits_type(const Type& t, const Type& actual, const Sizes& sizes) {
    if (t.is_none || actual.is_none) return true;  // an unused result
    return t.dtype == actual.dtype &&
           std::ranges::equal(t.shape, actual.shape,
                              [&](const Dim& a, const Dim& b) { return put_in(a, sizes) == b; });
  }

  GraphRule spec_;
  AnyAttrs any_;
  std::vector<std::pair<Numbers, std::unique_ptr<Instance>>> made_;
};

std::string with_dtype(std::string text, DType dtype) {
  const std::string to(name_of(dtype));
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos; at += to.size())
    text.replace(at, 3, to);
  return text;
}

}  // namespace

ValueId GraphMatch::value(const std::string& name) const {
  const ValueId v = search_->find(name);
  if (!v.valid()) return {};
  const NodeId def = search_->value(v).def;
  if (!def.valid()) return match_->knows(name) ? (*match_)[name] : ValueId{};
  const Node& node = search_->node(def);
  const NodeId actual = match_->node(search_->name(node.out(0)));
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (node.out(k) == v) return graph().node(actual).out(k);
  return {};
}

NodeId GraphMatch::call(const std::string& name) const {
  const ValueId v = search_->find(name);
  if (!v.valid() || !search_->value(v).def.valid()) return {};
  return match_->node(search_->name(search_->node(search_->value(v).def).out(0)));
}

Result<Rule> rule_of(GraphRule spec) {
  Rule rule{.name = spec.name, .rounds = spec.parts.rounds};
  const auto state = std::make_shared<GraphRuleState>(std::move(spec));
  Result<std::vector<Pattern>> search = state->search();
  if (!search.ok()) return std::move(search).failure().within("rule " + rule.name);
  rule.search = *std::move(search);
  rule.when = [state](const Match& m) { return state->fits(m); };
  rule.build = [state](Builder& b, const Match& m) { return state->build(b, m); };
  return rule;
}

Result<std::vector<Rule>> rules_of(const TextRule& spec, const OpRegistry& ops) {
  std::vector<Rule> rules;
  for (const DType dtype : spec.dtypes) {
    const std::string name =
        spec.dtypes.size() == 1 ? spec.name : fmt::format("{}_{}", spec.name, name_of(dtype));
    CLEAVE_TRY(Program p, parse(with_dtype(spec.text, dtype), "rule " + name, ops));
    GraphRule rule{.name = name, .search = p.main, .replace = p.main, .parts = spec.parts};
    if (spec.parts.make) {
      if (p.main.name() != "search") return bug("rule {}: its text ends in no @search", name);
    } else {
      const auto search =
          std::ranges::find(p.subgraphs, "search", [](const GraphRef& g) { return g->name(); });
      if (search == p.subgraphs.end() || p.main.name() != "replace")
        return bug("rule {}: its text holds no @search and then @replace", name);
      rule.search = **search;
    }
    CLEAVE_TRY(Rule made, rule_of(std::move(rule)));
    rules.push_back(std::move(made));
  }
  return rules;
}

}  // namespace cleave
