#include "loop/parse_statement.h"

#include <algorithm>

#include "ir/graph.h"
#include "ir/parse_literal.h"

namespace cleave::loop {
namespace {

constexpr std::string_view keywords[] = {"for",  "let",  "var",   "if",  "check",
                                         "fold", "true", "false", "inf", "nan"};

bool is_variable_name(std::string_view s) {
  return s.find('.') == std::string_view::npos && std::ranges::find(keywords, s) == end(keywords);
}

}  // namespace

// A block's variables, forgotten at its end.
class StatementParser::Scope {
 public:
  explicit Scope(StatementParser& p) : p_(p), level_(p.nesting_), before_(p.entered_.size()) {}
  ~Scope() {
    for (; p_.entered_.size() > before_; p_.entered_.pop_back())
      p_.names_.variables.erase(p_.entered_.back());
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  Status check(uint32_t at) const { return level_.check(p_.lex_, at); }

 private:
  StatementParser& p_;
  Nested level_;
  size_t before_;
};

// ---- names

Status StatementParser::declare(const Token& name, Expr var, bool is_mutable) {
  if (!is_variable_name(name.text))
    return lex_.error(name.at, rule::taken,
                      "'{}' names no variable, expected letters, digits and _ that are no word of "
                      "the text",
                      name.text.substr(0, 40));
  if (!names_.variables.try_emplace(name.text, Variable{std::move(var), is_mutable}).second)
    return lex_.error(name.at, rule::taken, "the variable '{}' stands before, expected a new name",
                      name.text.substr(0, 40));
  entered_.push_back(name.text);
  return {};
}

Result<Token> StatementParser::read_new_name() {
  return lex_.expect(TokenKind::word, "a variable's name");
}

// ---- blocks

Status StatementParser::read_body() { return read_block(kernel_.body, nullptr, nullptr); }

Status StatementParser::read_block(Block& to, std::vector<Fold>* folds,
                                   std::vector<Token>* fold_names) {
  if (!lex_.accept_mark('{')) return lex_.unexpected("'{'");
  for (;;) {
    while (lex_.at(TokenKind::newline)) lex_.take();
    if (lex_.accept_mark('}')) return {};
    CLEAVE_CHECK(read_statement(to, folds, fold_names));
    if (!lex_.at(TokenKind::newline) && !lex_.at_mark('}'))
      return lex_.unexpected("an operator, the end of the line or '}'");
  }
}

Status StatementParser::read_statement(Block& to, std::vector<Fold>* folds,
                                       std::vector<Token>* fold_names) {
  const uint32_t at = lex_.peek().at;
  const auto is_late = [&]() -> Status {
    if (!folds || folds->empty()) return {};
    return lex_.error(at, rule::place, "a statement after a fold, expected the folds last");
  };
  if (lex_.at(TokenKind::value)) {
    CLEAVE_CHECK(is_late());
    return read_store(to);
  }
  CLEAVE_TRY(const Token first, lex_.expect(TokenKind::word, "a statement or '}'"));
  if (std::ranges::find(keywords, first.text) != end(keywords)) CLEAVE_CHECK(is_late());
  if (first.text == "for") return read_for(to);
  if (first.text == "fold") return read_reduce(to);
  if (first.text == "let") return read_definition(to, false);
  if (first.text == "var") return read_definition(to, true);
  if (first.text == "if") return read_if(to);
  if (first.text == "check") return read_check(to);
  if (!lex_.accept_mark('='))
    return lex_.unexpected(fmt::format("'=' after '{}'", first.text.substr(0, 40)));
  const auto op = lex_.at(TokenKind::word) ? reduce_op_named(lex_.peek().text) : std::nullopt;
  if (!op) {
    CLEAVE_CHECK(is_late());
    return read_assignment(to, first, nullptr);
  }
  const Token word = lex_.take();  // s = max of t, or s = max(s, t)
  if (!lex_.accept_word("of")) {
    CLEAVE_CHECK(is_late());
    return read_assignment(to, first, &word);
  }
  if (!folds)
    return lex_.error(at, rule::place, "a fold outside, expected it in a block of `fold over`");
  const uint32_t value_at = lex_.peek().at;
  CLEAVE_TRY(Expr value, exprs_.read({}));
  if (!takes(*op, value.type()))
    return lex_.error(value_at, rule::type, "{} of {}, expected i64, i32 or bool", name_of(*op),
                      cleave::name_of(value.type()));
  folds->push_back({*op, fresh(first, value.type()), std::move(value)});
  fold_names->push_back(first);
  return {};
}

// ---- loops

Result<Loop> StatementParser::read_loop() {
  CLEAVE_TRY(const Token name, read_new_name());
  if (!lex_.accept_word("in")) return lex_.unexpected("'in'");
  CLEAVE_TRY(Expr extent, exprs_.read_typed(DType::i64, "an extent"));
  Loop out{fresh(name, DType::i64), std::move(extent)};
  CLEAVE_CHECK(declare(name, out.var));
  return out;
}

Status StatementParser::read_for(Block& to) {
  const uint32_t at = lex_.peek().at;
  const bool is_outermost = nesting_.levels == 0;
  const Scope scope(*this);
  CLEAVE_CHECK(scope.check(at));
  For out;
  CLEAVE_TRY(out.loop, read_loop());
  const uint32_t kind_at = lex_.peek().at;
  if (lex_.accept_word("parallel"))
    out.kind = ForKind::parallel;
  else if (lex_.accept_word("lanes"))
    out.kind = ForKind::lanes;
  else if (lex_.accept_word("independent"))
    out.kind = ForKind::independent;
  if (out.kind == ForKind::parallel && !is_outermost)
    return lex_.error(
        kind_at, rule::place,
        "a parallel loop inside a block, expected it outermost; leave 'parallel' out");
  const uint32_t rows_at = lex_.peek().at;
  CLEAVE_CHECK(read_rows(out));
  CLEAVE_CHECK(read_vectors(out.vectors, out.ahead,
                            out.kind == ForKind::lanes ? column_lanes : reduce_lanes));
  if (const int64_t* n = out.loop.extent.as_const_int();
      out.kind == ForKind::lanes && out.vectors.any() && n && *n > column_lanes)
    return lex_.error(rows_at, rule::place, "{} columns in a loop of at most {}", *n, column_lanes);
  if (accept_way("next")) {
    CLEAVE_TRY(const Token next, read_new_name());
    out.next = fresh(next, DType::i64);
    CLEAVE_CHECK(declare(next, out.next));
  }
  if (!lex_.at_mark('{'))
    return lex_.unexpected("an operator, 'parallel', 'lanes', 'independent' or '{'");
  CLEAVE_CHECK(read_block(out.body, nullptr, nullptr));
  if (out.rows.shared > out.body.size() ||
      (out.rows.shared > 0 && !std::holds_alternative<Let>(out.body[0].node)))
    return lex_.error(rows_at, rule::place,
                      "{} statements of a row, expected a let of its number and no more statements "
                      "than there are",
                      out.rows.shared);
  to.push_back({std::move(out)});
  return {};
}

// ---- how loops run

Status StatementParser::read_rows(For& to) {
  if (to.kind != ForKind::parallel || !accept_way("rows")) return {};
  CLEAVE_TRY(to.rows.length, exprs_.read_typed(DType::i64, "a row's length"));
  if (!lex_.accept_word("shared")) return lex_.unexpected("an operator or 'shared'");
  CLEAVE_TRY(const int64_t shared, exprs_.read_integer(1, INT32_MAX));
  to.rows.shared = static_cast<size_t>(shared);
  return {};
}

Status StatementParser::read_vectors(Vectors& to, Exprs& ahead, int lanes) {
  if (accept_way("by")) {
    const uint32_t at = lex_.peek().at;
    CLEAVE_TRY(const int64_t read, exprs_.read_integer(reduce_lanes, lanes));
    if (read != reduce_lanes && read != lanes)
      return lex_.error(at, rule::place, "vectors of {}, expected {} or {}", read, reduce_lanes,
                        lanes);
    to.lanes = static_cast<int>(read);
    to.has_tail = lex_.accept_word("tail");
  }
  if (!accept_way("ahead")) return {};
  do {
    if (!lex_.at(TokenKind::value))
      return lex_.error(lex_.peek().at, rule::place,
                        "what is prefetched, expected an element such as %x[i]");
    CLEAVE_TRY(Expr e, exprs_.read_element());
    ahead.push_back(std::move(e));
  } while (lex_.accept_mark(','));
  return {};
}

Status StatementParser::read_blocks(Reduce& to) {
  const uint32_t at = lex_.peek().at;
  if (!accept_way("blocks")) return {};
  if (to.blocks)
    return lex_.error(at, rule::place, "a second loop in blocks, expected one in a fold");
  CLEAVE_TRY(const int64_t iterations, exprs_.read_integer(1, INT64_MAX));
  to.blocks = SumBlocks{to.loops.size() - 1, iterations};
  return {};
}

Status StatementParser::read_reduce(Block& to) {
  if (!lex_.accept_word("over")) return lex_.unexpected("'over'");
  Reduce out;
  std::vector<Token> fold_names;
  {
    const uint32_t at = lex_.peek().at;
    const Scope scope(*this);
    CLEAVE_CHECK(scope.check(at));
    do {
      if (out.loops.size() == text_limit::folded_loops)
        return lex_.error(lex_.peek().at, rule::limit, "more than {} loops of a fold",
                          text_limit::folded_loops);
      CLEAVE_TRY(Loop l, read_loop());
      out.loops.push_back(std::move(l));
      CLEAVE_CHECK(read_blocks(out));
    } while (lex_.accept_mark(','));
    out.ordered = accept_way("ordered");
    CLEAVE_CHECK(read_vectors(out.vectors, out.ahead, reduce_lanes));
    if (!lex_.at_mark('{')) return lex_.unexpected("an operator, ',' or '{'");
    CLEAVE_CHECK(read_block(out.body, &out.folds, &fold_names));
  }
  for (size_t i = 0; i < fold_names.size(); ++i)
    CLEAVE_CHECK(declare(fold_names[i], out.folds[i].var));
  to.push_back({std::move(out)});
  return {};
}

// ---- values

Status StatementParser::read_definition(Block& to, bool is_mutable) {
  CLEAVE_TRY(const Token name, read_new_name());
  CLEAVE_CHECK(lex_.expect_mark('='));
  CLEAVE_TRY(Expr value, exprs_.read({}));
  Expr var = fresh(name, value.type());
  CLEAVE_CHECK(declare(name, var, is_mutable));
  if (is_mutable)
    to.push_back({Define{std::move(var), std::move(value)}});
  else
    to.push_back({Let{std::move(var), std::move(value)}});
  return {};
}

Status StatementParser::read_assignment(Block& to, const Token& name, const Token* word) {
  const auto found = names_.variables.find(name.text);
  if (found == names_.variables.end())
    return lex_.error(name.at, rule::unknown,
                      "the variable '{}' is not known here, expected a var; define it by let or "
                      "var",
                      name.text.substr(0, 40));
  if (!found->second.is_mutable)
    return lex_.error(name.at, rule::access,
                      "'{}' doesn't change, expected a var; define it by var",
                      name.text.substr(0, 40));
  const Expr var = found->second.var;
  const uint32_t at = word ? word->at : lex_.peek().at;
  CLEAVE_TRY(Expr value, word ? exprs_.read_from(*word, var.type()) : exprs_.read(var.type()));
  if (value.type() != var.type())
    return lex_.error(at, rule::type, "a value of {} for '{}', expected {}; convert it by {}(...)",
                      cleave::name_of(value.type()), var->name(), cleave::name_of(var.type()),
                      cleave::name_of(var.type()));
  to.push_back({Assign{var, std::move(value)}});
  return {};
}

Status StatementParser::read_store(Block& to) {
  const Token name = lex_.take();
  Store out;
  CLEAVE_TRY(out.buffer, exprs_.buffer_of(name));
  const Buffer& b = kernel_.buffers[static_cast<size_t>(out.buffer)];
  if (b.access == Access::read)
    return lex_.error(name.at, rule::access,
                      "%{} is only read, expected a buffer that is written; declare it write or "
                      "update",
                      name.text.substr(0, 40));
  CLEAVE_TRY(out.index, exprs_.read_index());
  CLEAVE_CHECK(lex_.expect_mark('='));
  CLEAVE_TRY(out.value, exprs_.read_typed(compute_type(b.dtype), "a stored value"));
  to.push_back({std::move(out)});
  return {};
}

Status StatementParser::read_if(Block& to) {
  If out;
  CLEAVE_TRY(out.condition, exprs_.read_typed(DType::boolean, "a condition"));
  const uint32_t at = lex_.peek().at;
  if (!lex_.at_mark('{')) return lex_.unexpected("an operator or '{'");
  const Scope scope(*this);
  CLEAVE_CHECK(scope.check(at));
  CLEAVE_CHECK(read_block(out.then, nullptr, nullptr));
  to.push_back({std::move(out)});
  return {};
}

Status StatementParser::read_check(Block& to) {
  Check out;
  CLEAVE_TRY(out.condition, exprs_.read_typed(DType::boolean, "a condition"));
  if (!lex_.at(TokenKind::string)) return lex_.unexpected("an operator or the message, a string");
  const GraphTable no_graphs;
  CLEAVE_TRY(const AttrValue message, LiteralParser(lex_, no_graphs).read_value());
  out.message = *message.get<std::string>();
  out.value = Expr(0);
  out.bound = Expr(-1);
  if (lex_.accept_word("index")) {
    CLEAVE_TRY(out.value, exprs_.read_typed(DType::i64, "an index"));
    if (!lex_.accept_word("bound")) return lex_.unexpected("an operator or 'bound'");
    CLEAVE_TRY(out.bound, exprs_.read_typed(DType::i64, "a bound"));
    if (lex_.accept_word("from")) {
      CLEAVE_CHECK(exprs_.read_integer(0, 0));
      out.from_zero = true;
    }
  }
  to.push_back({std::move(out)});
  return {};
}

}  // namespace cleave::loop
