#include "tool/static_sizes.h"

#include <charconv>

namespace cleave::tool {

Result<Graph> static_graph(const Graph& g, const std::map<std::string, Array>& given,
                           const SymbolValues& sizes) {
  std::vector<std::optional<std::vector<int64_t>>> shapes;
  SymbolValues symbols = sizes;
  for (const Placeholder& p : g.placeholders()) {
    auto at = given.find(g.name(p.value));
    shapes.emplace_back();
    if (at == given.end()) continue;
    if (p.role == Role::symint) {
      if (at->second.numel() == 1 && !at->second.floating()) symbols[at->first] = at->second.i[0];
    } else {
      shapes.back() = at->second.shape;
    }
  }
  CLEAVE_TRY(SymbolValues values, bind_symbols(g, shapes, symbols));
  return specialize(g, values);
}

Result<Graph> sized_graph(Graph g, const std::map<std::string, Array>& given,
                          const std::vector<std::string>& words) {
  CLEAVE_TRY(const SymbolValues sizes, parse_sizes(g, words, "--size"));
  if (is_static(g) && sizes.empty()) return g;
  if (!sizes.empty() || !given.empty()) return static_graph(g, given, sizes);
  std::string ranges, example;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role != Role::symint) continue;
    const std::string& name = g.name(p.value);
    ranges += fmt::format("{}%{} in [{}, {}]", ranges.empty() ? "" : ", ", name, p.sym.range.lo,
                          p.sym.range.hi);
    example += fmt::format("{}{}=N", example.empty() ? "" : ",", name);
  }
  return user_error(
      "@{}: sizes depend on {}, and a program has fixed sizes: give them with --size {}, or "
      "tensors "
      "of these shapes with --in",
      g.name(), ranges, example);
}

Result<Graph> graph_at_hints(const Graph& g) {
  SymbolValues values;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint)
      values[g.name(p.value)] = g.env().hint_of(Dim::symbol(g.name(p.value)));
  return specialize(g, values);
}

Result<SymbolValues> parse_sizes(const Graph& g, const std::vector<std::string>& words,
                                 const std::string& option) {
  SymbolValues out;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    int64_t value = 0;
    const char* const end = word.data() + word.size();
    const char* const digits = equals == std::string::npos ? end : word.data() + equals + 1;
    const auto [stop, error] = std::from_chars(digits, end, value);
    if (error != std::errc() || stop != end)
      return user_error("{} {}: expected NAME=NUMBER, such as s0=64", option, word);
    const ValueId id = g.find(name);
    const Placeholder* p = id.valid() ? g.placeholder_of(id) : nullptr;
    if (!p || p->role != Role::symint)
      return user_error("{} {}: @{} has no symint %{}", option, word, g.name(), name);
    if (!out.emplace(name, value).second)
      return user_error("{} {}: %{} has a value already, {}", option, word, name, out[name]);
  }
  return out;
}

}  // namespace cleave::tool
