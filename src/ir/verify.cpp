// The verifier: rules V1 to V14 of doc/ir.md, checked for placeholders, nodes in order, and
// returns. Conditions that Graph enforces when a node is made are checked again, since edits can
// break them.
#include <unordered_map>
#include <unordered_set>

#include "ir/infer_types.h"
#include "ir/lex.h"
#include "ir/print.h"
#include "ir/strides.h"
#include "ir/text.h"

namespace cleave {
namespace {

class Verifier {
 public:
  Verifier(const Graph& g, int64_t since) : g_(g), since_(since), defined_(g.value_capacity()) {}

  Status run() {
    CLEAVE_CHECK(check_placeholders());
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n)) CLEAVE_CHECK(check_node(n));
    return check_returns();
  }

 private:
  Status check_placeholders();
  Status check_symint(const Placeholder& p);
  Status check_role(const Placeholder& p);
  Status check_node(NodeId n);
  Status check_edited(NodeId n);
  Status check_operands(NodeId n);
  Status check_attrs(NodeId n);
  Status check_inference(NodeId n);
  template <class Place>
  Status check_value(const Place& place, ValueId v);
  template <class Place>
  Status check_written(const Place& place, ValueId v) const;
  template <class Place>
  Status check_symbols(const Place& place, const Dim& d);
  Status check_symbols(NodeId n, const AttrValue& v);
  Status check_returns();
  Status check_return(const Return& r);
  Status check_tangents();
  Status match_tangents(bool even_marked) const;

  // A place is a node, placeholder or return, which is printed below the message.
  template <class Place, class... Args>
  Failure broken(const Place& place, const char* rule, fmt::format_string<Args...> text,
                 Args&&... args) const {
    return user_error("@{}: {}: {}\n  {}", g_.name(), rule,
                      fmt::format(text, std::forward<Args>(args)...), line_of(place));
  }
  std::string line_of(NodeId n) const { return print_node(g_, n); }
  std::string line_of(const Placeholder& p) const {
    return fmt::format("%{}: {} {}", g_.name(p.value), name_of(p.role), g_.type(p.value).text());
  }
  std::string line_of(const Return& r) const {
    std::string line = "return %" + shown(r.value);
    if (r.kind == ReturnKind::result) return line;
    return line + (r.kind == ReturnKind::grad ? " -> grad %" : " -> %") + shown(r.target);
  }
  std::string shown(ValueId v) const { return v.v < defined_.size() ? g_.name(v) : "?"; }
  bool is_defined(ValueId v) const { return v.v < defined_.size() && defined_[v.v]; }

  const Graph& g_;
  const int64_t since_;
  std::vector<bool> defined_;  // by value
};

bool is_none_or_equal(const Type& a, const Type& b) {
  return a.is_none == b.is_none && a.dtype == b.dtype && a.device == b.device && a.shape == b.shape;
}

// ---- placeholders

Status Verifier::check_placeholders() {
  if (!is_name(g_.name()))
    return user_error("@{}: V1: the graph's name holds more than A-Za-z0-9_.-/", g_.name());
  for (const Placeholder& p : g_.placeholders()) {
    defined_[p.value.v] = true;
    if (p.role == Role::symint) CLEAVE_CHECK(check_symint(p));
  }
  for (const Placeholder& p : g_.placeholders()) {
    CLEAVE_CHECK(check_value(p, p.value));
    if (g_.type(p.value).is_none) return broken(p, "V7", "a placeholder of type none");
    CLEAVE_CHECK(check_role(p));
  }
  return {};
}

Status Verifier::check_symint(const Placeholder& p) {
  const std::string& name = g_.name(p.value);
  const DimRange bounds = SymInfo{}.range, r = p.sym.range;
  const SymInfo* known = g_.env().find(name);
  if (!is_symbol_name(name))
    return broken(p, "V1", "a symint's name is letters, digits and _, and no literal");
  if (!known || known->range.lo != r.lo || known->range.hi != r.hi || known->hint != p.sym.hint)
    return broken(p, "V6", "the symint is not what the graph's sizes were inferred with");
  if (r.lo < bounds.lo || r.hi > bounds.hi || r.lo > r.hi)
    return broken(p, "V6", "range({},{}), expected 0 <= lo <= hi <= 2^47", r.lo, r.hi);
  if (p.sym.hint && (*p.sym.hint < r.lo || *p.sym.hint > r.hi))
    return broken(p, "V6", "hint({}) is outside range({},{})", *p.sym.hint, r.lo, r.hi);
  return {};
}

Status Verifier::check_role(const Placeholder& p) {
  const Type& t = g_.type(p.value);
  const bool scalar = t.dtype == DType::i64 && t.shape.empty();
  if (p.role == Role::symint && !scalar)
    return broken(p, "V7", "a symint is {}, expected i64[]", t.text());
  if (p.role == Role::rng_state && !(t.dtype == DType::i64 && t.shape == Shape{2}))
    return broken(p, "V7", "an rng_state is {}, expected i64[2]", t.text());
  const bool differentiable = is_floating(t.dtype) || t.dtype == DType::c64;
  if (p.role == Role::tangent && !differentiable)
    return broken(p, "V7", "a tangent is {}, expected a floating dtype", t.text());
  if (p.wants_grad && (!differentiable || p.role == Role::tangent || p.role == Role::rng_state ||
                       p.role == Role::symint))
    return broken(p, "V7",
                  "the gradient of {} {} is asked for, expected a floating param, buffer, "
                  "const, input or saved",
                  name_of(p.role), t.text());
  return {};
}

// ---- values

template <class Place>
Status Verifier::check_symbols(const Place& place, const Dim& d) {
  if (d.is_const()) return {};
  std::vector<std::string> symbols;
  d.collect_symbols(symbols);
  for (const std::string& s : symbols) {
    const ValueId v = g_.find(s);
    if (!is_defined(v) || !g_.placeholder_of(v) || g_.placeholder_of(v)->role != Role::symint)
      return broken(place, "V6", "the symbol '{}' of {} is not declared, expected `%{}: symint`", s,
                    d.text(), s);
  }
  std::vector<Dim> divisors;
  d.collect_divisors(divisors);
  for (const Dim& divisor : divisors)
    if (int64_t lo = g_.env().range_of(divisor).lo; lo < 1)
      return broken(place, "V6", "the divisor {} of {} may be {}, expected at least 1",
                    divisor.text(), d.text(), lo);
  return {};
}

Status Verifier::check_symbols(NodeId n, const AttrValue& v) {
  if (const Dim* d = v.get<Dim>()) return check_symbols(n, *d);
  if (const AttrList* list = v.get<AttrList>())
    for (const AttrValue& item : *list) CLEAVE_CHECK(check_symbols(n, item));
  return {};
}

template <class Place>
Status Verifier::check_value(const Place& place, ValueId v) {
  const ValueInfo& info = g_.value(v);
  if (!is_name(info.name) || g_.find(info.name) != v)
    return broken(place, "V1", "the name %{} is taken or holds more than A-Za-z0-9_.-/", info.name);
  if (Status s = check_type_limits(info.type); !s.ok())
    return broken(place, "V5", "{}", s.failure().message);
  for (const Dim& d : info.type.shape) CLEAVE_CHECK(check_symbols(place, d));
  if (info.type.strides)
    for (const Dim& d : *info.type.strides) CLEAVE_CHECK(check_symbols(place, d));
  return {};
}

template <class Place>
Status Verifier::check_written(const Place& place, ValueId v) const {
  const Status s = cleave::check_written(g_.name(v), g_.type(v));
  return s.ok() ? Status() : broken(place, "V14", "{}", s.failure().message);
}

// ---- nodes

Status Verifier::check_node(NodeId n) {
  CLEAVE_CHECK(check_operands(n));
  const Node& node = g_.node(n);
  if (node.edited > since_) CLEAVE_CHECK(check_edited(n));
  for (uint32_t k = 0; k < node.output_count; ++k) defined_[node.out(k).v] = true;
  return {};
}

// Checks what depends only on the node and the types of its operands.
Status Verifier::check_edited(NodeId n) {
  CLEAVE_CHECK(check_attrs(n));
  CLEAVE_CHECK(check_inference(n));
  const Node& node = g_.node(n);
  for (uint32_t k = 0; k < node.output_count; ++k) {
    CLEAVE_CHECK(check_value(n, node.out(k)));
    CLEAVE_CHECK(check_written(n, node.out(k)));
  }
  if (node.loc.file == 0) return {};
  if (node.loc.file >= g_.files().size())
    return broken(n, "V13", "the source's file {} is none of the graph's", node.loc.file);
  for (unsigned char c : g_.files()[node.loc.file])
    if (c < 0x20 || c == '"' || c == 0x7f)
      return broken(n, "V13", "the source's file name holds a quote or a control character");
  return {};
}

Status Verifier::check_operands(NodeId n) {
  const Node& node = g_.node(n);
  const Schema& schema = node.op->schema;
  const size_t expected = schema.operands.size() + (schema.list_operand < 0 ? 0 : node.list_size) -
                          (schema.list_operand < 0 ? 0 : 1);
  if (node.inputs.size() != expected)
    return broken(n, "V4", "{} operands, expected {}", node.inputs.size(), expected);
  size_t flat = 0;
  for (uint16_t index : schema.operands) {
    const ArgDef& arg = schema.args[index];
    for (size_t end = flat + (arg.list ? node.list_size : 1); flat < end; ++flat) {
      const ValueId v = node.inputs[flat];
      if (v.is_none() && !(arg.list ? arg.optional_item : arg.optional))
        return broken(n, "V4", "the operand '{}' is none, expected a value", arg.name);
      if (v.is_number() != (arg.number_allowed && node.attrs.find(index)))
        return broken(n, "V4", "the operand '{}' and the number given for it disagree", arg.name);
      if (!v.valid()) continue;
      if (!is_defined(v))
        return broken(n, "V2", "%{} is used before it is defined, or was erased", shown(v));
      if (g_.type(v).is_none)
        return broken(n, "V4", "the operand '{}' is an unused result of type none", arg.name);
    }
  }
  return {};
}

Status Verifier::check_attrs(NodeId n) {
  const Node& node = g_.node(n);
  const Schema& schema = node.op->schema;
  for (const auto& [index, value] : node.attrs.given()) {
    if (index >= schema.args.size())
      return broken(n, "V4", "an attribute {}, expected at most {}", index, schema.args.size());
    CLEAVE_CHECK(check_symbols(n, value));
  }
  return {};
}

Status Verifier::check_inference(NodeId n) {
  const Node& node = g_.node(n);
  auto types = infer_types(g_.view(n));
  if (!types.ok()) return broken(n, "V3", "{}", types.failure().message);
  if (types->size() != node.output_count)
    return broken(n, "V3", "{} results, expected {}", node.output_count, types->size());
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const Type& recorded = g_.type(node.out(k));
    Type& inferred = (*types)[k];
    if (is_none_or_equal(recorded, inferred)) continue;
    inferred.strides.reset();
    return broken(n, "V3", "%{} is recorded as {}, expected {}", g_.name(node.out(k)),
                  recorded.text(), inferred.text());
  }
  return {};
}

// ---- returns

Status Verifier::check_returns() {
  std::vector<bool> updated(g_.value_capacity()), differentiated(g_.value_capacity());
  for (const Return& r : g_.returns()) {
    CLEAVE_CHECK(check_return(r));
    if (r.kind == ReturnKind::result) continue;
    std::vector<bool>& seen = r.kind == ReturnKind::update ? updated : differentiated;
    if (seen[r.target.v])
      return broken(r, "V10", "%{} is {} twice, expected once", shown(r.target),
                    r.kind == ReturnKind::update ? "updated" : "given a gradient");
    seen[r.target.v] = true;
  }
  return check_tangents();
}

Status Verifier::check_return(const Return& r) {
  if (!is_defined(r.value))
    return broken(r, "V2", "%{} is not defined, or was erased", shown(r.value));
  const Type& t = g_.type(r.value);
  if (t.is_none) return broken(r, "V2", "an unused result of type none is returned");
  if (r.kind == ReturnKind::result) return {};
  const bool update = r.kind == ReturnKind::update;
  const char* rule = update ? "V8" : "V9";
  if (!is_defined(r.target) || !g_.placeholder_of(r.target))
    return broken(r, rule, "%{} is no placeholder", shown(r.target));
  const Placeholder& p = *g_.placeholder_of(r.target);
  if (update && p.role != Role::param && p.role != Role::buffer && p.role != Role::input &&
      p.role != Role::rng_state)
    return broken(r, rule, "a {} is updated, expected a param, buffer, input or rng_state",
                  name_of(p.role));
  if (!update && !p.wants_grad) return broken(r, rule, "%{} is not marked grad", shown(r.target));
  if (!is_none_or_equal(t, g_.type(r.target)))
    return broken(r, rule, "%{} is {}, expected {} as %{}", shown(r.value), t.text(),
                  g_.type(r.target).text(), shown(r.target));
  return update ? check_written(r, r.target) : Status();
}

// In a joint graph the tangents correspond to results in order: each is matched with the next
// floating result of its type. Results that their operator marks as not differentiable are skipped;
// if that matching fails, they are included, since frameworks differ in what they mark.
Status Verifier::check_tangents() {
  bool gradients = false, saved = false;
  for (const Return& r : g_.returns()) gradients = gradients || r.kind == ReturnKind::grad;
  for (const Placeholder& p : g_.placeholders()) saved = saved || p.role == Role::saved;
  if (!gradients || saved) return {};  // a forward or a backward half
  Status marked = match_tangents(false);
  return marked.ok() || match_tangents(true).ok() ? Status() : marked;
}

Status Verifier::match_tangents(bool even_marked) const {
  size_t next = 0;
  for (const Placeholder& p : g_.placeholders()) {
    if (p.role != Role::tangent) continue;
    auto belongs = [&](const Return& r) {
      const ValueInfo& info = g_.value(r.value);
      if (r.kind != ReturnKind::result || !is_none_or_equal(info.type, g_.type(p.value)))
        return false;
      return even_marked || !info.def.valid() || info.index >= 32 ||
             !(g_.node(info.def).op->nondifferentiable >> info.index & 1);
    };
    while (next < g_.returns().size() && !belongs(g_.returns()[next])) ++next;
    if (next++ >= g_.returns().size())
      return broken(p, "V11",
                    "no differentiable result is left for the tangent, expected "
                    "the results' types in their order");
  }
  return {};
}

// ---- subgraphs

using Names = std::unordered_map<std::string, const Graph*>;
using Depths = std::unordered_map<const Graph*, int>;  // levels of subgraphs, 1 without

bool holds_null(const AttrValue& v) {
  if (const GraphRef* g = v.get<GraphRef>()) return !*g;
  if (const AttrList* list = v.get<AttrList>())
    return std::any_of(list->begin(), list->end(), holds_null);
  return false;
}

// `level` bounds the recursion; a graph reachable by two paths is checked once.
Status verify_graph(const Graph& g, Names& names, Depths& depths, int level, int64_t since = -1) {
  if (depths.contains(&g)) return {};
  auto broken = [&](const std::string& text) { return user_error("@{}: V12: {}", g.name(), text); };
  if (!names.emplace(g.name(), &g).second)
    return broken("two graphs bear this name, expected different names");
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (const auto& [arg, v] : g.node(n).attrs.given())
      if (holds_null(v))
        return broken(
            fmt::format("an attribute of %{} refers to no graph", g.name(g.node(n).first_output)));
  int depth = 1;
  depths[&g] = depth;
  for (const GraphRef& inner : subgraphs_of(g)) {
    if (level <= text_limit::graph_nesting)
      CLEAVE_CHECK(verify_graph(*inner, names, depths, level + 1));
    depth = std::max(depth, 1 + depths[inner.get()]);
  }
  if (depth > text_limit::graph_nesting || level > text_limit::graph_nesting)
    return broken(fmt::format("more than {} levels of subgraphs", text_limit::graph_nesting));
  depths[&g] = depth;
  return Verifier(g, since).run();
}

}  // namespace

Status verify(const Graph& g) { return verify_edited(g, -1); }

Status verify_edited(const Graph& g, int64_t since) {
  Names names;
  Depths depths;
  return verify_graph(g, names, depths, 1, since);
}

Status verify(const Program& p) {
  Names names;
  Depths depths;
  for (const GraphRef& sub : p.subgraphs)
    if (sub) CLEAVE_CHECK(verify_graph(*sub, names, depths, 1));
  return verify_graph(p.main, names, depths, 1);
}

}  // namespace cleave
