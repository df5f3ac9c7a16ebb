// Reads files of graphs: the version, headers, bodies and returns. Literals are read in
// parse_literal.cpp, statements in parse_statement.cpp.
//
//   file   = ["clv" "1"] graph {graph}
//   graph  = "graph" "@" name "(" [placeholder {"," placeholder}] ")" "{" {statement} return "}"
//   return = "return" [entry {"," entry}];  entry = %v | %v "->" %p | %g "->" "grad" %p
#include "ir/parse_statement.h"
#include "ir/text.h"

namespace cleave {
namespace {

class FileParser {
 public:
  FileParser(std::string_view text, const std::string& file, const OpRegistry& ops,
             const Composites* composites)
      : lex_(text, file), literals_(lex_, graphs_), statements_(lex_, literals_, ops, composites) {}

  Result<Program> read();

 private:
  Status read_version();
  Result<Graph> read_graph();
  Status read_placeholder();
  Status read_symint(SymInfo& info);
  Status read_body();
  Status read_return();
  Status end_line();

  GraphTable graphs_;
  Lexer lex_;
  LiteralParser literals_;
  StatementParser statements_;
  Graph* graph_ = nullptr;
};

Status FileParser::end_line() {
  if (lex_.at(TokenKind::end)) return {};
  CLEAVE_TRY([[maybe_unused]] Token end, lex_.expect(TokenKind::newline, "the end of the line"));
  return {};
}

Status FileParser::read_version() {
  while (lex_.at(TokenKind::newline)) lex_.take();
  if (!lex_.accept_word("clv")) return {};
  CLEAVE_TRY(Token version, lex_.expect(TokenKind::integer, "the version 1"));
  if (version.text != "1")
    return lex_.error(version.at, rule::version, "clv {} is not known, expected clv 1",
                      version.text.substr(0, 40));
  return end_line();
}

Result<Program> FileParser::read() {
  CLEAVE_CHECK(read_version());
  Program program;
  int depth = 0;
  for (bool first = true;; first = false) {
    while (lex_.at(TokenKind::newline)) lex_.take();
    if (!first && lex_.at(TokenKind::end)) return program;
    if (!first) {
      auto sub = std::make_shared<const Graph>(std::move(program.main));
      graphs_.emplace(sub->name(), NamedGraph{sub, depth});
      program.subgraphs.push_back(std::move(sub));
    }
    const uint32_t at = lex_.peek().at;
    CLEAVE_TRY(program.main, read_graph());
    depth = 1 + literals_.take_depth();
    if (depth > text_limit::graph_nesting)
      return lex_.error(at, rule::limit, "more than {} levels of subgraphs",
                        text_limit::graph_nesting);
  }
}

Result<Graph> FileParser::read_graph() {
  if (!lex_.accept_word("graph")) return lex_.unexpected("'graph'");
  CLEAVE_TRY(Token name, lex_.expect(TokenKind::graph, "a graph's name such as @main"));
  if (graphs_.contains(std::string(name.text)))
    return lex_.error(name.at, rule::graph, "the name @{} is taken, expected a new one", name.text);
  Graph graph{std::string(name.text)};
  graph_ = &graph;
  literals_.set_env(graph.env());
  statements_.begin_graph(graph);
  lex_.wrap_lines(true);
  CLEAVE_CHECK(lex_.expect_mark('('));
  if (!lex_.accept_mark(')')) {
    do { CLEAVE_CHECK(read_placeholder()); } while (lex_.accept_mark(','));
    if (!lex_.accept_mark(')')) return lex_.unexpected("',' or ')'");
  }
  CLEAVE_CHECK(lex_.expect_mark('{'));
  lex_.wrap_lines(false);
  CLEAVE_CHECK(end_line());
  CLEAVE_CHECK(read_body());
  return graph;
}

Status FileParser::read_placeholder() {
  CLEAVE_TRY(Token name, lex_.expect(TokenKind::value, "a placeholder such as %x: input f32[2]"));
  CLEAVE_CHECK(lex_.expect_mark(':'));
  CLEAVE_TRY(Token word, lex_.expect(TokenKind::word, "a role such as input"));
  std::optional<Role> role;
  std::string all;
  for (int i = 0; i <= static_cast<int>(Role::symint); ++i) {
    all += fmt::format(" {}", name_of(static_cast<Role>(i)));
    if (word.text == name_of(static_cast<Role>(i))) role = static_cast<Role>(i);
  }
  if (!role)
    return lex_.error(word.at, rule::role, "the role '{}' is not known, expected one of{}",
                      word.text.substr(0, 40), all);
  if (graph_->find(name.text).valid())
    return lex_.error(name.at, rule::taken, "the name %{} is taken, expected a new one", name.text);
  SymInfo info;
  Type type;
  bool grad = false, is_complex = false;
  const uint32_t type_at = lex_.peek().at;
  if (*role == Role::symint) {
    if (!is_symbol_name(name.text))
      return lex_.error(name.at, rule::symint,
                        "a symint cannot bear the name %{}, expected letters, digits and _ that "
                        "are no literal",
                        name.text);
    CLEAVE_CHECK(read_symint(info));
  } else {
    CLEAVE_TRY(type, statements_.read_type(is_complex));
    if (type.is_none)
      return lex_.error(type_at, rule::type, "a placeholder of type none, expected a tensor");
    grad = lex_.accept_word("grad");
  }
  auto added = graph_->add_placeholder(*role, std::string(name.text), std::move(type), grad, info);
  if (!added.ok()) return lex_.error(type_at, rule::refused, "{}", added.failure().message);
  if (is_complex) statements_.note_complex(graph_->find(name.text));
  return {};
}

// [range(lo,hi)] [hint(h)]
Status FileParser::read_symint(SymInfo& info) {
  const DimRange bounds = SymInfo{}.range;
  const uint32_t at = lex_.peek().at;
  if (lex_.accept_word("range")) {
    CLEAVE_CHECK(lex_.expect_mark('('));
    CLEAVE_TRY(info.range.lo, literals_.read_integer(bounds.lo, bounds.hi));
    CLEAVE_CHECK(lex_.expect_mark(','));
    CLEAVE_TRY(info.range.hi, literals_.read_integer(bounds.lo, bounds.hi));
    CLEAVE_CHECK(lex_.expect_mark(')'));
    if (info.range.lo > info.range.hi)
      return lex_.error(at, rule::symint, "range({},{}) is empty, expected lo <= hi", info.range.lo,
                        info.range.hi);
  }
  const uint32_t hint_at = lex_.peek().at;
  if (!lex_.accept_word("hint")) return {};
  CLEAVE_CHECK(lex_.expect_mark('('));
  CLEAVE_TRY(info.hint, literals_.read_integer(bounds.lo, bounds.hi));
  CLEAVE_CHECK(lex_.expect_mark(')'));
  if (*info.hint < info.range.lo || *info.hint > info.range.hi)
    return lex_.error(hint_at, rule::symint, "hint({}) is outside range({},{})", *info.hint,
                      info.range.lo, info.range.hi);
  return {};
}

Status FileParser::read_body() {
  for (;;) {
    while (lex_.at(TokenKind::newline)) lex_.take();
    if (lex_.accept_word("return")) break;
    if (!lex_.at(TokenKind::value) && !lex_.at(TokenKind::word))
      return lex_.unexpected("a statement or 'return'");
    CLEAVE_CHECK(statements_.read());
  }
  CLEAVE_CHECK(read_return());
  while (lex_.at(TokenKind::newline)) lex_.take();
  CLEAVE_CHECK(lex_.expect_mark('}'));
  return end_line();
}

Status FileParser::read_return() {
  if (lex_.at(TokenKind::newline)) return {};
  do {
    Return entry;
    CLEAVE_TRY(entry.value, statements_.read_value_name());
    if (lex_.accept_mark('>')) {
      entry.kind = lex_.accept_word("grad") ? ReturnKind::grad : ReturnKind::update;
      const uint32_t at = lex_.peek().at;
      CLEAVE_TRY(entry.target, statements_.read_value_name());
      if (!graph_->placeholder_of(entry.target))
        return lex_.error(at, rule::target, "%{} is a result, expected a placeholder after '->'",
                          graph_->name(entry.target));
    }
    graph_->add_return(entry);
  } while (lex_.accept_mark(','));
  return end_line();
}

}  // namespace

namespace {

Result<Program> parse_with(std::string_view text, const std::string& file, const OpRegistry& ops,
                           const Composites* composites) {
  if (text.size() > text_limit::text_bytes)
    return user_error("{}: {}: a text of {} bytes, at most {} are read", file, rule::limit,
                      text.size(), text_limit::text_bytes);
  return FileParser(text, file, ops, composites).read();
}

}  // namespace

Result<Program> parse(std::string_view text, const std::string& file, const OpRegistry& ops) {
  return parse_with(text, file, ops, nullptr);
}

Result<Program> parse(std::string_view text, const std::string& file, const OpRegistry& ops,
                      const Composites& composites) {
  return parse_with(text, file, ops, &composites);
}

}  // namespace cleave
