// Prints graphs as text. ` : ` has one space on each side and a source comment two before it; lists
// of sizes have no blanks, lists of operands and attributes have one after each comma.
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "ir/print.h"
#include "ir/text.h"

namespace cleave {

std::string_view name_of(Recompute policy) {
  constexpr std::string_view names[] = {"unset", "must_save", "prefer_save", "prefer_recompute",
                                        "must_recompute"};
  return names[static_cast<int>(policy)];
}

namespace {

void collect(const AttrValue& v, std::vector<GraphRef>& into) {
  if (const GraphRef* g = v.get<GraphRef>()) {
    if (*g) into.push_back(*g);
  } else if (const AttrList* list = v.get<AttrList>()) {
    for (const AttrValue& item : *list) collect(item, into);
  }
}

// Depth first, so that a graph comes after those that it refers to.
void collect_in_order(const GraphRef& g, std::unordered_set<const Graph*>& seen,
                      std::vector<GraphRef>& into) {
  if (!seen.insert(g.get()).second) return;
  for (const GraphRef& inner : subgraphs_of(*g)) collect_in_order(inner, seen, into);
  into.push_back(g);
}

class Printer {
 public:
  // With `sources`, source lines are printed as their numbers there.
  Printer(const Graph& g, Naming naming, SourceLines* sources = nullptr)
      : g_(g), sources_(sources) {
    if (naming == Naming::canonical) number_values();
  }

  void graph(std::string& out) const;
  void node(std::string& out, NodeId n) const;

 private:
  void number_values();
  void value(std::string& out, ValueId v) const;
  void operands(std::string& out, const Node& n) const;
  void attrs(std::string& out, const Node& n) const;
  void header(std::string& out) const;
  void returns(std::string& out) const;
  void source(std::string& out, SourceLoc loc) const;

  const Graph& g_;
  SourceLines* const sources_;
  std::vector<std::string> numbers_;  // by value, empty for own names
};

void Printer::number_values() {
  std::unordered_set<std::string> placeholders;
  for (const Placeholder& p : g_.placeholders()) placeholders.insert(g_.name(p.value));
  numbers_.resize(g_.value_capacity());
  size_t number = 0;
  for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
    for (uint32_t k = 0; k < g_.node(n).output_count; ++k) {
      std::string name = std::to_string(number++);
      while (placeholders.contains(name)) name = std::to_string(number++);
      numbers_[g_.node(n).out(k).v] = std::move(name);
    }
}

// Also safe for the invalid ids of an unverified graph.
void Printer::value(std::string& out, ValueId v) const {
  if (!v.valid()) {
    out += "none";
    return;
  }
  out += '%';
  if (v.v >= g_.value_capacity())
    out += '?';
  else if (v.v < numbers_.size() && !numbers_[v.v].empty())
    out += numbers_[v.v];
  else
    out += g_.name(v);
}

// Drops trailing nones; an operand given as a number is printed among the attributes.
void Printer::operands(std::string& out, const Node& n) const {
  const Schema& schema = n.op->schema;
  size_t written = out.size(), flat = 0;  // written: where the text ends once nones are dropped
  bool first = true;
  for (int k = 0; k < std::ssize(schema.operands); ++k) {
    const bool list = k == schema.list_operand;
    if (!list && flat < n.inputs.size() && n.inputs[flat].is_number()) {
      ++flat;
      continue;
    }
    if (!first) out += ", ";
    first = false;
    if (list) out += '[';
    const size_t count = list ? n.list_size : 1;
    bool some = list;
    for (size_t i = 0; i < count && flat < n.inputs.size(); ++i, ++flat) {
      if (i) out += ", ";
      value(out, n.inputs[flat]);
      some = some || n.inputs[flat].valid();
    }
    if (list) out += ']';
    if (some) written = out.size();
  }
  out.resize(written);
}

void Printer::attrs(std::string& out, const Node& n) const {
  const size_t begin = out.size();
  for (const auto& [arg, v] : n.attrs.given()) {
    if (out.size() > begin) out += ", ";
    out += n.op->schema.args[arg].name;
    out += '=';
    append_text(out, v);
  }
}

// file:line; the file is quoted if it contains more than letters, digits and _.-+/@~
void Printer::source(std::string& out, SourceLoc loc) const {
  if (loc.file == 0 || loc.file >= g_.files().size()) return;
  const std::string& file = g_.files()[loc.file];
  const bool plain = std::all_of(file.begin(), file.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_.-+/@~").find(c) != std::string_view::npos;
  });
  out += "  # ";
  const size_t begin = out.size();
  if (!plain) out += '"';
  out += file;
  if (!plain) out += '"';
  out += ':';
  out += std::to_string(loc.line);
  if (!sources_) return;
  const size_t number = sources_->number_of(out.substr(begin));
  out.resize(begin);
  out += fmt::format("@{}:1", number);
}

void Printer::node(std::string& out, NodeId id) const {
  const Node& n = g_.node(id);
  for (uint32_t k = 0; k < n.output_count; ++k) {
    if (k) out += ", ";
    value(out, n.out(k));
  }
  if (n.output_count) out += " = ";
  out += n.op->name;
  out += '(';
  const size_t begin = out.size();
  operands(out, n);
  if (out.size() > begin && !n.attrs.given().empty()) out += "; ";
  attrs(out, n);
  out += ')';
  if (!(n.tag == CheckpointTag{})) {
    out += " !recompute(";
    out += name_of(n.tag.policy);
    if (n.tag.ac_graph) out += ", ac=" + std::to_string(n.tag.ac_graph);
    if (n.tag.memory_budget) {
      out += ", memory_budget=";
      append_text(out, AttrValue(*n.tag.memory_budget));
    }
    out += ')';
  }
  for (uint32_t k = 0; k < n.output_count; ++k) {
    out += k ? ", " : " : ";
    append_text(out, g_.type(n.out(k)));
  }
  source(out, n.loc);
}

void Printer::header(std::string& out) const {
  out += "graph @";
  out += g_.name();
  out += '(';
  bool first = true;
  for (const Placeholder& p : g_.placeholders()) {
    if (!first) out += ", ";
    first = false;
    value(out, p.value);
    out += ": ";
    out += name_of(p.role);
    if (p.role == Role::symint) {
      const SymInfo usual;
      if (p.sym.range.lo != usual.range.lo || p.sym.range.hi != usual.range.hi)
        out += fmt::format(" range({},{})", p.sym.range.lo, p.sym.range.hi);
      if (p.sym.hint) out += fmt::format(" hint({})", *p.sym.hint);
      continue;
    }
    out += ' ';
    append_text(out, g_.type(p.value));
    if (p.wants_grad) out += " grad";
  }
  out += ") {\n";
}

void Printer::returns(std::string& out) const {
  out += "  return";
  bool first = true;
  for (const Return& r : g_.returns()) {
    out += first ? " " : ", ";
    first = false;
    value(out, r.value);
    if (r.kind == ReturnKind::result) continue;
    out += r.kind == ReturnKind::grad ? " -> grad " : " -> ";
    value(out, r.target);
  }
  out += '\n';
}

void Printer::graph(std::string& out) const {
  header(out);
  for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n)) {
    out += "  ";
    node(out, n);
    out += '\n';
  }
  returns(out);
  out += "}\n";
}

void append_graph(std::string& out, const Graph& g, Naming naming, SourceLines* sources = nullptr) {
  if (!out.empty()) out += '\n';
  Printer(g, naming, sources).graph(out);
}

}  // namespace

std::vector<GraphRef> subgraphs_of(const Graph& g) {
  std::vector<GraphRef> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (const auto& [arg, v] : g.node(n).attrs.given()) collect(v, out);
  return out;
}

std::vector<GraphRef> subgraphs_in_order(const Graph& g, const std::vector<GraphRef>& listed) {
  std::unordered_set<const Graph*> seen;
  std::vector<GraphRef> out;
  for (const GraphRef& sub : listed)
    if (sub) collect_in_order(sub, seen, out);
  for (const GraphRef& sub : subgraphs_of(g)) collect_in_order(sub, seen, out);
  return out;
}

std::string print(const Graph& g, Naming naming) {
  std::string out;
  for (const GraphRef& sub : subgraphs_in_order(g, {})) append_graph(out, *sub, naming);
  append_graph(out, g, naming);
  return out;
}

size_t SourceLines::number_of(const std::string& line) {
  const auto [at, is_new] = numbers_.try_emplace(line, lines_.size());
  if (is_new) lines_.push_back(line);
  return at->second;
}

std::string print(const Graph& g, SourceLines& sources) {
  std::string out;
  for (const GraphRef& sub : subgraphs_in_order(g, {}))
    append_graph(out, *sub, Naming::own, &sources);
  append_graph(out, g, Naming::own, &sources);
  return out;
}

// A comment is the end of its line, and a text in quotes has no line breaks.
std::string with_lines(std::string_view text, const std::vector<std::string>& lines) {
  constexpr std::string_view begin = "  # @", end = ":1";
  std::string out;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view line = text.substr(0, length);
    text.remove_prefix(length);
    if (const size_t at = line.rfind(begin); at != std::string_view::npos) {
      const char* from = line.data() + at + begin.size();
      size_t number = 0;
      const auto [stop, error] = std::from_chars(from, line.data() + line.size(), number);
      const std::string_view rest(stop, static_cast<size_t>(line.data() + line.size() - stop));
      if (error == std::errc() && (rest == ":1\n" || rest == end) && number < lines.size()) {
        out.append(line.substr(0, at)).append("  # ").append(lines[number]);
        line = rest.substr(end.size());
      }
    }
    out += line;
  }
  return out;
}

std::string print(const Program& p, Naming naming) {
  std::string out;
  for (const GraphRef& sub : subgraphs_in_order(p.main, p.subgraphs))
    append_graph(out, *sub, naming);
  append_graph(out, p.main, naming);
  return out;
}

std::string print_node(const Graph& g, NodeId n) {
  std::string out;
  Printer(g, Naming::own).node(out, n);
  return out;
}

}  // namespace cleave
