#include "ir/lex.h"

#include <algorithm>
#include <array>

#include "ir/attr.h"
#include "ir/type.h"

namespace cleave {
namespace {

enum CharClass : uint8_t { digit = 1, letter = 2, name_only = 4, dot = 8 };

// letter: A-Z a-z _    dot: .    name_only: - /
constexpr std::array<uint8_t, 256> char_classes = [] {
  std::array<uint8_t, 256> c{};
  for (int i = '0'; i <= '9'; ++i) c[i] = digit;
  for (int i = 'a'; i <= 'z'; ++i) c[i] = letter;
  for (int i = 'A'; i <= 'Z'; ++i) c[i] = letter;
  c['_'] = letter;
  c['.'] = dot;
  c['-'] = c['/'] = name_only;
  return c;
}();

bool is(char c, int classes) { return (char_classes[static_cast<uint8_t>(c)] & classes) != 0; }

bool is_mark(char c) {
  return std::string_view("()[]{},;:=!+-*").find(c) != std::string_view::npos;
}

constexpr int name_chars = digit | letter | name_only | dot;
constexpr int word_chars = digit | letter | dot;

std::string shown(char c) {
  if (c >= 0x20 && c < 0x7f) return fmt::format("'{}'", c);
  return fmt::format("the byte 0x{:02x}", static_cast<uint8_t>(c));
}

std::string shown(const Token& t) {
  constexpr size_t longest = 40;
  std::string_view text = t.text.substr(0, longest);
  const char* more = t.text.size() > longest ? "..." : "";
  switch (t.kind) {
    case TokenKind::end: return "the end of the text";
    case TokenKind::newline: return "the end of the line";
    case TokenKind::value: return fmt::format("'%{}{}'", text, more);
    case TokenKind::graph: return fmt::format("'@{}{}'", text, more);
    case TokenKind::string: return "a string";
    default: return fmt::format("'{}{}'", text, more);
  }
}

}  // namespace

bool is_name(std::string_view s) {
  return !s.empty() && s.size() <= text_limit::name_bytes &&
         std::all_of(s.begin(), s.end(), [](char c) { return is(c, name_chars); });
}

bool is_symbol_name(std::string_view s) {
  if (!is_name(s) || !is(s[0], letter)) return false;
  if (!std::all_of(s.begin(), s.end(), [](char c) { return is(c, digit | letter); })) return false;
  for (std::string_view word :
       {"true", "false", "none", "inf", "nan", "floordiv", "mod", "min", "max"})
    if (s == word) return false;
  for (int i = 0; i <= static_cast<int>(MemoryFormat::preserve); ++i)
    if (s == name_of(static_cast<MemoryFormat>(i))) return false;
  return !dtype_named(s);
}

void Lexer::bad(const char* rule, std::string text) {
  token_.kind = TokenKind::bad;
  bad_rule_ = rule;
  bad_text_ = std::move(text);
}

// Skips blanks and comments, and newlines while lines wrap.
void Lexer::skip_blanks() {
  for (; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && wrap_)) continue;
    if (c != '#') return;
    size_t end = std::min(text_.find('\n', at_), text_.size());
    comment_ = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end - 1;
  }
}

void Lexer::next() {
  peeked_ = true;
  comment_ = {};
  skip_blanks();
  token_ = {};
  token_.at = static_cast<uint32_t>(at_);
  if (at_ >= text_.size()) return;
  const char c = text_[at_];
  if (c == '\n') {
    token_.kind = TokenKind::newline;
    token_.text = comment_;
    ++at_;
  } else if (c == '%') {
    lex_name(TokenKind::value);
  } else if (c == '@') {
    lex_name(TokenKind::graph);
  } else if (is(c, letter)) {
    size_t begin = at_;
    while (at_ < text_.size() && is(text_[at_], word_chars)) ++at_;
    token_.kind = TokenKind::word;
    token_.text = text_.substr(begin, at_ - begin);
  } else if (is(c, digit)) {
    lex_number();
  } else if (c == '"') {
    lex_string();
  } else if (is_mark(c)) {
    bool arrow = c == '-' && here(1) == '>';
    token_.kind = TokenKind::mark;
    token_.mark = arrow ? '>' : c;
    token_.text = text_.substr(at_, arrow ? 2 : 1);
    at_ += token_.text.size();
  } else {
    bad(rule::syntax, fmt::format("{} begins nothing", shown(c)));
  }
}

// %name or @name; a '-' that begins the arrow of `%a->%b` isn't part of the name.
void Lexer::lex_name(TokenKind kind) {
  size_t begin = ++at_;
  while (at_ < text_.size() && is(text_[at_], name_chars)) ++at_;
  if (at_ > begin && text_[at_ - 1] == '-' && here() == '>') --at_;
  token_.kind = kind;
  token_.text = text_.substr(begin, at_ - begin);
  if (token_.text.empty())
    return bad(rule::syntax, fmt::format("'{}' without a name, expected letters, digits or _.-/",
                                         text_[begin - 1]));
  if (token_.text.size() > text_limit::name_bytes)
    bad(rule::limit, fmt::format("a name of {} bytes, at most {} are allowed", token_.text.size(),
                                 text_limit::name_bytes));
}

// digits [. digits] [e [+-] digits]; the value is read by the parser, which knows the sign.
void Lexer::lex_number() {
  size_t begin = at_;
  auto digits = [&] {
    while (is(here(), digit)) ++at_;
  };
  token_.kind = TokenKind::integer;
  digits();
  if (here() == '.') {
    ++at_;
    digits();
    token_.kind = TokenKind::real;
  }
  size_t sign = here(1) == '+' || here(1) == '-' ? 1 : 0;
  if ((here() == 'e' || here() == 'E') && is(here(1 + sign), digit)) {
    at_ += 1 + sign;
    digits();
    token_.kind = TokenKind::real;
  }
  const size_t end = at_;
  while (at_ < text_.size() && is(text_[at_], word_chars)) ++at_;
  token_.text = text_.substr(begin, at_ - begin);
  if (at_ != end)
    bad(rule::number, fmt::format("'{}' is no number, expected one such as 12 or 1e-05",
                                  token_.text.substr(0, 40)));
}

void Lexer::lex_string() {
  size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n')
    at_ += text_[at_] == '\\' && here(1) != '\n' ? 2 : 1;
  at_ = std::min(at_, text_.size());
  if (here() != '"') return bad(rule::string, "a string without an end, expected '\"' on its line");
  token_.kind = TokenKind::string;
  token_.text = text_.substr(begin, at_ - begin);
  ++at_;
  if (token_.text.size() > text_limit::string_bytes)
    bad(rule::limit, fmt::format("a string of {} bytes, at most {} are allowed", token_.text.size(),
                                 text_limit::string_bytes));
}

Status Lexer::expect_mark(char c) {
  if (accept_mark(c)) return {};
  return unexpected(c == '>' ? "'->'" : fmt::format("'{}'", c));
}

Result<Token> Lexer::expect(TokenKind kind, std::string_view called) {
  if (at(kind)) return take();
  return unexpected(called);
}

Failure Lexer::unexpected(std::string_view expected) {
  const Token& t = peek();
  if (t.kind == TokenKind::bad) return placed(t.at, ErrorKind::user, bad_rule_, bad_text_);
  return error(t.at, rule::syntax, "found {}, expected {}", shown(t), expected);
}

size_t Lexer::line_of(uint32_t at) const {
  return 1 + static_cast<size_t>(std::count(text_.begin(), text_.begin() + at, '\n'));
}

// A long line is cut to a window around the error; characters other than printable ASCII are shown
// as '?', so that the caret is under its column.
Failure Lexer::placed(uint32_t at, ErrorKind kind, std::string_view rule,
                      const std::string& text) const {
  constexpr size_t window = 120;
  size_t begin = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  size_t end = std::min(text_.find('\n', at), text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  const size_t column = at - begin + 1;
  std::string dots_before, dots_after;
  if (end - begin > window) {
    size_t from = at > begin + window / 2 ? at - window / 2 : begin;
    if (from > begin) dots_before = "...";
    if (from + window < end) dots_after = "...";
    begin = from;
    end = std::min(end, from + window);
  }
  std::string line(text_.substr(begin, std::max(end, begin) - begin));
  for (char& c : line)
    if (c == '\t')
      c = ' ';
    else if (c < 0x20 || c >= 0x7f)
      c = '?';
  return {kind, fmt::format("{}:{}:{}: {}: {}\n  {}{}{}\n  {}^", file_, line_of(at), column, rule,
                            text, dots_before, line, dots_after,
                            std::string(dots_before.size() + at - begin, ' '))};
}

}  // namespace cleave
