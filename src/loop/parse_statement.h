// Reads the statements of a kernel's text (grammar in parse.h), and keeps what is in scope.
#pragma once
#include "loop/parse_expr.h"

namespace cleave::loop {

class StatementParser {
 public:
  StatementParser(Lexer& lex, Kernel& kernel, KernelNames& names)
      : lex_(lex), kernel_(kernel), names_(names), exprs_(lex, kernel, names) {}

  // "{" {statement newline} "}" as the kernel's body.
  Status read_body();
  // Declares a variable, to the end of its block.
  Status declare(const Token& name, Expr var, bool is_mutable = false);
  ExprParser& exprs() { return exprs_; }

 private:
  class Scope;

  // `folds`: those of the Reduce whose block it is, else null.
  Status read_block(Block& to, std::vector<Fold>* folds, std::vector<Token>* fold_names);
  Status read_statement(Block& to, std::vector<Fold>* folds, std::vector<Token>* fold_names);
  Status read_for(Block& to);
  Status read_reduce(Block& to);
  Status read_definition(Block& to, bool is_mutable);
  Status read_assignment(Block& to, const Token& name, const Token* word);
  Status read_store(Block& to);
  Status read_if(Block& to);
  Status read_check(Block& to);
  // Accepts a word about how a loop runs; only scheduled kernels have them.
  bool accept_way(std::string_view word) { return kernel_.is_scheduled && lex_.accept_word(word); }
  Status read_rows(For& to);
  // `lanes`: of a vector of this loop.
  Status read_vectors(Vectors& to, Exprs& ahead, int lanes);
  Status read_blocks(Reduce& to);
  Result<Loop> read_loop();
  Result<Token> read_new_name();
  Expr fresh(const Token& name, DType type) {
    return make_var(next_variable_++, std::string(name.text), type);
  }

  Lexer& lex_;
  Kernel& kernel_;
  KernelNames& names_;
  ExprParser exprs_;
  int64_t next_variable_ = 0;
  Nesting nesting_{text_limit::block_nesting, "blocks in each other"};
  std::vector<std::string_view> entered_;  // the variables in scope, in order
};

}  // namespace cleave::loop
