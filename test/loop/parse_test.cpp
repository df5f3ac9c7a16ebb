// Hand-written texts of kernels: what is read, and each error with its position.
// tests: parse_expr.cpp parse_number.cpp parse_statement.cpp print.cpp difference.cpp
#include "loop/parse.h"

#include <gtest/gtest.h>

#include "loop/difference.h"
#include "loop/kernel_builder.h"

namespace cleave::loop {
namespace {

Kernel read(const std::string& text) { return value_or_throw(parse_kernel(text, "t")); }

// A kernel of one statement, which is the text's third line.
std::string around(const std::string& statement) {
  return "kernel %k(%x: f32[8] read, %n: i64[8] read, %w: f32[8] write, %u: f64[8] update, n: "
         "scalar) {\n  var a = 1.0\n" +
         statement + "\n}\n";
}

std::string refused(const std::string& text) {
  const auto k = parse_kernel(text, "t");
  if (k.ok()) return "it is read:\n" + print(*k);
  EXPECT_EQ(k.failure().kind, ErrorKind::user);
  return k.failure().message;
}

// The message's first line.
std::string refused_statement(const std::string& statement) {
  const std::string all = refused(around(statement));
  return all.substr(0, all.find('\n'));
}

// What print makes of a statement: the same, if it is as print writes it.
std::string again(const std::string& statement) {
  const auto k = parse_kernel(around(statement), "t");
  if (!k.ok()) return k.failure().message;
  EXPECT_EQ(difference(*k, read(print(*k))), "");
  const std::string text = print(*k), before = "  var a = 1.0\n";
  const size_t at = text.find(before) + before.size();
  return text.substr(at, text.size() - at - 3);  // without "\n}\n"
}

TEST(KernelText, is_written_as_it_was_read) {
  const std::string text =
      "kernel %y.0(%x: bf16[8192] read, %i: i64[64] read, %y.0: f32[64] write, %sum: f32[64] "
      "update, %row: f32[128] local, stream: scalar) work 8256 {\n"
      "  for p in 64 parallel {\n"
      "    let q = truncdiv(p, 8)*8 + truncmod(p, 8)\n"
      "    let at = %i[q]\n"
      "    check logical_and(ge(at, -64), lt(at, 64)) \"embedding: \\\"i\\\"\" index at bound 64\n"
      "    check lt(at, 64) \"gather: index\" index at bound 64 from 0\n"
      "    check true \"all of it\"\n"
      "    fold over j in 16, k in 8 {\n"
      "      let t = %x[p*128 + (j*8 + k)]\n"
      "      %row[j*8 + k] = t\n"
      "      s = sum of t*t\n"
      "      top = max of max(t, -inf)\n"
      "    }\n"
      "    var a = 0.0\n"
      "    for j in max(n, 3) {\n"
      "      a = a + %row[j]*0.5\n"
      "    }\n"
      "    if gt(a, 1.0) {\n"
      "      %sum[p] = %sum[p] + 1.0\n"
      "    }\n"
      "    for j in 128 independent {\n"
      "      %row[j] = select(lt(philox(1, 2, stream, j), 7), s, round_bf16(top))\n"
      "    }\n"
      "    %y.0[p] = f32(f64(s) + 0.1)*(a - (s - top))\n"
      "  }\n"
      "  for b in 2 parallel {\n"
      "    for l in 32 lanes {\n"
      "      %sum[b*32 + l] = 1e-05\n"
      "    }\n"
      "  }\n"
      "}\n";
  std::string with_n = text;
  with_n.replace(with_n.find("stream: scalar"), 14, "stream: scalar, n: scalar");
  const Kernel k = read(with_n);
  EXPECT_EQ(print(k), with_n);
  EXPECT_TRUE(verify(k).ok());
  EXPECT_EQ(k.work, 8256);
  ASSERT_EQ(k.scalars.size(), 2u);
  EXPECT_EQ(k.scalars[1].name, "n");
  EXPECT_EQ(k.buffers[3].access, Access::update);
  EXPECT_EQ(std::get<For>(k.body[1].node).kind, ForKind::parallel);
}

// How loops run, and which numbers calls pass.
TEST(KernelText, says_how_loops_run) {
  const std::string text =
      "kernel %y(%x: f32[8192] read, %y: f32[8192] update, %z: f32[8192] write, stream: scalar, n: "
      "scalar (256, -64), f: f32 scalar (0.1, 2048.0)) work 8192 scheduled {\n"
      "  for p in 8192 parallel rows n shared 2 by 16 tail {\n"
      "    let q = truncdiv(p, n)\n"
      "    let a = %x[q]\n"
      "    let i = p - q*n\n"
      "    %y[p] = %x[i]*a + f\n"
      "  }\n"
      "  for p in 4 parallel next p_next {\n"
      "    for j in n independent by 16 {\n"
      "      %y[p*n + j] = %x[p*n + j]\n"
      "    }\n"
      "    for c in min(64, n) lanes by 64 tail {\n"
      "      fold over r in 9, w in 300 blocks 16 ordered ahead %z[w + c] {\n"
      "        s = sum of %x[r + w + c]\n"
      "      }\n"
      "    }\n"
      "    fold over i in 500 blocks 2, j in 40 by 16 tail ahead %x[p_next*n + j], %y[j] {\n"
      "      s = sum of %x[p*n + j]\n"
      "    }\n"
      "  }\n"
      "}\n";
  const Kernel k = read(text);
  EXPECT_EQ(print(k), text);
  EXPECT_EQ(difference(k, read(print(k))), "");
  EXPECT_TRUE(verify(k).ok());
  EXPECT_TRUE(k.is_scheduled);
  EXPECT_EQ(k.scalars[1].values[1]->integer(), -64);
  EXPECT_EQ(k.scalars[2].type, DType::f32);
  const For& rows = std::get<For>(k.body[0].node);
  EXPECT_EQ(rows.rows.shared, 2u);
  EXPECT_EQ(rows.vectors, (Vectors{16, true}));
  const Reduce& fold = std::get<Reduce>(std::get<For>(k.body[1].node).body[2].node);
  EXPECT_EQ(fold.blocks, (SumBlocks{0, 2}));
  EXPECT_EQ(fold.ahead.size(), 2u);
  // Each of these makes another kernel.
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"by 16 tail {\n    let", "by 16 {\n    let"},
           {"shared 2", "shared 1"},
           {"rows n", "rows 64"},
           {"blocks 2", "blocks 4"},
           {" ordered", ""},
           {", %y[j] {", " {"},
           {"(256, -64)", "(256, 64)"},
           {"by 64 tail", "by 64"},
           {"f32 scalar (0.1, 2048.0)", "f32 scalar (0.1)"}}) {
    std::string other = text;
    ASSERT_NE(other.find(from), other.npos) << from;
    other.replace(other.find(from), from.size(), to);
    EXPECT_NE(difference(k, read(other)), "") << from;
  }
}

TEST(KernelText, may_be_wrapped_and_commented) {
  const Kernel k = read(
      "# a row\n\nkernel %y(\n    %x: f32[4] read,  # the input\n    %y: f32[4] write\n) {\n"
      "  # nothing\n  for i in 4 parallel { %y[i] = %x[i] }  # a copy\n}");
  EXPECT_EQ(print(k),
            "kernel %y(%x: f32[4] read, %y: f32[4] write) {\n"
            "  for i in 4 parallel {\n    %y[i] = %x[i]\n  }\n}\n");
}

TEST(KernelText, of_several_kernels_is_read_in_order) {
  const auto all = value_or_throw(parse_kernels("kernel %a() {\n}\n\nkernel %a() {\n}\n", "t"));
  EXPECT_EQ(all.size(), 2u);
  EXPECT_TRUE(value_or_throw(parse_kernels("# none\n", "t")).empty());
  EXPECT_EQ(print(all[1]), "kernel %a() {\n}\n");
}

// From the context, the other operand, or an explicit type.
TEST(KernelText, numbers_have_the_type_of_their_place) {
  const auto type_of = [](const std::string& value) {
    const Kernel k = read(around("let t = " + value));
    return std::get<Let>(k.body[1].node).var.type();
  };
  EXPECT_EQ(type_of("1"), DType::i64);
  EXPECT_EQ(type_of("1.0"), DType::f32);
  EXPECT_EQ(type_of("nan"), DType::f32);
  EXPECT_EQ(type_of("f64(1.0)"), DType::f64);
  EXPECT_EQ(type_of("i32(-2147483648)"), DType::i32);
  EXPECT_EQ(type_of("1.0 + %u[1]"), DType::f64);
  EXPECT_EQ(type_of("min(%u[1], 2.0)"), DType::f64);
  EXPECT_EQ(type_of("select(true, 0.5, %u[1])"), DType::f64);
  EXPECT_EQ(type_of("lt(0.5, %u[1])"), DType::boolean);
  for (const char* same : {"  let t = f64(0.5)", "  let t = i32(7) + i32(8)",
                           "  let t = f64(f32(0.5))", "  %u[1] = 0.1", "  %u[1] = 0.1 + 0.2",
                           "  %u[1] = select(lt(f64(0.1), f64(0.2)), 0.1, 0.2)",
                           "  %u[1] = f64(lt(1, 2))", "  %w[0] = 16777216.0", "  %w[0] = -0.0",
                           "  let t = round_i8(7)", "  let t = i32(round_f16(0.1))"})
    EXPECT_EQ(again(same), same);
  EXPECT_EQ(again("  let t = f32(0.5)"), "  let t = 0.5");
}

// A product in a product is not the same product.
TEST(KernelText, keeps_how_sums_and_products_nest) {
  for (const char* same :
       {"  a = a*a*a", "  a = a*(a*a)", "  a = a + a + a", "  a = a + (a + a)", "  a = a - (a - a)",
        "  a = (a + a)*a", "  a = a*(a + a)", "  a = a + a*a", "  a = a - -1.0", "  a = -1.0*a",
        "  a = neg(a)*-inf", "  a = max(a, a + a)"})
    EXPECT_EQ(again(same), same);
  EXPECT_NE(difference(read(around("a = a*a*a")), read(around("a = a*(a*a)"))), "");
}

// f32 numbers are read as such: 0.1 is the nearest f32, whatever the nearest f64 is.
TEST(KernelText, keeps_every_bit_of_a_number) {
  for (const float v : {0.1f, 1e-45f, 3.4028235e38f, 1.17549435e-38f, 16777217.0f, 1.0f / 3}) {
    Kernel k = read(around("let t = 1.0"));
    std::get<Let>(k.body[1].node).value = constant(DType::f32, static_cast<double>(v));
    EXPECT_EQ(difference(k, read(print(k))), "");
  }
  Kernel whole = read(around("let t = 1.0"));
  std::get<Let>(whole.body[1].node).value = constant_int(DType::f32, 16777217);
  EXPECT_EQ(difference(whole, read(print(whole))), "");
  for (const int64_t v : {INT64_MIN, INT64_MAX, int64_t{-1}}) {
    Kernel k = read(around("let t = 1"));
    std::get<Let>(k.body[1].node).value = Expr(v);
    EXPECT_EQ(difference(k, read(print(k))), "");
  }
}

TEST(KernelText, differences_are_said) {
  const auto of = [](const std::string& a, const std::string& b) {
    return difference(read(around(a)), read(around(b)));
  };
  EXPECT_EQ(of("%w[0] = a", "%w[0] = a"), "");
  EXPECT_EQ(of("%w[0] = a", "%w[1] = a"),
            "kernel %k: '%w[0] = a' against '%w[1] = a': 0 against 1");
  EXPECT_EQ(of("let t = 1.0", "let s = 1.0"),
            "kernel %k: 'let t = 1.0' against 'let s = 1.0': the variable t against s");
  EXPECT_EQ(of("if true {\na = 1.0\n}", "if true {\na = 2.0\n}"),
            "kernel %k: 'a = 1.0' against 'a = 2.0': 1.0 against 2.0");
  EXPECT_EQ(of("let t = 1.0", "let t = f64(1.0)"),
            "kernel %k: 'let t = 1.0' against 'let t = f64(1.0)': 1.0 against f64(1.0), f32 "
            "against f64");
  EXPECT_EQ(of("a = 1.0", ""), "kernel %k: 'a = 1.0' against the end of a block");
  EXPECT_EQ(of("for i in 2 {\n}", "for i in 2 lanes {\n}"),
            "kernel %k: 'for i in 2 {' against 'for i in 2 lanes {': the kind of loop");
  EXPECT_EQ(
      difference(read("kernel %a(%x: f32[2] read) {\n}"), read("kernel %a(%x: f32[3] read) {\n}")),
      "kernel %a: %x is f32[2] against f32[3]");
  EXPECT_EQ(difference(read("kernel %a() work 1 {\n}"), read("kernel %a() {\n}")),
            "kernel %a: work of 1 against 0");
}

// ---- refusals

TEST(KernelTextErrors, show_the_line) {
  EXPECT_EQ(refused(around("  %w[i] = a")),
            "t:3:6: L2: the variable 'i' is not known here, expected one of a loop around it or a "
            "let, var or fold before it\n"
            "    %w[i] = a\n"
            "       ^");
}

// How loops run is said in a scheduled kernel, each in its place.
TEST(KernelTextErrors, of_how_loops_run) {
  const auto first_line = [](const std::string& body) {
    const std::string all = refused("kernel %k(%x: f32[8] read) scheduled {\n" + body + "\n}\n");
    return all.substr(0, all.find('\n'));
  };
  EXPECT_NE(refused(around("for i in 32 by 16 { }")).find("found 'by'"), std::string::npos);
  EXPECT_NE(first_line("for i in 32 by 8 { }").find("8 is outside [16, 16]"), std::string::npos);
  EXPECT_NE(first_line("for i in 32 lanes by 8 { }").find("[16, 64]"), std::string::npos);
  EXPECT_NE(first_line("for i in 32 lanes by 32 { }").find("vectors of 32, expected 16 or 64"),
            std::string::npos);
  EXPECT_NE(first_line("for i in 65 lanes by 16 { }").find("65 columns in a loop of at most 64"),
            std::string::npos);
  EXPECT_NE(first_line("for i in 32 rows 8 shared 1 { }").find("found 'rows'"), std::string::npos);
  EXPECT_NE(first_line("for i in 32 parallel rows 8 shared 2 {\nlet q = i\n}")
                .find("L5: 2 statements of a row"),
            std::string::npos);
  for (const char* what : {"1.0", "i"})
    EXPECT_NE(first_line("for i in 32 ahead " + std::string(what) + " { }")
                  .find("L5: what is prefetched"),
              std::string::npos);
  EXPECT_NE(first_line("fold over i in 3 blocks 2, j in 3 blocks 2 {\n}")
                .find("L5: a second loop in blocks"),
            std::string::npos);
  EXPECT_NE(first_line("fold over i in 3 blocks 0 {\n}").find("0 is outside"), std::string::npos);
}

struct Refusal {
  const char* statement;
  const char* message;
};

TEST(KernelTextErrors, of_statements) {
  const Refusal all[] = {
      // names
      {"let a = 2.0", "3:5: L1: the variable 'a' stands before, expected a new name"},
      {"let n = 2", "3:5: L1: the variable 'n' stands before, expected a new name"},
      {"for a in 2 { }", "3:5: L1: the variable 'a' stands before, expected a new name"},
      {"let if = 2",
       "3:5: L1: 'if' names no variable, expected letters, digits and _ that are no "
       "word of the text"},
      {"let x.y = 2",
       "3:5: L1: 'x.y' names no variable, expected letters, digits and _ that are "
       "no word of the text"},
      {"fold over j in 4 {\ns = sum of 1\ns = sum of 2\n}",
       "5:1: L1: the variable 's' stands before, expected a new name"},
      {"if true {\nlet t = 1\n}\n%u[t] = 0.0",
       "6:4: L2: the variable 't' is not known here, expected one of a loop around it or a let, "
       "var or fold before it"},
      {"b = 1",
       "3:1: L2: the variable 'b' is not known here, expected a var; define it by let or "
       "var"},
      {"%v[0] = 1.0", "3:1: L2: the buffer %v is not known, expected one of the kernel's header"},
      // types
      {"%w[0] = %u[0]", "3:9: L3: a stored value of f64, expected f32; convert it by f32(...)"},
      {"%w[0] = 1", "3:9: L3: found the integer 1, expected the f32 1.0"},
      {"%w[1.0] = 1.0", "3:4: L3: found 1.0, expected an integer, since an i64 stands here"},
      {"%w[a] = 1.0", "3:4: L3: an index of f32, expected i64; convert it by i64(...)"},
      {"a = %u[0]", "3:5: L3: a value of f64 for 'a', expected f32; convert it by f32(...)"},
      {"let t = a + n", "3:11: L3: add of f32 and i64, expected one type; convert one of them"},
      {"let t = lt(a, n)", "3:9: L3: lt of f32 and i64, expected one type; convert one of them"},
      {"let t = exp(n)", "3:13: L3: exp of i64, expected f64 or f32"},
      {"let t = shl(a, a)", "3:13: L3: shl of f32, expected i64, i32 or bool"},
      {"let t = select(a, a, a)", "3:16: L3: a condition of f32, expected bool"},
      {"let t = philox(a, n, n, n)", "3:16: L3: philox of f32, expected i64"},
      {"if 1 { }", "3:4: L3: found 1, expected a bool such as true or lt(i, 2)"},
      {"if n { }", "3:4: L3: a condition of i64, expected bool; convert it by bool(...)"},
      {"for i in a { }", "3:10: L3: an extent of f32, expected i64; convert it by i64(...)"},
      {"let t = f32(a)", "3:9: L3: f32() of what is f32, expected another type; leave it out"},
      {"let t = bf16(a)",
       "3:9: L3: nothing is computed in bf16, expected f64, f32, i64, i32 or "
       "bool; a value that bf16 holds is round_bf16(x)"},
      {"let t = round_bf16(n)",
       "3:20: L3: round_bf16() of i64, expected f32; convert it by "
       "f32(...)"},
      {"fold over j in 4 {\ns = any of a\n}", "4:12: L3: any of f32, expected i64, i32 or bool"},
      // access
      {"%x[0] = a",
       "3:1: L4: %x is only read, expected a buffer that is written; declare it write "
       "or update"},
      {"a = %w[0]",
       "3:5: L4: %w is only written, expected a buffer that is read; declare it "
       "update"},
      {"n = 2", "3:1: L4: 'n' doesn't change, expected a var; define it by var"},
      // places
      {"if true { for i in 2 parallel { } }",
       "3:22: L5: a parallel loop inside a block, expected it outermost; leave 'parallel' out"},
      {"s = sum of a", "3:1: L5: a fold outside, expected it in a block of `fold over`"},
      {"fold over j in 4 {\ns = sum of a\nlet t = a\n}",
       "5:1: L5: a statement after a fold, expected the folds last"},
      // functions
      {"let t = ecp(a)",
       "3:9: L6: the function 'ecp' is not known, expected one of Op in "
       "loop/expr.h, a type or round_ and a type; the nearest is 'exp'"},
      {"let t = max(a)", "3:14: L6: 1 of the 2 operands of max, expected ','"},
      {"let t = exp(a, a)", "3:16: L6: more than 1 operand of exp, expected ')'"},
      // numbers
      {"let t = 9223372036854775808", "3:9: P4: the integer 9223372036854775808 does not fit i64"},
      {"let t = i32(2147483648)", "3:13: P4: the integer 2147483648 does not fit i32"},
      {"let t = 1e39", "3:9: P4: the number 1e39 is beyond f32"},
      {"let t = 12ab", "3:9: P4: '12ab' is no number, expected one such as 12 or 1e-05"},
      {"check true \"x\" index n bound 2 from 1", "3:37: P4: 1 is outside [0, 0]"},
      // syntax
      {"let = 2", "3:5: P1: found '=', expected a variable's name"},
      {"let t 2", "3:7: P1: found '2', expected '='"},
      {"a + 1", "3:3: P1: found '+', expected '=' after 'a'"},
      {"a = ",
       "3:5: P1: found the end of the line, expected an expression such as i, %x[i], 1.0 "
       "or exp(t)"},
      {"a = -a", "3:6: P1: found 'a', expected a number after '-'; of anything else write neg(x)"},
      {"a = (a", "3:7: P1: found the end of the line, expected an operator or ')'"},
      {"a = a a", "3:7: P1: found 'a', expected an operator, the end of the line or '}'"},
      {"a = %x", "3:7: P1: found the end of the line, expected '[' and an index"},
      {"a = %x[0", "3:9: P1: found the end of the line, expected an operator or ']'"},
      {"for i of 2 { }", "3:7: P1: found 'of', expected 'in'"},
      {"for i in 2 faster { }",
       "3:12: P1: found 'faster', expected an operator, 'parallel', "
       "'lanes', 'independent' or '{'"},
      {"fold j in 2 { }", "3:6: P1: found 'j', expected 'over'"},
      {"check true",
       "3:11: P1: found the end of the line, expected an operator or the message, a "
       "string"},
      {"check true \"x\" index n",
       "3:23: P1: found the end of the line, expected an operator or "
       "'bound'"},
      {"check true \"x", "3:12: P5: a string without an end, expected '\"' on its line"},
      {"a = a < a", "3:7: P1: '<' begins nothing"},
      {"2", "3:1: P1: found '2', expected a statement or '}'"},
      {"if true {", "5:1: P1: found the end of the text, expected a statement or '}'"},
  };
  for (const Refusal& r : all)
    EXPECT_EQ(refused_statement(r.statement), std::string("t:") + r.message) << r.statement;
}

TEST(KernelTextErrors, of_headers) {
  const Refusal all[] = {
      {"", "1:1: P1: found the end of the text, expected 'kernel'"},
      {"graph @main() {", "1:1: P1: found 'graph', expected 'kernel'"},
      {"kernel k() {\n}", "1:8: P1: found 'k', expected a kernel's name such as %y"},
      {"kernel %k {\n}", "1:11: P1: found '{', expected '('"},
      {"kernel %k(%x: f32[2] read %y: f32[2] read) {\n}",
       "1:27: P1: found '%y', expected ',' or ')'"},
      {"kernel %k(3) {\n}",
       "1:11: P1: found '3', expected an argument such as %x: f32[64] read, or s: scalar"},
      {"kernel %k(%x f32[2] read) {\n}", "1:14: P1: found 'f32', expected ':'"},
      {"kernel %k(%x: f33[2] read) {\n}",
       "1:15: L3: the dtype 'f33' is not known, expected one of f64 f32 bf16 f16 i64 i32 i16 i8 u8 "
       "bool c64"},
      {"kernel %k(%x: f32[-1] read) {\n}", "1:19: P4: -1 is outside [0, 72057594037927936]"},
      {"kernel %k(%x: f32[2,3] read) {\n}", "1:20: P1: found ',', expected ']'"},
      {"kernel %k(%x: f32[2] reads) {\n}",
       "1:22: P1: found 'reads', expected 'read', 'write', 'update' or 'local'"},
      {"kernel %k(%x: f32[2] read, %x: f32[2] write) {\n}",
       "1:28: L1: the buffer %x stands before, expected a new name"},
      {"kernel %k(x: f32[2] read) {\n}",
       "1:17: P1: found '[', expected 'scalar'; a buffer's name begins by '%'"},
      {"kernel %k(n: scalar, n: scalar) {\n}",
       "1:22: L1: the variable 'n' stands before, expected a new name"},
      {"kernel %k(n: scalar, %x: f32[2] read) {\n}",
       "1:22: L5: the buffer %x after a scalar, expected it before"},
      {"kernel %k(%t: f32[2] local, %x: f32[2] read) {\n}",
       "1:29: L5: the buffer %x after a local one, expected it before: those are no arguments"},
      {"kernel %k(%t: f32[16385] local) {\n}",
       "1:11: P3: local buffers of 65600 bytes, at most 65536 are allowed"},
      {"kernel %k() works {\n}", "1:13: P1: found 'works', expected '{'"},
      {"kernel %k() work x {\n}", "1:18: P1: found 'x', expected an integer"},
      {"kernel %k() {\n} kernel", "2:3: P1: found 'kernel', expected the end of the line"},
      {"kernel %k() {\n}\nkernel %l() {\n}",
       "3:1: P1: found 'kernel', expected the end of a text of one kernel"},
  };
  for (const Refusal& r : all) {
    const std::string message = refused(r.statement);
    EXPECT_EQ(message.substr(0, message.find('\n')), std::string("t:") + r.message) << r.statement;
  }
}

// ---- hostile texts

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(KernelTextErrors, of_what_nests_too_deep) {
  const int many = 100000;
  EXPECT_EQ(refused_statement("a = " + repeated("(", many)),
            "t:3:1505: P3: more than 1500 levels of parentheses; name inner values by `let`");
  EXPECT_EQ(refused_statement("a = " + repeated("exp(", many)),
            "t:3:6005: P3: more than 1500 levels of parentheses; name inner values by `let`");
  EXPECT_EQ(refused_statement("a = " + repeated("%x[", many)),
            "t:3:4507: P3: more than 1500 levels of parentheses; name inner values by `let`");
  EXPECT_EQ(refused_statement("a = a" + repeated("+a", many)),
            "t:3:8004: P3: more than 4000 levels in an expression; name inner values by `let`");
  EXPECT_EQ(refused_statement("a = a" + repeated("*a", many)),
            "t:3:8004: P3: more than 4000 levels in an expression; name inner values by `let`");
  EXPECT_EQ(refused_statement(repeated("if true {\n", many)),
            "t:67:9: P3: more than 64 blocks in each other");
  std::string loops = "fold over r0 in 2";
  for (int i = 1; i < 65; ++i) loops += fmt::format(", r{} in 2", i);
  EXPECT_TRUE(refused_statement(loops).ends_with("P3: more than 64 loops of a fold"));
}

// Time in proportion to the text: many names, statements, blocks.
TEST(KernelTextErrors, long_texts_take_no_longer_than_they_are) {
  const int many = 50000;
  std::string text = "kernel %k(";
  for (int i = 0; i < many; ++i) text += fmt::format("%b{}: f32[1] update,\n", i);
  text += "n: scalar) {\n";
  for (int i = 0; i < many; ++i) text += fmt::format("let t{} = %b{}[n]\n", i, i);
  for (int i = 0; i < many; ++i) text += fmt::format("if true {{\nlet s = t{}\n}}\n", i);
  text += "}\n";
  const Kernel k = read(text);
  EXPECT_TRUE(verify(k).ok());
  EXPECT_EQ(difference(k, read(print(k))), "");
}

}  // namespace
}  // namespace cleave::loop
