// Tokens of the graph text, and errors that point into the text.
//
//   %wte.weight  @main  native_layer_norm  12  1e-05  "tanh"  ( ) [ ] { } , ; : = ! + - *  ->
//
// A token is a view of the text: nothing is copied. A comment starts at `#` and ends with its line;
// the `newline` token carries the comment before it, since `# file:line` is a statement's source
// location.
//
// Errors read
//   file:line:column: RULE: what is, what was expected
//     the line
//         ^
// with columns counted in bytes from 1.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave {

// Bounds that keep the parser's stack and memory proportional to the text.
namespace text_limit {
constexpr size_t text_bytes = 0xfffffff0u;  // offsets are 32 bits
constexpr size_t string_bytes = size_t{1} << 20;
constexpr size_t name_bytes = 4096;
constexpr int nesting = 64;        // of brackets, calls and parentheses in a literal
constexpr int graph_nesting = 64;  // of subgraphs in subgraphs
}  // namespace text_limit

// Rules of the parser, numbered as in doc/ir.md.
namespace rule {
constexpr const char* syntax = "P1";
constexpr const char* version = "P2";
constexpr const char* limit = "P3";
constexpr const char* number = "P4";
constexpr const char* string = "P5";
constexpr const char* graph = "P6";
constexpr const char* role = "P7";
constexpr const char* type = "P8";
constexpr const char* symint = "P9";
constexpr const char* size = "P10";
constexpr const char* taken = "P11";
constexpr const char* value = "P12";
constexpr const char* op = "P13";
constexpr const char* operand = "P14";
constexpr const char* attr = "P15";
constexpr const char* results = "P16";
constexpr const char* types = "P17";
constexpr const char* tag = "P18";
constexpr const char* target = "P19";
constexpr const char* refused = "P20";
}  // namespace rule

enum class TokenKind : uint8_t {
  end,
  newline,
  value,
  graph,
  word,
  integer,
  real,
  string,
  mark,
  bad
};

struct Token {
  TokenKind kind = TokenKind::end;
  char mark = 0;          // of a mark: the character, '>' for ->
  uint32_t at = 0;        // offset of the first character
  std::string_view text;  // without %, @ and quotes; of a newline: its comment; else as written
};

class Lexer {
 public:
  // Both must outlive the lexer.
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  const Token& peek() {
    if (!peeked_) next();
    return token_;
  }
  Token take() {
    peek();
    peeked_ = false;
    return token_;
  }
  bool at(TokenKind kind) { return peek().kind == kind; }
  bool at_mark(char c) { return peek().kind == TokenKind::mark && token_.mark == c; }
  bool at_word(std::string_view w) { return peek().kind == TokenKind::word && token_.text == w; }
  bool accept_mark(char c) { return at_mark(c) && (take(), true); }
  bool accept_word(std::string_view w) { return at_word(w) && (take(), true); }
  Status expect_mark(char c);
  // `called` describes the expected token in messages.
  Result<Token> expect(TokenKind kind, std::string_view called);

  // A header may span lines: newlines and comments are skipped while this is on. Switch it only
  // between tokens.
  void wrap_lines(bool on) { wrap_ = on; }

  // "found X, expected Y" at the next token, or the token's own error if it is malformed.
  Failure unexpected(std::string_view expected);
  template <class... Args>
  Failure error(uint32_t at, std::string_view rule, fmt::format_string<Args...> text,
                Args&&... args) const {
    return placed(at, ErrorKind::user, rule, fmt::format(text, std::forward<Args>(args)...));
  }
  Failure placed(uint32_t at, ErrorKind kind, std::string_view rule, const std::string& text) const;
  // The line number of an offset, from 1.
  size_t line_of(uint32_t at) const;

 private:
  void next();
  void skip_blanks();
  void lex_name(TokenKind kind);
  void lex_number();
  void lex_string();
  void bad(const char* rule, std::string text);
  char here(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  std::string_view comment_;
  Token token_;
  bool peeked_ = false;
  bool wrap_ = false;
  const char* bad_rule_ = "";
  std::string bad_text_;
};

// Whether s is a valid value or graph name: [A-Za-z0-9_.\-/]+, at most text_limit::name_bytes.
bool is_name(std::string_view s);
// Whether s is a valid symint name: [A-Za-z_][A-Za-z0-9_]*, and not a word used in literals.
bool is_symbol_name(std::string_view s);

}  // namespace cleave
