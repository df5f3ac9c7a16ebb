#include "ir/parse_literal.h"

#include <charconv>
#include <limits>

namespace cleave {
namespace {

// Arithmetic on sizes saturates at this bound, which the text must not reach.
constexpr int64_t size_bound = int64_t{1} << 62;

bool beyond(const Dim& d) {
  return d.is_const() && (d.value() >= size_bound || d.value() <= -size_bound);
}

std::optional<AttrValue> literal_word(std::string_view w) {
  if (w == "none") return AttrValue();
  if (w == "true" || w == "false") return AttrValue(w == "true");
  if (w == "inf") return AttrValue(std::numeric_limits<double>::infinity());
  if (w == "nan") return AttrValue(std::numeric_limits<double>::quiet_NaN());
  if (auto t = dtype_named(w)) return AttrValue(*t);
  for (int i = 0; i <= static_cast<int>(MemoryFormat::preserve); ++i)
    if (w == name_of(static_cast<MemoryFormat>(i))) return AttrValue(static_cast<MemoryFormat>(i));
  return std::nullopt;
}

}  // namespace

Result<int64_t> LiteralParser::integer_of(const Token& digits, bool negative) {
  uint64_t magnitude = 0;
  const char* end = digits.text.data() + digits.text.size();
  auto [p, status] = std::from_chars(digits.text.data(), end, magnitude);
  const uint64_t most = uint64_t{1} << 63;
  if (status != std::errc() || p != end || magnitude > (negative ? most : most - 1))
    return lex_.error(digits.at, rule::number, "the integer {}{}{} does not fit 64 bits",
                      negative ? "-" : "", digits.text.substr(0, 40),
                      digits.text.size() > 40 ? "..." : "");
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

Result<int64_t> LiteralParser::read_integer(int64_t lo, int64_t hi) {
  const uint32_t at = lex_.peek().at;
  const bool negative = lex_.accept_mark('-');
  CLEAVE_TRY(Token digits, lex_.expect(TokenKind::integer, "an integer"));
  CLEAVE_TRY(int64_t v, integer_of(digits, negative));
  if (v < lo || v > hi) return lex_.error(at, rule::number, "{} is outside [{}, {}]", v, lo, hi);
  return v;
}

// ---- sizes

Result<Dim> LiteralParser::read_size() { return read_sum(false); }

Result<Dim> LiteralParser::apply(uint32_t at, const Dim& a, const Dim& b, Operation operation) {
  if (beyond(a) || beyond(b)) return lex_.error(at, rule::size, "a size is beyond +-2^62");
  Dim d = operation(a, b);
  if (beyond(d))
    return lex_.error(at, rule::size, "a size is beyond +-2^62, or its expression is too long");
  return d;
}

// `negative`: a minus sign has already been read.
Result<Dim> LiteralParser::read_sum(bool negative) {
  CLEAVE_TRY(Dim sum, read_product(negative || lex_.accept_mark('-')));
  for (;;) {
    const uint32_t at = lex_.peek().at;
    const bool minus = lex_.at_mark('-');
    if (!minus && !lex_.at_mark('+')) return sum;
    lex_.take();
    CLEAVE_TRY(Dim next, read_product(false));
    Operation plus = [](const Dim& a, const Dim& b) { return a + b; };
    Operation less = [](const Dim& a, const Dim& b) { return a - b; };
    CLEAVE_TRY(sum, apply(at, sum, next, minus ? less : plus));
  }
}

Result<Dim> LiteralParser::read_product(bool negative) {
  CLEAVE_TRY(Dim product, read_factor(negative));
  while (lex_.at_mark('*')) {
    const uint32_t at = lex_.take().at;
    CLEAVE_TRY(Dim next, read_factor(false));
    CLEAVE_TRY(product, apply(at, product, next, [](const Dim& a, const Dim& b) { return a * b; }));
  }
  return product;
}

Result<Dim> LiteralParser::read_factor(bool negative) {
  const Token& t = lex_.peek();
  const uint32_t at = t.at;
  if (t.kind == TokenKind::integer) {
    CLEAVE_TRY(int64_t v, integer_of(lex_.take(), negative));
    return Dim(v);
  }
  Dim d;
  if (t.kind == TokenKind::word) {
    CLEAVE_TRY(d, read_function(lex_.take()));
  } else if (t.kind == TokenKind::mark && (t.mark == '(' || t.mark == '-')) {
    const bool parenthesis = lex_.take().mark == '(';
    Nested level(nesting_);
    CLEAVE_CHECK(level.check(lex_, at));
    CLEAVE_TRY(d, parenthesis ? read_sum(false) : read_factor(true));
    if (parenthesis) CLEAVE_CHECK(lex_.expect_mark(')'));
  } else {
    return lex_.unexpected("an integer, a symbol or a size expression");
  }
  if (!negative) return d;
  return apply(at, Dim(-1), d, [](const Dim& a, const Dim& b) { return a * b; });
}

// A symbol, or floordiv, mod, min or max of two sizes.
Result<Dim> LiteralParser::read_function(const Token& name) {
  Operation operation = name.text == "floordiv" ? &Dim::floordiv
                        : name.text == "mod"    ? &Dim::mod
                        : name.text == "min"    ? &Dim::min
                        : name.text == "max"    ? &Dim::max
                                                : static_cast<Operation>(nullptr);
  if (!operation) {
    std::string symbol(name.text);
    if (!env_ || !env_->find(symbol))
      return lex_.error(name.at, rule::size,
                        "the symbol '{}' is not declared, expected a placeholder `%{}: symint` "
                        "before it",
                        name.text, name.text);
    return Dim::symbol(symbol);
  }
  Nested level(nesting_);
  CLEAVE_CHECK(level.check(lex_, name.at));
  CLEAVE_CHECK(lex_.expect_mark('('));
  CLEAVE_TRY(Dim a, read_sum(false));
  CLEAVE_CHECK(lex_.expect_mark(','));
  const uint32_t at = lex_.peek().at;
  CLEAVE_TRY(Dim b, read_sum(false));
  CLEAVE_CHECK(lex_.expect_mark(')'));
  if (name.text == "floordiv" || name.text == "mod")
    if (DimRange r = env_ ? env_->range_of(b) : DimRange{b.value(), b.value()}; r.lo < 1)
      return lex_.error(at, rule::size, "the divisor {} may be {}, expected at least 1", b.text(),
                        r.lo);
  return apply(name.at, a, b, operation);
}

// ---- types

Result<Shape> LiteralParser::read_shape(char close) {
  Shape shape;
  if (lex_.accept_mark(close)) return shape;
  shape.reserve(4);
  do {
    CLEAVE_TRY(Dim d, read_size());
    shape.push_back(std::move(d));
  } while (lex_.accept_mark(','));
  CLEAVE_CHECK(lex_.expect_mark(close));
  return shape;
}

Result<Device> LiteralParser::read_device() {
  Token t = lex_.take();
  if (t.text != "cuda")
    return lex_.error(t.at, rule::type, "the device '@{}' is not known, expected '@cuda:N'",
                      t.text);
  CLEAVE_CHECK(lex_.expect_mark(':'));
  CLEAVE_TRY(int64_t index, read_integer(0, std::numeric_limits<int16_t>::max()));
  return Device{DeviceKind::cuda, static_cast<int16_t>(index)};
}

Result<Type> LiteralParser::read_type(bool* is_complex) {
  CLEAVE_TRY(Token t, lex_.expect(TokenKind::word, "a type such as f32[2,3]"));
  if (t.text == "none") return Type::none();
  const bool in_parts = is_complex && (t.text == "c64" || t.text == "c128");
  std::optional<DType> dtype =
      in_parts ? std::optional(t.text == "c64" ? DType::f32 : DType::f64) : dtype_named(t.text);
  if (!dtype)
    return lex_.error(t.at, rule::type,
                      "the dtype '{}' is not known, expected one of f64 f32 bf16 f16 i64 i32 i16 "
                      "i8 u8 bool c64",
                      t.text.substr(0, 40));
  CLEAVE_CHECK(lex_.expect_mark('['));
  CLEAVE_TRY(Shape shape, read_shape(']'));
  Type type(*dtype, std::move(shape));
  if (lex_.accept_mark('{')) { CLEAVE_TRY(type.strides, read_shape('}')); }
  if (lex_.at(TokenKind::graph)) { CLEAVE_TRY(type.device, read_device()); }
  if (in_parts) {
    *is_complex = true;
    type.shape.emplace_back(2);
    if (type.strides) {
      for (Dim& stride : *type.strides) stride = stride * Dim(2);
      type.strides->emplace_back(1);
    }
  }
  if (Status s = check_type_limits(type); !s.ok())
    return lex_.error(t.at, rule::refused, "{}", s.failure().message);
  return type;
}

// ---- attribute values

Result<AttrValue> LiteralParser::read_value() {
  const Token& t = lex_.peek();
  switch (t.kind) {
    case TokenKind::string: return read_string();
    case TokenKind::real: return read_real(false);
    case TokenKind::graph: return read_graph();
    case TokenKind::word: return read_word();
    case TokenKind::integer: break;
    case TokenKind::mark:
      if (t.mark == '[') return read_list();
      if (t.mark == '-') {
        lex_.take();
        if (lex_.at(TokenKind::real) || lex_.at_word("inf")) return read_real(true);
        CLEAVE_TRY(Dim d, read_sum(true));
        return AttrValue(std::move(d));
      }
      if (t.mark == '(') break;
      [[fallthrough]];
    default: return lex_.unexpected("a value");
  }
  CLEAVE_TRY(Dim d, read_size());
  return AttrValue(std::move(d));
}

Result<AttrValue> LiteralParser::read_word() {
  if (auto v = literal_word(lex_.peek().text)) {
    lex_.take();
    return *std::move(v);
  }
  CLEAVE_TRY(Dim d, read_size());
  return AttrValue(std::move(d));
}

Result<AttrValue> LiteralParser::read_real(bool negative) {
  Token t = lex_.take();
  double v = 0;
  const char* end = t.text.data() + t.text.size();
  if (t.kind == TokenKind::word) {
    v = std::numeric_limits<double>::infinity();
  } else if (auto [p, status] = std::from_chars(t.text.data(), end, v);
             status != std::errc() || p != end) {
    return lex_.error(t.at, rule::number, "the number {} is beyond float64", t.text.substr(0, 40));
  }
  return AttrValue(negative ? -v : v);
}

Result<AttrValue> LiteralParser::read_list() {
  const uint32_t at = lex_.take().at;
  Nested level(nesting_);
  CLEAVE_CHECK(level.check(lex_, at));
  AttrList list;
  if (lex_.accept_mark(']')) return AttrValue(std::move(list));
  list.reserve(4);
  do {
    CLEAVE_TRY(AttrValue v, read_value());
    list.push_back(std::move(v));
  } while (lex_.accept_mark(','));
  CLEAVE_CHECK(lex_.expect_mark(']'));
  return AttrValue(std::move(list));
}

// \\ \" \n \t \xNN
Result<AttrValue> LiteralParser::read_string() {
  Token t = lex_.take();
  std::string out;
  out.reserve(t.text.size());
  for (size_t i = 0; i < t.text.size(); ++i) {
    if (t.text[i] != '\\') {
      out += t.text[i];
      continue;
    }
    const char c = t.text[++i];
    unsigned byte = 0;
    std::string_view hex = t.text.substr(std::min(i + 1, t.text.size()), 2);
    if (c == '\\' || c == '"')
      out += c;
    else if (c == 'n')
      out += '\n';
    else if (c == 't')
      out += '\t';
    else if (c == 'x' && hex.size() == 2 &&
             std::from_chars(hex.data(), hex.data() + 2, byte, 16).ptr == hex.data() + 2)
      out += static_cast<char>(byte), i += 2;
    else
      return lex_.error(t.at + static_cast<uint32_t>(i), rule::string,
                        "'\\' before no known escape, expected one of \\\\ \\\" \\n \\t \\xNN");
  }
  return AttrValue(std::move(out));
}

Result<AttrValue> LiteralParser::read_graph() {
  Token t = lex_.take();
  auto found = graphs_.find(std::string(t.text));
  if (found == graphs_.end())
    return lex_.error(t.at, rule::graph, "@{} is not known, expected a graph that stands before",
                      t.text);
  depth_ = std::max(depth_, found->second.depth);
  return AttrValue(found->second.graph);
}

}  // namespace cleave
