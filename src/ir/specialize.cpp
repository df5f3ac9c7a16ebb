#include "ir/specialize.h"

#include "ir/print.h"
#include "ir/rebuild.h"

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

bool is_static_itself(const Graph& g);
bool has_fixed_symints(const Graph& g);

class Specializing : public Rebuilding {
 public:
  explicit Specializing(const SymbolValues& values) : values_(values) {}
  Dim size(const Dim& d) override { return d.is_const() ? d : known(d, values_); }
  Dim number(const ArgDef& /*of*/, const Dim& d) override { return size(d); }
  Result<SymInfo> symint(const std::string& name, const SymInfo& sym) override {
    const auto it = values_.find(name);
    if (it == values_.end()) return user_error("symint {} has no value", name);
    CLEAVE_CHECK(check_range(name, it->second, sym));
    return SymInfo{{it->second, it->second}, it->second};
  }
  bool keeps(const Graph& g) override { return is_static(g) && has_fixed_symints(g); }

 private:
  const SymbolValues& values_;
};

bool holds_symbol(const AttrValue& v) {
  if (const Dim* d = v.get<Dim>()) return !d->is_const();
  const AttrList* list = v.get<AttrList>();
  return list && std::any_of(list->begin(), list->end(), holds_symbol);
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
  Specializing specializing(values);
  CLEAVE_TRY(Graph out, rebuilt(g, specializing));
  if (!is_static(out))
    return user_error("@{}: a size names a symbol that no symint declares", g.name());
  return out;
}

bool is_static(const Graph& g) {
  if (!is_static_itself(g)) return false;
  const std::vector<GraphRef> subgraphs = subgraphs_in_order(g, {});
  return std::all_of(subgraphs.begin(), subgraphs.end(), [](const GraphRef& sub) {
    return is_static_itself(*sub) && has_fixed_symints(*sub);
  });
}

}  // namespace cleave
