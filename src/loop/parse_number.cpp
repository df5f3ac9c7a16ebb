// The numbers of a kernel's text, once it is known of which type they are.
#include <charconv>
#include <limits>

#include "loop/parse_expr.h"

namespace cleave::loop {
namespace {

std::string_view shortened(std::string_view text) { return text.substr(0, 40); }

}  // namespace

Result<int64_t> ExprParser::integer_of(const Operand& number, DType type) const {
  const std::string_view text = number.number.text;
  const char* end = text.data() + text.size();
  uint64_t magnitude = 0;
  const auto [p, status] = std::from_chars(text.data(), end, magnitude);
  const uint64_t most = type == DType::i32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
  if (status != std::errc() || p != end || magnitude > (number.negative ? most : most - 1))
    return lex_.error(number.at, rule::number, "the integer {}{} does not fit {}",
                      number.negative ? "-" : "", shortened(text), cleave::name_of(type));
  return static_cast<int64_t>(number.negative ? 0 - magnitude : magnitude);
}

// An f32 is read as one: by way of f64 it would be rounded twice.
Result<double> ExprParser::real_of(const Operand& number, DType type) const {
  const std::string_view text = number.number.text;
  double v = 0;
  if (number.number.kind == TokenKind::word) {
    v = text == "inf" ? std::numeric_limits<double>::infinity()
                      : std::numeric_limits<double>::quiet_NaN();
  } else {
    const char* end = text.data() + text.size();
    float single = 0;
    const auto [p, status] = type == DType::f32 ? std::from_chars(text.data(), end, single)
                                                : std::from_chars(text.data(), end, v);
    if (status != std::errc() || p != end)
      return lex_.error(number.at, rule::number, "the number {} is beyond {}", shortened(text),
                        cleave::name_of(type));
    if (type == DType::f32) v = single;
  }
  return number.negative ? -v : v;
}

Status ExprParser::settle(Operand& o, Wanted wanted) const {
  if (!o.is_untyped()) return {};
  const bool is_integer = o.number.kind == TokenKind::integer;
  const DType type = wanted.value_or(is_integer ? DType::i64 : DType::f32);
  const char* sign = o.negative ? "-" : "";
  if (type == DType::boolean)
    return lex_.error(o.at, rule::type, "found {}{}, expected a bool such as true or lt(i, 2)",
                      sign, shortened(o.number.text));
  if (is_integer && is_floating(type))
    return lex_.error(o.at, rule::type, "found the integer {}{}, expected the {} {}{}.0", sign,
                      shortened(o.number.text), cleave::name_of(type), sign,
                      shortened(o.number.text));
  if (!is_integer && !is_floating(type))
    return lex_.error(o.at, rule::type, "found {}{}, expected an integer, since an {} stands here",
                      sign, shortened(o.number.text), cleave::name_of(type));
  if (is_integer) {
    CLEAVE_TRY(const int64_t v, integer_of(o, type));
    o.expr = constant_int(type, v);
  } else {
    CLEAVE_TRY(const double v, real_of(o, type));
    o.expr = constant(type, v);
  }
  return {};
}

Result<Expr> ExprParser::settled(Operand o, Wanted wanted) const {
  CLEAVE_CHECK(settle(o, wanted));
  return std::move(o.expr);
}

Result<int64_t> ExprParser::read_integer(int64_t lo, int64_t hi) {
  Operand o;
  o.at = lex_.peek().at;
  o.negative = lex_.accept_mark('-');
  CLEAVE_TRY(o.number, lex_.expect(TokenKind::integer, "an integer"));
  CLEAVE_TRY(const int64_t v, integer_of(o, DType::i64));
  if (v < lo || v > hi) return lex_.error(o.at, rule::number, "{} is outside [{}, {}]", v, lo, hi);
  return v;
}

}  // namespace cleave::loop
