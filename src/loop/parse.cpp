// Reads files of kernels: headers and arguments. Statements are read in parse_statement.cpp.
#include "loop/parse.h"

#include "base/alignment.h"
#include "ir/type.h"
#include "loop/parse_statement.h"

namespace cleave::loop {
namespace {

class FileParser {
 public:
  FileParser(std::string_view text, const std::string& file) : lex_(text, file) {}

  Result<std::vector<Kernel>> read();
  Result<Kernel> read_one();

 private:
  Result<Kernel> read_kernel();
  Status read_argument();
  Status read_buffer();
  Status read_scalar();
  Result<Access> read_access();
  Result<DType> read_dtype();
  void skip_newlines() {
    while (lex_.at(TokenKind::newline)) lex_.take();
  }

  Lexer lex_;
  Kernel kernel_;
  KernelNames names_;
  int64_t local_bytes_ = 0;
};

Result<std::vector<Kernel>> FileParser::read() {
  std::vector<Kernel> out;
  for (skip_newlines(); !lex_.at(TokenKind::end); skip_newlines()) {
    CLEAVE_TRY(Kernel k, read_kernel());
    out.push_back(std::move(k));
  }
  return out;
}

Result<Kernel> FileParser::read_one() {
  skip_newlines();
  CLEAVE_TRY(Kernel k, read_kernel());
  skip_newlines();
  if (!lex_.at(TokenKind::end)) return lex_.unexpected("the end of a text of one kernel");
  return k;
}

Result<Kernel> FileParser::read_kernel() {
  kernel_ = {};
  names_ = {};
  local_bytes_ = 0;
  if (!lex_.accept_word("kernel")) return lex_.unexpected("'kernel'");
  CLEAVE_TRY(const Token name, lex_.expect(TokenKind::value, "a kernel's name such as %y"));
  kernel_.name = std::string(name.text);
  lex_.wrap_lines(true);
  CLEAVE_CHECK(lex_.expect_mark('('));
  if (!lex_.accept_mark(')')) {
    do { CLEAVE_CHECK(read_argument()); } while (lex_.accept_mark(','));
    if (!lex_.accept_mark(')')) return lex_.unexpected("',' or ')'");
  }
  lex_.wrap_lines(false);
  StatementParser statements(lex_, kernel_, names_);
  if (lex_.accept_word("work")) {
    CLEAVE_TRY(kernel_.work, statements.exprs().read_integer(0, INT64_MAX));
  }
  kernel_.is_scheduled = lex_.accept_word("scheduled");
  CLEAVE_CHECK(statements.read_body());
  if (!lex_.at(TokenKind::newline) && !lex_.at(TokenKind::end))
    return lex_.unexpected("the end of the line");
  return std::move(kernel_);
}

Status FileParser::read_argument() {
  if (lex_.at(TokenKind::value)) return read_buffer();
  if (lex_.at(TokenKind::word)) return read_scalar();
  return lex_.unexpected("an argument such as %x: f32[64] read, or s: scalar");
}

Result<DType> FileParser::read_dtype() {
  CLEAVE_TRY(const Token t, lex_.expect(TokenKind::word, "a type such as f32[64]"));
  if (const auto dtype = dtype_named(t.text)) return *dtype;
  return lex_.error(t.at, rule::type,
                    "the dtype '{}' is not known, expected one of f64 f32 bf16 f16 i64 i32 i16 i8 "
                    "u8 bool c64",
                    t.text.substr(0, 40));
}

Result<Access> FileParser::read_access() {
  constexpr std::string_view words[] = {"read", "write", "update", "local"};
  for (int i = 0; i < 4; ++i)
    if (lex_.accept_word(words[i])) return static_cast<Access>(i);
  return lex_.unexpected("'read', 'write', 'update' or 'local'");
}

Status FileParser::read_buffer() {
  const Token name = lex_.take();
  if (!kernel_.scalars.empty())
    return lex_.error(name.at, rule::place, "the buffer %{} after a scalar, expected it before",
                      name.text.substr(0, 40));
  if (!names_.buffers.emplace(name.text, std::ssize(kernel_.buffers)).second)
    return lex_.error(name.at, rule::taken, "the buffer %{} stands before, expected a new name",
                      name.text.substr(0, 40));
  CLEAVE_CHECK(lex_.expect_mark(':'));
  Buffer b{.name = std::string(name.text)};
  CLEAVE_TRY(b.dtype, read_dtype());
  CLEAVE_CHECK(lex_.expect_mark('['));
  CLEAVE_TRY(b.elements, ExprParser(lex_, kernel_, names_).read_integer(0, text_limit::elements));
  CLEAVE_CHECK(lex_.expect_mark(']'));
  CLEAVE_TRY(b.access, read_access());
  const bool after_local =
      !kernel_.buffers.empty() && kernel_.buffers.back().access == Access::local;
  if (b.access == Access::local) {
    local_bytes_ += rounded(b.elements * size_of(b.dtype));
    if (local_bytes_ > max_local_bytes)
      return lex_.error(name.at, rule::limit, "local buffers of {} bytes, at most {} are allowed",
                        local_bytes_, max_local_bytes);
  } else if (after_local) {
    return lex_.error(name.at, rule::place,
                      "the buffer %{} after a local one, expected it before: those are no "
                      "arguments",
                      name.text.substr(0, 40));
  }
  kernel_.buffers.push_back(std::move(b));
  return {};
}

Status FileParser::read_scalar() {
  const Token name = lex_.take();
  CLEAVE_CHECK(lex_.expect_mark(':'));
  Scalar out{std::string(name.text)};
  if (lex_.accept_word("f32")) out.type = DType::f32;
  if (!lex_.accept_word("scalar"))
    return lex_.unexpected("'scalar'; a buffer's name begins by '%'");
  StatementParser statements(lex_, kernel_, names_);
  if (lex_.accept_mark('(')) {
    do {
      CLEAVE_TRY(Expr value, statements.exprs().read_typed(out.type, "a value"));
      out.values.push_back(std::move(value));
    } while (lex_.accept_mark(','));
    CLEAVE_CHECK(lex_.expect_mark(')'));
  }
  kernel_.scalars.push_back(std::move(out));
  return statements.declare(name, scalar_var(kernel_, kernel_.scalars.size() - 1));
}

Status check_size(std::string_view text, const std::string& file) {
  if (text.size() <= cleave::text_limit::text_bytes) return {};
  return user_error("{}: {}: a text of {} bytes, at most {} are read", file, rule::limit,
                    text.size(), cleave::text_limit::text_bytes);
}

}  // namespace

Result<Kernel> parse_kernel(std::string_view text, const std::string& file) {
  CLEAVE_CHECK(check_size(text, file));
  return FileParser(text, file).read_one();
}

Result<std::vector<Kernel>> parse_kernels(std::string_view text, const std::string& file) {
  CLEAVE_CHECK(check_size(text, file));
  return FileParser(text, file).read();
}

}  // namespace cleave::loop
