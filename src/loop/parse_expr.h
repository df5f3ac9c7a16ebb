// Reads the expressions of a kernel's text (grammar in parse.h).
//
// A number gets its type from where it is: the place (an index is i64), else the expression beside
// it, else f32 for 1.0 and i64 for 1. It is kept as text until then.
#pragma once
#include <functional>
#include <unordered_map>

#include "ir/nested.h"
#include "loop/signature.h"

namespace cleave::loop {

// Limits besides those of ir/lex.h, which keep recursion over a kernel within 8 MiB of stack, also
// under AddressSanitizer. A sum of products of 2500 calls, the most that fusion makes, has 1268
// parentheses and 2536 levels (2026-11-22).
namespace text_limit {
constexpr int nesting = 1500;            // of parentheses, calls and indices in an expression
constexpr int expression_levels = 4000;  // of a sum, each term is one
constexpr int block_nesting = 64;
constexpr int folded_loops = 64;
constexpr int64_t elements = int64_t{1} << 56;  // of a buffer
}  // namespace text_limit

// Rules of the loops' text; P1 to P5 are those of ir/lex.h.
namespace rule {
using cleave::rule::limit;
using cleave::rule::number;
using cleave::rule::syntax;
constexpr const char* taken = "L1";
constexpr const char* unknown = "L2";
constexpr const char* type = "L3";
constexpr const char* access = "L4";
constexpr const char* place = "L5";
constexpr const char* call = "L6";
}  // namespace rule

struct Variable {
  Expr var;
  bool is_mutable = false;
};

// The names in scope, each once.
struct KernelNames {
  std::unordered_map<std::string_view, int64_t> buffers;
  std::unordered_map<std::string_view, Variable> variables;
};

class ExprParser {
 public:
  using Wanted = std::optional<DType>;

  ExprParser(Lexer& lex, const Kernel& kernel, const KernelNames& names)
      : lex_(lex), kernel_(kernel), names_(names) {}

  // Reads an expression. `wanted` is the type of a number that is all of it.
  Result<Expr> read(Wanted wanted);
  // The same, after its first word has been taken.
  Result<Expr> read_from(const Token& word, Wanted wanted);
  // Reads an expression of this type; `what` names it in messages: "an index".
  Result<Expr> read_typed(DType type, std::string_view what);
  // The buffer that a token names.
  Result<int64_t> buffer_of(const Token& name) const;
  // "[" index "]"
  Result<Expr> read_index() {
    CLEAVE_TRY(Operand index, read_index_operand());
    return std::move(index.expr);
  }
  // "%x" "[" index "]", of a buffer that may be one that is only written.
  Result<Expr> read_element();
  Result<int64_t> read_integer(int64_t lo, int64_t hi);

 private:
  struct Operand {
    Expr expr;  // undefined while it is a number without a type
    int levels = 1;
    uint32_t at = 0;
    Token number = {};
    bool negative = false;
    bool is_untyped() const { return !expr.defined(); }
  };

  Result<Operand> read_sum(Wanted wanted, const Token* word = nullptr);
  Result<Operand> read_product(Wanted wanted, const Token* word);
  Result<Operand> read_factor(Wanted wanted);
  Result<Operand> read_word(const Token& word, Wanted wanted);
  Result<Operand> read_load();
  Result<Operand> read_index_operand();
  Result<Operand> read_cast(const Token& word, DType type);
  Result<Operand> read_rounding(const Token& word, DType stored);
  Result<Operand> read_call(const Token& word, Op op, Wanted wanted);
  Result<Operand> call(uint32_t at, Op op, std::vector<Operand> operands, Wanted wanted);
  Failure unknown_call(const Token& word) const;

  Status settle(Operand& number, Wanted wanted) const;
  Result<Expr> settled(Operand o, Wanted wanted) const;
  Result<int64_t> integer_of(const Operand& number, DType type) const;
  Result<double> real_of(const Operand& number, DType type) const;
  // The operation of these operands, which have their types.
  Result<Operand> made(uint32_t at, std::vector<Operand> operands,
                       const std::function<Expr(Operands)>& operation) const;

  Lexer& lex_;
  const Kernel& kernel_;
  const KernelNames& names_;
  Nesting nesting_{text_limit::nesting, "levels of parentheses; name inner values by `let`"};
};

}  // namespace cleave::loop
