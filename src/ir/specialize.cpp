#include "ir/specialize.h"

#include "ir/print.h"
#include "ir/strides.h"
#include "ir/text.h"

namespace cleave {
namespace {

// A size and where it occurs, for messages: "%x: dim 1".
struct Size {
  std::string where;
  Dim dim;
  int64_t actual = 0;
};

Dim known(const Dim& d, const SymbolValues& values) {
  return d.substitute([&](const std::string& s) {
    auto it = values.find(s);
    return it == values.end() ? Dim::symbol(s) : Dim(it->second);
  });
}

// The value of the only unknown symbol in `size`, if `size` is linear in it; else nullopt.
std::optional<std::pair<std::string, int64_t>> solve(const Size& size, const SymbolValues& values) {
  const Dim d = known(size.dim, values);
  std::vector<std::string> unknown;
  d.collect_symbols(unknown);
  if (unknown.size() != 1) return std::nullopt;
  const std::string& s = unknown[0];
  auto at = [&](int64_t v) { return known(d, {{s, v}}); };
  const Dim base = at(0), slope = at(1) - base;
  if (!base.is_const() || !slope.is_const() || slope.value() == 0) return std::nullopt;
  if (!(d == slope * Dim::symbol(s) + base)) return std::nullopt;
  const int64_t rest = size.actual - base.value();
  if (rest % slope.value() != 0) return std::nullopt;  // the check of all sizes reports it
  return std::pair(s, rest / slope.value());
}

std::string text_of(const SymbolValues& values, const Dim& d) {
  std::vector<std::string> symbols;
  d.collect_symbols(symbols);
  std::string out;
  for (const std::string& s : symbols)
    if (auto it = values.find(s); it != values.end())
      out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", s, it->second);
  return out;
}

Status check_size(const Size& size, const SymbolValues& values) {
  const Dim d = known(size.dim, values);
  if (!d.is_const() || d.value() == size.actual) return {};
  if (size.dim.is_const())
    return user_error("{} is {}, expected {}", size.where, size.actual, d.value());
  return user_error("{} is {}, expected {} = {} with {}", size.where, size.actual, size.dim.text(),
                    d.value(), text_of(values, size.dim));
}

Status check_range(const std::string& name, int64_t value, const SymInfo& info) {
  if (value >= info.range.lo && value <= info.range.hi) return {};
  return user_error("symint {} is {}, expected a value in [{}, {}]", name, value, info.range.lo,
                    info.range.hi);
}

// The sizes of all given shapes; fails if a rank differs.
Result<std::vector<Size>> sizes_of(const Graph& g,
                                   const std::vector<std::optional<std::vector<int64_t>>>& shapes) {
  const auto& placeholders = g.placeholders();
  if (shapes.size() != placeholders.size())
    return bug("bind_symbols: {} shapes for {} placeholders", shapes.size(), placeholders.size());
  std::vector<Size> sizes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i] || placeholders[i].role == Role::symint) continue;
    const std::string& name = g.name(placeholders[i].value);
    const Type& type = g.type(placeholders[i].value);
    if (std::ssize(*shapes[i]) != type.rank())
      return user_error("%{}: has {} dims, expected {}", name, shapes[i]->size(), type.text());
    for (size_t d = 0; d < shapes[i]->size(); ++d)
      sizes.push_back({fmt::format("%{}: dim {}", name, d), type.shape[d], (*shapes[i])[d]});
  }
  return sizes;
}

}  // namespace

Result<SymbolValues> bind_symbols(const Graph& g,
                                  const std::vector<std::optional<std::vector<int64_t>>>& shapes,
                                  const SymbolValues& given) {
  CLEAVE_TRY(std::vector<Size> sizes, sizes_of(g, shapes));
  SymbolValues values = given;
  for (bool found = true; found;) {
    found = false;
    for (const Size& size : sizes)
      if (auto value = solve(size, values)) found = values.insert(*value).second || found;
  }
  for (const Size& size : sizes) CLEAVE_CHECK(check_size(size, values));
  for (const Placeholder& p : g.placeholders()) {
    if (p.role != Role::symint) continue;
    const std::string& name = g.name(p.value);
    auto it = values.find(name);
    if (it == values.end()) {
      for (const Size& size : sizes) {
        const Dim d = known(size.dim, values);
        if (!d.is_const())
          return user_error(
              "symint {}: {} is {} = {}, which does not determine it; give it as an "
              "input",
              name, size.where, size.dim.text(), size.actual);
      }
      return user_error("symint {}: no input's shape determines it; give it as an input", name);
    }
    CLEAVE_CHECK(check_range(name, it->second, p.sym));
  }
  return values;
}

namespace {

// Subgraphs already specialised, so that a shared one stays shared.
using Specialized = std::map<GraphRef, GraphRef>;

Result<Graph> specialize(const Graph& g, const SymbolValues& values, Specialized& done);

bool is_static_itself(const Graph& g);
bool has_fixed_symints(const Graph& g);

struct Specializer {
  const Graph& from;
  const SymbolValues& values;
  Specialized& done;
  Graph to;
  std::vector<ValueId> map;  // by value id of `from`

  Dim fixed(const Dim& d) const { return d.is_const() ? d : known(d, values); }

  AttrValue fixed(const AttrValue& v) const {
    if (const Dim* d = v.get<Dim>()) return AttrValue(fixed(*d));
    if (const AttrList* list = v.get<AttrList>()) {
      AttrList out;
      for (const AttrValue& item : *list) out.push_back(fixed(item));
      return AttrValue(std::move(out));
    }
    return v;
  }

  Result<GraphRef> fixed_graph(const GraphRef& g) {
    if (const auto known = done.find(g); known != done.end()) return known->second;
    if (g == nullptr || (is_static(*g) && has_fixed_symints(*g))) return done[g] = g;
    CLEAVE_TRY(Graph made, specialize(*g, values, done));
    return done[g] = std::make_shared<const Graph>(std::move(made));
  }

  std::optional<std::vector<Dim>> fixed(const std::optional<std::vector<Dim>>& strides) const {
    if (!strides) return strides;
    std::vector<Dim> out;
    for (const Dim& d : *strides) out.push_back(fixed(d));
    return out;
  }

  Status add_placeholder(const Placeholder& p) {
    const std::string& name = from.name(p.value);
    Type type = from.type(p.value);
    SymInfo sym = p.sym;
    if (p.role == Role::symint) {
      auto it = values.find(name);
      if (it == values.end()) return user_error("symint {} has no value", name);
      CLEAVE_CHECK(check_range(name, it->second, p.sym));
      sym = {{it->second, it->second}, it->second};
    }
    for (Dim& d : type.shape) d = fixed(d);
    type.strides = fixed(type.strides);
    CLEAVE_TRY(map[p.value.v], to.add_placeholder(p.role, name, type, p.wants_grad, sym));
    return {};
  }

  Status add_node(NodeId n) {
    const Node& node = from.node(n);
    NodeSpec spec;
    spec.op = node.op;
    for (ValueId v : node.inputs) spec.inputs.push_back(v.valid() ? map[v.v] : v);
    spec.list_size = node.list_size;
    for (const auto& [arg, value] : node.attrs.given()) {
      if (const GraphRef* sub = value.get<GraphRef>()) {
        CLEAVE_TRY(GraphRef made, fixed_graph(*sub));
        spec.attrs.set(arg, AttrValue(std::move(made)));
      } else {
        spec.attrs.set(arg, fixed(value));
      }
    }
    for (uint32_t k = 0; k < node.output_count; ++k) spec.names.push_back(from.name(node.out(k)));
    spec.loc = node.loc;
    spec.tag = node.tag;
    auto made = to.add_node(std::move(spec));
    if (!made.ok()) {
      Failure f = std::move(made).failure();
      f.message += "\n  " + print_node(from, n);
      return f;
    }
    if (to.node(*made).output_count != node.output_count)
      return user_error("{}: {} results with these sizes, {} before\n  {}", node.op->name,
                        to.node(*made).output_count, node.output_count, print_node(from, n));
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId old = node.out(k), made_value = to.node(*made).out(k);
      map[old.v] = made_value;
      if (!from.type(old).strides) continue;
      to.set_strides(made_value, fixed(from.type(old).strides));
      CLEAVE_CHECK(check_type_limits(to.type(made_value)));
      CLEAVE_CHECK(check_written(to.name(made_value), to.type(made_value)));
    }
    return {};
  }
};

bool holds_symbol(const AttrValue& v) {
  if (const Dim* d = v.get<Dim>()) return !d->is_const();
  const AttrList* list = v.get<AttrList>();
  return list && std::any_of(list->begin(), list->end(), holds_symbol);
}

Result<Graph> specialize(const Graph& g, const SymbolValues& values, Specialized& done) {
  Specializer s{g, values, done, Graph(g.name()), std::vector<ValueId>(g.value_capacity())};
  for (size_t i = 1; i < g.files().size(); ++i) s.to.file_id(g.files()[i]);
  for (const Placeholder& p : g.placeholders()) CLEAVE_CHECK(s.add_placeholder(p));
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) CLEAVE_CHECK(s.add_node(n));
  for (Return r : g.returns()) {
    r.value = s.map[r.value.v];
    if (r.target.valid()) r.target = s.map[r.target.v];
    if (r.kind == ReturnKind::update)
      CLEAVE_CHECK(check_written(s.to.name(r.target), s.to.type(r.target)));
    s.to.add_return(r);
  }
  if (!is_static(s.to))
    return user_error("@{}: a size names a symbol that no symint declares", g.name());
  return std::move(s.to);
}

bool is_static_itself(const Graph& g) {
  for (const Placeholder& p : g.placeholders())
    if (!g.type(p.value).is_static()) return false;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (!g.type(node.out(k)).is_none && !g.type(node.out(k)).is_static()) return false;
    for (const auto& [arg, value] : node.attrs.given())
      if (holds_symbol(value)) return false;
  }
  return true;
}

// A subgraph has no caller that could supply the value of a symint.
bool has_fixed_symints(const Graph& g) {
  return std::all_of(g.placeholders().begin(), g.placeholders().end(), [](const Placeholder& p) {
    return p.role != Role::symint || p.sym.range.lo == p.sym.range.hi;
  });
}

}  // namespace

Result<Graph> specialize(const Graph& g, const SymbolValues& values) {
  Specialized done;
  return specialize(g, values, done);
}

bool is_static(const Graph& g) {
  if (!is_static_itself(g)) return false;
  const std::vector<GraphRef> subgraphs = subgraphs_in_order(g, {});
  return std::all_of(subgraphs.begin(), subgraphs.end(), [](const GraphRef& sub) {
    return is_static_itself(*sub) && has_fixed_symints(*sub);
  });
}

}  // namespace cleave
