#include "loop/parse_expr.h"

#include "base/edit_distance.h"
#include "ir/type.h"

namespace cleave::loop {
namespace {

std::string_view shortened(std::string_view text) { return text.substr(0, 40); }

bool is_number_word(std::string_view word) { return word == "inf" || word == "nan"; }

// round_bf16 to bf16: the types that are narrower than the one they are computed in.
std::optional<DType> rounding_named(std::string_view word) {
  constexpr std::string_view before = "round_";
  if (!word.starts_with(before)) return std::nullopt;
  const auto type = dtype_named(word.substr(before.size()));
  return type && *type != DType::c64 && compute_type(*type) != *type ? type : std::nullopt;
}

}  // namespace

// ---- what a place reads

Result<Expr> ExprParser::read(Wanted wanted) {
  CLEAVE_TRY(Operand o, read_sum(wanted));
  return settled(std::move(o), wanted);
}

Result<Expr> ExprParser::read_from(const Token& word, Wanted wanted) {
  CLEAVE_TRY(Operand o, read_sum(wanted, &word));
  return settled(std::move(o), wanted);
}

Result<Expr> ExprParser::read_typed(DType type, std::string_view what) {
  const uint32_t at = lex_.peek().at;
  CLEAVE_TRY(Expr e, read(type));
  if (e.type() != type)
    return lex_.error(at, rule::type, "{} of {}, expected {}; convert it by {}(...)", what,
                      cleave::name_of(e.type()), cleave::name_of(type), cleave::name_of(type));
  return e;
}

Result<int64_t> ExprParser::buffer_of(const Token& name) const {
  const auto found = names_.buffers.find(name.text);
  if (found == names_.buffers.end())
    return lex_.error(name.at, rule::unknown,
                      "the buffer %{} is not known, expected one of the kernel's header",
                      shortened(name.text));
  return found->second;
}

// ---- sums, products, factors

Result<ExprParser::Operand> ExprParser::read_sum(Wanted wanted, const Token* word) {
  CLEAVE_TRY(Operand sum, read_product(wanted, word));
  while (lex_.at_mark('+') || lex_.at_mark('-')) {
    const Token mark = lex_.take();
    CLEAVE_TRY(Operand next, read_product(wanted, nullptr));
    std::vector<Operand> both;
    both.push_back(std::move(sum));
    both.push_back(std::move(next));
    CLEAVE_TRY(sum, call(mark.at, mark.mark == '+' ? Op::add : Op::sub, std::move(both), wanted));
  }
  return sum;
}

Result<ExprParser::Operand> ExprParser::read_product(Wanted wanted, const Token* word) {
  CLEAVE_TRY(Operand product, word ? read_word(*word, wanted) : read_factor(wanted));
  while (lex_.at_mark('*')) {
    const uint32_t at = lex_.take().at;
    CLEAVE_TRY(Operand next, read_factor(wanted));
    std::vector<Operand> both;
    both.push_back(std::move(product));
    both.push_back(std::move(next));
    CLEAVE_TRY(product, call(at, Op::mul, std::move(both), wanted));
  }
  return product;
}

Result<ExprParser::Operand> ExprParser::read_factor(Wanted wanted) {
  Operand o;
  o.at = lex_.peek().at;
  if (lex_.at(TokenKind::value)) return read_load();
  if (lex_.accept_mark('(')) {
    Nested level(nesting_);
    CLEAVE_CHECK(level.check(lex_, o.at));
    CLEAVE_TRY(o, read_sum(wanted));
    if (!lex_.accept_mark(')')) return lex_.unexpected("an operator or ')'");
    return o;
  }
  o.negative = lex_.accept_mark('-');
  const Token& t = lex_.peek();
  if (t.kind == TokenKind::integer || t.kind == TokenKind::real ||
      (t.kind == TokenKind::word && is_number_word(t.text))) {
    o.number = lex_.take();
    return o;
  }
  if (o.negative) return lex_.unexpected("a number after '-'; of anything else write neg(x)");
  if (t.kind != TokenKind::word)
    return lex_.unexpected("an expression such as i, %x[i], 1.0 or exp(t)");
  const Token word = lex_.take();
  return read_word(word, wanted);
}

Result<ExprParser::Operand> ExprParser::read_word(const Token& word, Wanted wanted) {
  Operand o;
  o.at = word.at;
  if (!lex_.at_mark('(')) {
    if (word.text == "true" || word.text == "false") {
      o.expr = constant_int(DType::boolean, word.text == "true");
      return o;
    }
    if (is_number_word(word.text)) {
      o.number = word;
      return o;
    }
    const auto found = names_.variables.find(word.text);
    if (found == names_.variables.end())
      return lex_.error(word.at, rule::unknown,
                        "the variable '{}' is not known here, expected one of a loop around it or "
                        "a let, var or fold before it",
                        shortened(word.text));
    o.expr = found->second.var;
    return o;
  }
  lex_.take();
  Nested level(nesting_);
  CLEAVE_CHECK(level.check(lex_, word.at));
  if (const auto type = dtype_named(word.text)) return read_cast(word, *type);
  if (const auto stored = rounding_named(word.text)) return read_rounding(word, *stored);
  if (const auto op = call_named(word.text)) return read_call(word, *op, wanted);
  return unknown_call(word);
}

// ---- memory

Result<ExprParser::Operand> ExprParser::read_index_operand() {
  const uint32_t at = lex_.peek().at;
  if (!lex_.accept_mark('[')) return lex_.unexpected("'[' and an index");
  Nested level(nesting_);
  CLEAVE_CHECK(level.check(lex_, at));
  CLEAVE_TRY(Operand index, read_sum(DType::i64));
  CLEAVE_CHECK(settle(index, DType::i64));
  if (index.expr.type() != DType::i64)
    return lex_.error(index.at, rule::type, "an index of {}, expected i64; convert it by i64(...)",
                      cleave::name_of(index.expr.type()));
  if (!lex_.accept_mark(']')) return lex_.unexpected("an operator or ']'");
  return index;
}

Result<Expr> ExprParser::read_element() {
  CLEAVE_TRY(const int64_t buffer, buffer_of(lex_.take()));
  CLEAVE_TRY(Expr index, read_index());
  return load(buffer, kernel_.buffers[static_cast<size_t>(buffer)].dtype, std::move(index));
}

Result<ExprParser::Operand> ExprParser::read_load() {
  const Token name = lex_.take();
  CLEAVE_TRY(const int64_t buffer, buffer_of(name));
  const Buffer& b = kernel_.buffers[static_cast<size_t>(buffer)];
  if (b.access == Access::write)
    return lex_.error(name.at, rule::access,
                      "%{} is only written, expected a buffer that is read; declare it update",
                      shortened(name.text));
  std::vector<Operand> index(1);
  CLEAVE_TRY(index[0], read_index_operand());
  return made(name.at, std::move(index),
              [&](Operands at) { return load(buffer, b.dtype, std::move(at[0])); });
}

// ---- calls

// T(1) is a number of that type, T(x) a conversion.
Result<ExprParser::Operand> ExprParser::read_cast(const Token& word, DType type) {
  if (compute_type(type) != type)
    return lex_.error(word.at, rule::type,
                      "nothing is computed in {}, expected f64, f32, i64, i32 or bool{}", word.text,
                      type == DType::c64 ? ""
                                         : fmt::format("; a value that {} holds is round_{}(x)",
                                                       word.text, word.text));
  std::vector<Operand> x(1);
  CLEAVE_TRY(x[0], read_sum(std::nullopt));
  if (!lex_.accept_mark(')')) return lex_.unexpected("an operator or ')'");
  if (x[0].is_untyped()) {
    CLEAVE_CHECK(settle(x[0], type));
    return std::move(x[0]);
  }
  if (x[0].expr.type() == type)
    return lex_.error(word.at, rule::type,
                      "{}() of what is {}, expected another type; leave it out", word.text,
                      word.text);
  return made(word.at, std::move(x),
              [&](Operands e) { return ExprNode::make(Op::cast, type, std::move(e)); });
}

Result<ExprParser::Operand> ExprParser::read_rounding(const Token& word, DType stored) {
  const DType type = compute_type(stored);
  std::vector<Operand> x(1);
  CLEAVE_TRY(x[0], read_sum(type));
  CLEAVE_CHECK(settle(x[0], type));
  if (x[0].expr.type() != type)
    return lex_.error(x[0].at, rule::type, "{}() of {}, expected {}; convert it by {}(...)",
                      word.text, cleave::name_of(x[0].expr.type()), cleave::name_of(type),
                      cleave::name_of(type));
  if (!lex_.accept_mark(')')) return lex_.unexpected("an operator or ')'");
  return made(word.at, std::move(x),
              [&](Operands e) { return round_to_stored(std::move(e[0]), stored); });
}

Result<ExprParser::Operand> ExprParser::read_call(const Token& word, Op op, Wanted wanted) {
  const size_t count = operand_count(op);
  std::vector<Operand> operands;
  do {
    if (operands.size() == count)
      return lex_.error(lex_.peek().at, rule::call, "more than {} operand{} of {}, expected ')'",
                        count, count == 1 ? "" : "s", word.text);
    CLEAVE_TRY(Operand o, read_sum(wanted_by(op, operands.size(), wanted)));
    operands.push_back(std::move(o));
  } while (lex_.accept_mark(','));
  if (operands.size() < count && lex_.at_mark(')'))
    return lex_.error(lex_.peek().at, rule::call, "{} of the {} operands of {}, expected ','",
                      operands.size(), count, word.text);
  if (!lex_.accept_mark(')')) return lex_.unexpected("an operator, ',' or ')'");
  return call(word.at, op, std::move(operands), wanted);
}

Failure ExprParser::unknown_call(const Token& word) const {
  std::string nearest;
  size_t best = 3;
  const auto consider = [&](std::string_view name) {
    if (const size_t d = edit_distance(word.text.substr(0, 64), name); d < best) {
      best = d;
      nearest = fmt::format("; the nearest is '{}'", name);
    }
  };
  for (int i = static_cast<int>(Op::add); i <= static_cast<int>(Op::philox); ++i)
    if (static_cast<Op>(i) != Op::cast) consider(name_of(static_cast<Op>(i)));
  return lex_.error(word.at, rule::call,
                    "the function '{}' is not known, expected one of Op in loop/expr.h, a type or "
                    "round_ and a type{}",
                    shortened(word.text), nearest);
}

// Numbers get their types, and all are as the operation takes them.
Result<ExprParser::Operand> ExprParser::call(uint32_t at, Op op, std::vector<Operand> operands,
                                             Wanted wanted) {
  std::vector<Wanted> types(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    types[i] = wanted_by(op, i, wanted);
    if (const auto partner = partner_of(op, i); partner && !operands[*partner].is_untyped())
      types[i] = operands[*partner].expr.type();
  }
  for (size_t i = 0; i < operands.size(); ++i) CLEAVE_CHECK(settle(operands[i], types[i]));
  for (size_t i = 0; i < operands.size(); ++i) {
    const DType type = operands[i].expr.type();
    const auto partner = partner_of(op, i);
    if (op == Op::select && i == 0 && type != DType::boolean)
      return lex_.error(operands[0].at, rule::type, "a condition of {}, expected bool",
                        cleave::name_of(type));
    if (partner && *partner > i && operands[*partner].expr.type() != type)
      return lex_.error(at, rule::type, "{} of {} and {}, expected one type; convert one of them",
                        name_of(op), cleave::name_of(type),
                        cleave::name_of(operands[*partner].expr.type()));
    if ((op != Op::select || i > 0) && !takes(op, type))
      return lex_.error(operands[i].at, rule::type, "{} of {}, expected {}", name_of(op),
                        cleave::name_of(type), types_taken(op));
  }
  const DType type = result_type(op, operands.back().expr.type());
  return made(at, std::move(operands),
              [&](Operands e) { return ExprNode::make(op, type, std::move(e)); });
}

Result<ExprParser::Operand> ExprParser::made(uint32_t at, std::vector<Operand> operands,
                                             const std::function<Expr(Operands)>& operation) const {
  Operand out;
  Operands exprs;
  out.at = operands[0].at < at ? operands[0].at : at;
  for (Operand& o : operands) {
    out.levels = std::max(out.levels, 1 + o.levels);
    exprs.push_back(std::move(o.expr));
  }
  if (out.levels > text_limit::expression_levels)
    return lex_.error(at, rule::limit,
                      "more than {} levels in an expression; name inner values by `let`",
                      text_limit::expression_levels);
  out.expr = operation(std::move(exprs));
  return out;
}

}  // namespace cleave::loop
