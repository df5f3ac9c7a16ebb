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

namespace {

struct Word {
  std::string name;  // empty: none
  int64_t size = 0;
};

// "s0=64", or "64" where the name is that of the word before.
Result<Word> parse_word(const Graph& g, const std::string& word, const std::string& option,
                        bool may_lack_name) {
  const size_t equals = word.find('=');
  Word out;
  const bool lacks_name = equals == std::string::npos;
  const char* const end = word.data() + word.size();
  const char* const digits = !lacks_name     ? word.data() + equals + 1
                             : may_lack_name ? word.data()
                                             : end;
  const auto [stop, error] = std::from_chars(digits, end, out.size);
  if (error != std::errc() || stop != end)
    return user_error("{} {}: expected NAME=NUMBER, such as s0=64", option, word);
  if (lacks_name) return out;
  out.name = word.substr(0, equals);
  const ValueId id = g.find(out.name);
  const Placeholder* p = id.valid() ? g.placeholder_of(id) : nullptr;
  if (!p || p->role != Role::symint)
    return user_error("{} {}: @{} has no symint %{}", option, word, g.name(), out.name);
  return out;
}

Failure given_twice(const std::string& option, const std::string& word, const std::string& name,
                    int64_t first) {
  return user_error("{} {}: %{} has a value already, {}", option, word, name, first);
}

}  // namespace

Result<SymbolValues> parse_sizes(const Graph& g, const std::vector<std::string>& words,
                                 const std::string& option) {
  SymbolValues out;
  for (const std::string& word : words) {
    CLEAVE_TRY(const Word w, parse_word(g, word, option, false));
    if (!out.emplace(w.name, w.size).second) return given_twice(option, word, w.name, out[w.name]);
  }
  return out;
}

Result<std::map<std::string, std::vector<int64_t>>> parse_size_lists(
    const Graph& g, const std::vector<std::string>& words, const std::string& option) {
  std::map<std::string, std::vector<int64_t>> out;
  std::vector<int64_t>* list = nullptr;
  for (const std::string& word : words) {
    CLEAVE_TRY(const Word w, parse_word(g, word, option, list != nullptr));
    if (!w.name.empty()) {
      const auto [at, is_new] = out.try_emplace(w.name);
      if (!is_new) return given_twice(option, word, w.name, at->second.front());
      list = &at->second;
    }
    list->push_back(w.size);
  }
  return out;
}

}  // namespace cleave::tool
