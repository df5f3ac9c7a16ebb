// The parser's rules P1 to P20 of doc/ir.md, each by texts that break it and the exact message.
// tests: parse_statement.cpp parse_literal.cpp lex.cpp
#include "test/ir/toy_text.h"

namespace cleave {
namespace {

// A graph of one placeholder %x: input f32[2,3] with this body.
std::string on_x(const std::string& body) { return graph_text("%x: input f32[2,3]", body); }

struct Case {
  std::string what;
  std::string text;
  std::string place;    // line:column
  std::string message;  // from the rule on
};

const Case cases[] = {
    {"nothing", "", "1:1", "P1: found the end of the text, expected 'graph'"},
    {"no graph", "\n# only a comment\n", "3:1", "P1: found the end of the text, expected 'graph'"},
    {"a stray character", "graph $main() {\n", "1:7", "P1: '$' begins nothing"},
    {"no name", "graph main() {\n", "1:7",
     "P1: found 'main', expected a graph's name such as @main"},
    {"an empty name", "graph @() {\n", "1:7",
     "P1: '@' without a name, expected letters, digits or _.-/"},
    {"a header without an end", "graph @main(%x: input f32[2]\n", "2:1",
     "P1: found the end of the text, expected ',' or ')'"},
    {"no brace", "graph @main()\n  return\n", "2:3", "P1: found 'return', expected '{'"},
    {"a body on the header's line", "graph @main() { return\n}\n", "1:17",
     "P1: found 'return', expected the end of the line"},
    {"a body without return", on_x("  %y = exp(%x)\n"), "3:1",
     "P1: found '}', expected a statement or 'return'"},
    {"no closing brace", "graph @main(%x: input f32[2,3]) {\n  return %x\n", "3:1",
     "P1: found the end of the text, expected '}'"},
    {"two statements in a line", on_x("  %y = exp(%x) %z = exp(%x)\n  return %y\n"), "2:16",
     "P1: found '%z', expected the end of the line"},
    {"a statement of two lines", on_x("  %y = add(%x,\n    %x)\n  return %y\n"), "2:15",
     "P1: found the end of the line, expected a value such as %x or none"},
    {"something after the end", "graph @main(%x: input f32[2,3]) {\n  return %x\n}\n%y = exp(%x)\n",
     "4:1", "P1: found '%y', expected 'graph'"},
    {"no equals sign", on_x("  %y exp(%x)\n  return %y\n"), "2:6", "P1: found 'exp', expected '='"},
    {"no operator", on_x("  %y = %x\n  return %y\n"), "2:8",
     "P1: found '%x', expected an operator"},
    {"no parenthesis", on_x("  %y = exp %x\n  return %y\n"), "2:12",
     "P1: found '%x', expected '('"},
    {"an operand of no form", on_x("  %y = exp(3)\n  return %y\n"), "2:12",
     "P1: found '3', expected a value such as %x or none"},
    {"a list in a list of operands", on_x("  %y = cat([[%x]])\n  return %y\n"), "2:13",
     "P1: found '[', expected a value such as %x or none"},
    {"an attribute before ';'", on_x("  %y = sum(%x, dim=1)\n  return %y\n"), "2:16",
     "P1: found 'dim', expected a value such as %x or none"},
    {"an attribute without a value", on_x("  %y = sum(%x; dim=)\n  return %y\n"), "2:20",
     "P1: found ')', expected a value"},
    {"an attribute without a name", on_x("  %y = sum(%x; 1)\n  return %y\n"), "2:16",
     "P1: found '1', expected an attribute such as dim=1"},
    {"attributes without a comma", on_x("  %y = sum(%x; dim=1 keepdim=true)\n  return %y\n"),
     "2:22", "P1: found 'keepdim', expected ',' or ')'"},
    {"a list without an end", on_x("  %y = sum(%x; dim=[1,2)\n  return %y\n"), "2:24",
     "P1: found ')', expected ']'"},
    {"a return of a number", on_x("  return 1\n"), "2:10",
     "P1: found '1', expected a value such as %x"},
    {"a type that is none", on_x("  %y = exp(%x) : 3\n  return %y\n"), "2:18",
     "P1: found '3', expected a type such as f32[2,3]"},
    {"a size that is none", "graph @main(%x: input f32[2,]) {\n", "1:29",
     "P1: found ']', expected an integer, a symbol or a size expression"},
    {"a placeholder without a role", "graph @main(%x) {\n", "1:15", "P1: found ')', expected ':'"},
    {"another version", "clv 2\ngraph @main(%x: input f32[2,3]) {\n  return %x\n}\n", "1:5",
     "P2: clv 2 is not known, expected clv 1"},
    {"no version", "clv\ngraph @main(%x: input f32[2,3]) {\n  return %x\n}\n", "1:4",
     "P1: found the end of the line, expected the version 1"},
    {"an integer beyond 64 bits", on_x("  %y = sum(%x; dim=9223372036854775808)\n  return %y\n"),
     "2:20", "P4: the integer 9223372036854775808 does not fit 64 bits"},
    {"a negative one", on_x("  %y = sum(%x; dim=-9223372036854775809)\n  return %y\n"), "2:21",
     "P4: the integer -9223372036854775809 does not fit 64 bits"},
    {"a float beyond float64", on_x("  %y = clamp(%x; lo=1e999)\n  return %y\n"), "2:21",
     "P4: the number 1e999 is beyond float64"},
    {"a number with letters", on_x("  %y = clamp(%x; lo=1.0f)\n  return %y\n"), "2:21",
     "P4: '1.0f' is no number, expected one such as 12 or 1e-05"},
    {"a device beyond 16 bits", "graph @main(%x: input f32[2]@cuda:40000) {\n", "1:35",
     "P4: 40000 is outside [0, 32767]"},
    {"a range beyond 2^47", "graph @main(%s0: symint range(0,140737488355329)) {\n", "1:33",
     "P4: 140737488355329 is outside [0, 140737488355328]"},
    {"a string without an end", on_x("  %y = gelu(%x; approximate=\"tanh)\n  return %y\n"), "2:29",
     "P5: a string without an end, expected '\"' on its line"},
    {"an unknown escape", on_x("  %y = gelu(%x; approximate=\"t\\anh\")\n  return %y\n"), "2:31",
     "P5: '\\' before no known escape, expected one of \\\\ \\\" \\n \\t \\xNN"},
    {"a short hexadecimal escape", on_x("  %y = gelu(%x; approximate=\"\\x1\")\n  return %y\n"),
     "2:30", "P5: '\\' before no known escape, expected one of \\\\ \\\" \\n \\t \\xNN"},
    {"two graphs of a name",
     "graph @main(%x: input f32[2,3]) {\n  return %x\n}\ngraph @main(%x: input f32[2,3]) {\n  "
     "return %x\n}\n",
     "4:7", "P6: the name @main is taken, expected a new one"},
    {"an unknown subgraph", on_x("  %y = cond(%x, [%x]; then=@g1, otherwise=@g1)\n  return %y\n"),
     "2:28", "P6: @g1 is not known, expected a graph that stands before"},
    {"a graph that refers to itself",
     on_x("  %y = cond(%x, [%x]; then=@main, otherwise=@main)\n  return %y\n"), "2:28",
     "P6: @main is not known, expected a graph that stands before"},
    {"an unknown role", "graph @main(%x: parameter f32[2]) {\n", "1:17",
     "P7: the role 'parameter' is not known, expected one of param buffer const input tangent "
     "saved rng_state symint"},
    {"an unknown dtype", "graph @main(%x: input c128[2]) {\n", "1:23",
     "P8: the dtype 'c128' is not known, expected one of f64 f32 bf16 f16 i64 i32 i16 i8 u8 bool "
     "c64"},
    {"an unknown device", "graph @main(%x: input f32[2]@tpu:0) {\n", "1:29",
     "P8: the device '@tpu' is not known, expected '@cuda:N'"},
    {"a placeholder of type none", "graph @main(%x: input none) {\n", "1:23",
     "P8: a placeholder of type none, expected a tensor"},
    {"a symint's name", "graph @main(%s.0: symint) {\n", "1:13",
     "P9: a symint cannot bear the name %s.0, expected letters, digits and _ that are no literal"},
    {"a symint's name is a literal", "graph @main(%min: symint) {\n", "1:13",
     "P9: a symint cannot bear the name %min, expected letters, digits and _ that are no literal"},
    {"an empty range", "graph @main(%s0: symint range(8,2)) {\n", "1:25",
     "P9: range(8,2) is empty, expected lo <= hi"},
    {"a hint outside the range", "graph @main(%s0: symint range(2,8) hint(9)) {\n", "1:36",
     "P9: hint(9) is outside range(2,8)"},
    {"an undeclared symbol", "graph @main(%x: input f32[s0]) {\n", "1:27",
     "P10: the symbol 's0' is not declared, expected a placeholder `%s0: symint` before it"},
    {"a symbol declared later", "graph @main(%x: input f32[s0], %s0: symint) {\n", "1:27",
     "P10: the symbol 's0' is not declared, expected a placeholder `%s0: symint` before it"},
    {"a symbol of another graph",
     "graph @g(%s0: symint) {\n  return %s0\n}\ngraph @main(%x: input f32[s0]) {\n", "4:27",
     "P10: the symbol 's0' is not declared, expected a placeholder `%s0: symint` before it"},
    {"a divisor that may be 0", "graph @main(%s0: symint, %x: input f32[floordiv(8,s0)]) {\n",
     "1:51", "P10: the divisor s0 may be 0, expected at least 1"},
    {"a constant divisor of 0", "graph @main(%x: input f32[mod(8,0)]) {\n", "1:33",
     "P10: the divisor 0 may be 0, expected at least 1"},
    {"a constant beyond 2^62", on_x("  %y = sum(%x; dim=4611686018427387904+1)\n  return %y\n"),
     "2:39", "P10: a size is beyond +-2^62"},
    {"a product beyond 2^62", on_x("  %y = sum(%x; dim=4294967296*4294967296)\n  return %y\n"),
     "2:30", "P10: a size is beyond +-2^62, or its expression is too long"},
    {"a coefficient beyond 2^62",
     "graph @main(%s0: symint, %x: input f32[2,3]) {\n  %y = view(%x; "
     "size=[s0*4294967296*4294967296])\n  return %y\n}\n",
     "2:36", "P10: a size is beyond +-2^62, or its expression is too long"},
    {"a placeholder's name twice", "graph @main(%x: input f32[2], %x: input f32[2]) {\n", "1:31",
     "P11: the name %x is taken, expected a new one"},
    {"a result named as a placeholder", on_x("  %x = exp(%x)\n  return %x\n"), "2:3",
     "P11: the name %x is taken, expected a new one"},
    {"two results of a name",
     on_x("  %y, %m, %y = native_layer_norm(%x; normalized_shape=[3], eps=1e-05)\n  return %y\n"),
     "2:11", "P11: the name %y is taken, expected a new one"},
    {"an undefined value", on_x("  %y = exp(%z)\n  return %y\n"), "2:12",
     "P12: %z is not defined, expected a placeholder or an earlier result"},
    {"a value before its definition", on_x("  %y = exp(%z)\n  %z = exp(%x)\n  return %y\n"), "2:12",
     "P12: %z is not defined, expected a placeholder or an earlier result"},
    {"an undefined return", on_x("  return %z\n"), "2:10",
     "P12: %z is not defined, expected a placeholder or an earlier result"},
    {"a result declared none is used",
     on_x("  %y, %m, %r = native_layer_norm(%x; normalized_shape=[3], eps=1e-05) : f32[2,3], none, "
          "none\n  %z = exp(%m)\n  return %z\n"),
     "3:12", "P12: %m is an unused result of type none, expected a value"},
    {"a result of type none is returned", on_x("  %y, %m = masked(%x)\n  return %m\n"), "3:10",
     "P12: %m is an unused result of type none, expected a value"},
    {"a misspelt operator", on_x("  %y = reul(%x)\n  return %y\n"), "2:8",
     "P13: the operator 'reul' is not known, expected one of doc/ops.md; the nearest is 'relu'"},
    {"an unknown operator", on_x("  %y = frobnicate(%x)\n  return %y\n"), "2:8",
     "P13: the operator 'frobnicate' is not known, expected one of doc/ops.md"},
    {"an operator of ATen that is not covered", on_x("  %y = convolution(%x)\n  return %y\n"),
     "2:8", "P13: the operator 'convolution' is not covered yet, expected an entry in src/op"},
    {"one that run_decompositions() leaves", on_x("  %y = logcumsumexp(%x; dim=0)\n  return %y\n"),
     "2:8", "P13: the operator 'logcumsumexp' is not covered yet, expected an entry in src/op"},
    {"too many operands", on_x("  %y = exp(%x, %x)\n  return %y\n"), "2:16",
     "P14: 2 operands, expected at most 1 of exp"},
    {"a missing operand", on_x("  %y = mm(%x)\n  return %y\n"), "2:13",
     "P14: the operand 'mat2' of mm is missing, expected a value"},
    {"a missing list", on_x("  %y = cat(dim=1)\n  return %y\n"), "2:17",
     "P14: the operand 'tensors' of cat is missing, expected a list of values"},
    {"a list for a value", on_x("  %y = exp([%x])\n  return %y\n"), "2:12",
     "P14: 'self' of exp is a list, expected one value"},
    {"a value for a list", on_x("  %y = cat(%x)\n  return %y\n"), "2:12",
     "P14: 'tensors' of cat is one value, expected a list such as [%x, %y]"},
    {"none for a value", on_x("  %y = mm(none, %x)\n  return %y\n"), "2:11",
     "P14: 'self' of mm is none, expected a value"},
    {"none in a list of values", on_x("  %y = cat([%x, none])\n  return %y\n"), "2:12",
     "P14: 'tensors' of cat is none, expected a value"},
    {"an operand beside its number", on_x("  %y = add(%x, %x; other=1)\n  return %y\n"), "2:16",
     "P14: 2 operands, expected at most 1 of add"},
    {"a misspelt attribute", on_x("  %y = sum(%x; keepdims=true)\n  return %y\n"), "2:16",
     "P15: sum has no attribute 'keepdims', expected one of: dim, keepdim; the nearest is "
     "'keepdim'"},
    {"an unknown attribute", on_x("  %y = sum(%x; color=1)\n  return %y\n"), "2:16",
     "P15: sum has no attribute 'color', expected one of: dim, keepdim"},
    {"an attribute of an operator without any", on_x("  %y = exp(%x; dim=1)\n  return %y\n"),
     "2:16", "P15: exp has no attribute 'dim', expected none"},
    {"a tensor as an attribute", on_x("  %y = exp(self=1)\n  return %y\n"), "2:12",
     "P15: 'self' of exp is a tensor, expected it before ';'"},
    {"an attribute twice", on_x("  %y = sum(%x; dim=1, dim=0)\n  return %y\n"), "2:23",
     "P15: the attribute 'dim' is given twice"},
    {"an attribute of another kind", on_x("  %y = sum(%x; dim=1, keepdim=1)\n  return %y\n"),
     "2:31", "P15: keepdim = 1: expected true or false"},
    {"a list of another kind", on_x("  %y = sum(%x; dim=[1,true])\n  return %y\n"), "2:20",
     "P15: dim = true: expected a list, each an integer"},
    {"a symbol where none may stand",
     "graph @main(%s0: symint, %x: input f32[2]) {\n  %y = sum(%x; dim=s0)\n  return %y\n}\n",
     "2:20", "P15: dim = s0: expected an integer without symbols"},
    {"none for what is not optional", on_x("  %y = gelu(%x; approximate=none)\n  return %y\n"),
     "2:29", "P15: approximate = none: expected a string"},
    {"a missing attribute", on_x("  %y = permute(%x)\n  return %y\n"), "2:8",
     "P15: the attribute 'dims' of permute is missing, expected it: it has no default"},
    {"too few results",
     on_x("  %y = native_layer_norm(%x; normalized_shape=[3], eps=1e-05)\n  return %y\n"), "2:3",
     "P16: 1 result, expected the 3 of native_layer_norm"},
    {"too many results", on_x("  %y, %z = exp(%x)\n  return %y\n"), "2:3",
     "P16: 2 results, expected the 1 of exp"},
    {"no result", on_x("  exp(%x)\n  return %x\n"), "2:3", "P16: 0 results, expected the 1 of exp"},
    {"another number than the pieces",
     on_x("  %y, %z = split_with_sizes(%x; split_sizes=[1,1,1], dim=1)\n  return %y\n"), "2:3",
     "P16: 2 results, expected the 3 of split_with_sizes"},
    {"more than the pieces",
     on_x("  %y, %z = split_with_sizes(%x; split_sizes=[3], dim=1)\n  return %y\n"), "2:3",
     "P16: 2 results, expected the 1 of split_with_sizes"},
    {"too few types",
     on_x("  %y, %z = split_with_sizes(%x; split_sizes=[1,2], dim=1) : f32[2,1]\n  return %y\n"),
     "2:59", "P16: 1 type, expected one for each of 2 results"},
    {"another shape", on_x("  %y = exp(%x) : f32[3,2]\n  return %y\n"), "2:18",
     "P17: f32[3,2] is given, expected f32[2,3]"},
    {"another dtype", on_x("  %y = exp(%x) : f16[2,3]\n  return %y\n"), "2:18",
     "P17: f16[2,3] is given, expected f32[2,3]"},
    {"another device", on_x("  %y = exp(%x) : f32[2,3]@cuda:0\n  return %y\n"), "2:18",
     "P17: f32[2,3]@cuda:0 is given, expected f32[2,3]"},
    {"a type for a result that is none",
     on_x("  %y, %z = masked(%x) : f32[2,3], f32[2,3]\n  return %y\n"), "2:35",
     "P17: f32[2,3] is given, expected none"},
    {"another symbolic size",
     "graph @main(%s0: symint, %x: input f32[s0*4]) {\n  %y = half(%x) : f32[s0]\n  return %y\n}\n",
     "2:19", "P17: f32[s0] is given, expected f32[s0*2]"},
    {"an unknown tag", on_x("  %y = exp(%x) !offload(must_save)\n  return %y\n"), "2:17",
     "P18: the tag '!offload' is not known, expected '!recompute'"},
    {"a budget beyond 1",
     on_x("  %y = exp(%x) !recompute(unset, memory_budget=1.5)\n  return %y\n"), "2:48",
     "P18: memory_budget is 1.5, expected a real number from 0.0 to 1.0"},
    {"an unknown policy", on_x("  %y = exp(%x) !recompute(maybe)\n  return %y\n"), "2:27",
     "P18: the policy 'maybe' is not known, expected one of unset must_save prefer_save "
     "prefer_recompute must_recompute"},
    {"an update of a result", on_x("  %y = exp(%x)\n  return %x -> %y\n"), "3:16",
     "P19: %y is a result, expected a placeholder after '->'"},
    {"a gradient of a result", on_x("  %y = exp(%x)\n  return %x -> grad %y\n"), "3:21",
     "P19: %y is a result, expected a placeholder after '->'"},
    {"a negative size", "graph @main(%x: input f32[2,-1]) {\n", "1:23",
     "P20: dim -1 of f32[2,-1] is outside [0, 2^47]"},
    {"a size beyond 2^47", "graph @main(%x: input f32[140737488355329]) {\n", "1:23",
     "P20: dim 140737488355329 of f32[140737488355329] is outside [0, 2^47]"},
    {"more than 2^60 bytes", "graph @main(%x: input f32[1099511627776,1099511627776]) {\n", "1:23",
     "P20: f32[1099511627776,1099511627776] has more than 2^60 bytes"},
    {"strides of another rank", "graph @main(%x: input f32[2,3]{1}) {\n", "1:23",
     "P20: f32[2,3]{1} has 1 strides for 2 dims"},
    {"a negative stride", "graph @main(%x: input f32[2]{-1}) {\n", "1:23",
     "P20: stride -1 of f32[2]{-1} is outside [0, 2^60]"},
    {"strides over more than 2^60 bytes", "graph @main(%x: input f32[3]{1152921504606846976}) {\n",
     "1:23", "P20: f32[3]{1152921504606846976} lies over more than 2^60 bytes"},
    {"an inferred type beyond the limits",
     "graph @main(%x: input i8[140737488355328]) {\n  %y = cat([%x, %x])\n  return %y\n}\n", "2:8",
     "P20: cat: dim 281474976710656 of i8[281474976710656] is outside [0, 2^47]"},
    {"the operator's own rule", on_x("  %y = mm(%x, %x)\n  return %y\n"), "2:8",
     "mm: C2: 3 columns against 2 rows"},
};

// The whole message: file, place, rule and text; the line; a caret under the column.
std::string whole(const Case& c) {
  const size_t line = std::stoul(c.place),
               column = std::stoul(c.place.substr(c.place.find(':') + 1));
  size_t begin = 0;
  for (size_t i = 1; i < line; ++i) begin = c.text.find('\n', begin) + 1;
  const std::string shown = c.text.substr(begin, c.text.find('\n', begin) - begin);
  return fmt::format("t.clv:{}: {}\n  {}\n  {}^", c.place, c.message, shown,
                     std::string(column - 1, ' '));
}

TEST(ParseError, each_rule_says_where_what_and_what_was_expected) {
  for (const Case& c : cases) EXPECT_EQ(refusal(c.text), whole(c)) << c.what;
}

TEST(ParseError, every_rule_has_a_case) {
  for (int rule = 1; rule <= 20; ++rule) {
    const std::string prefix = fmt::format("P{}: ", rule);
    const bool found = std::any_of(std::begin(cases), std::end(cases),
                                   [&](const Case& c) { return c.message.starts_with(prefix); });
    // P3 is about texts too long for the table: the tests below
    EXPECT_TRUE(found || rule == 3) << prefix;
  }
}

// The form of a message, once in full.
TEST(ParseError, form) {
  EXPECT_EQ(refusal("graph @main(%x: input f32[2]) {\n  %y = exp(%z)  # why\n  return %y\n}\n"),
            "t.clv:2:12: P12: %z is not defined, expected a placeholder or an earlier result\n"
            "    %y = exp(%z)  # why\n"
            "             ^");
}

TEST(ParseError, kind_is_user_but_for_operators_not_covered) {
  EXPECT_EQ(try_read(on_x("  %y = reul(%x)\n  return %y\n")).failure().kind, ErrorKind::user);
  EXPECT_EQ(try_read(on_x("  %y = convolution(%x)\n  return %y\n")).failure().kind,
            ErrorKind::unsupported);
}

std::string first_line(const std::string& message) { return message.substr(0, message.find('\n')); }

std::string times(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

TEST(ParseError, nesting_is_bounded) {
  const char* message = "t.clv:2:84: P3: more than 64 levels of brackets";
  for (const auto& [open, close] : {std::pair{"[", "]"}, {"(", ")"}}) {
    const std::string deep = times(open, 70) + "1" + times(close, 70);
    EXPECT_EQ(first_line(refusal(on_x("  %y = sum(%x; dim=" + deep + ")\n  return %y\n"))),
              message);
  }
  EXPECT_EQ(first_line(refusal(on_x("  %y = sum(%x; dim=" + times("-", 70) + "1)\n  return %y\n"))),
            "t.clv:2:85: P3: more than 64 levels of brackets");
  EXPECT_EQ(first_line(refusal(on_x("  %y = sum(%x; dim=" + times("min(", 100000) + ")\n"))),
            "t.clv:2:276: P3: more than 64 levels of brackets");
  EXPECT_EQ(first_line(refusal(on_x("  %y = sum(%x; dim=" + times("[", 1000000)))), message);
}

TEST(ParseError, subgraphs_nest_64_levels) {
  std::string text = "graph @g1(%p: input f32[2]) {\n  return %p\n}\n";
  for (int k = 2; k <= 64; ++k)
    text += fmt::format(
        "graph @g{}(%p: input f32[2]) {{\n"
        "  %q = cond(%p, [%p]; then=@g{}, otherwise=@g{})\n  return %q\n}}\n",
        k, k - 1, k - 1);
  EXPECT_TRUE(try_read(text).ok());
  text +=
      "graph @g65(%p: input f32[2]) {\n  %q = cond(%p, [%p]; then=@g64, otherwise=@g1)\n"
      "  return %q\n}\n";
  EXPECT_EQ(first_line(refusal(text)), "t.clv:256:1: P3: more than 64 levels of subgraphs");
}

TEST(ParseError, names_and_strings_are_bounded) {
  EXPECT_EQ(first_line(refusal(on_x("  %" + times("y", 4097) + " = exp(%x)\n"))),
            "t.clv:2:3: P3: a name of 4097 bytes, at most 4096 are allowed");
  const std::string text = times("a", (1 << 20) + 1);
  EXPECT_EQ(first_line(refusal(on_x("  %y = gelu(%x; approximate=\"" + text + "\")\n"))),
            "t.clv:2:29: P3: a string of 1048577 bytes, at most 1048576 are allowed");
}

TEST(ParseError, size_expressions_are_bounded) {
  std::string head, sum = "0";
  for (int i = 0; i < 130; ++i) {
    head += fmt::format("%a{}: symint, ", i);
    sum += fmt::format("+a{}", i);
  }
  EXPECT_EQ(first_line(refusal("graph @main(" + head + "%x: input f32[" + sum + "]) {\n")),
            "t.clv:1:2398: P10: a size is beyond +-2^62, or its expression is too long");
  // (s0+1) squared again and again
  std::string square = "(s0+1)";
  for (int i = 0; i < 9; ++i) square = "(" + square + "*" + square + ")";
  EXPECT_NE(refusal("graph @main(%s0: symint range(0,1), %x: input f32[" + square + "]) {\n")
                .find("P10: a size is beyond"),
            std::string::npos);
}

TEST(ParseError, a_tensor_has_at_most_64_dims) {
  EXPECT_EQ(first_line(refusal("graph @main(%x: input f32[1" + times(",1", 64) + "]) {\n")),
            "t.clv:1:23: P20: a tensor has 65 dims, at most 64 are allowed");
}

// Only a window of a long line is shown, and the caret stands under the column.
TEST(ParseError, a_long_line_is_cut) {
  std::string list;
  for (int i = 0; i < 200; ++i) list += "%x, ";
  const std::string message = refusal(on_x("  %y = cat([" + list + "%z])\n  return %y\n"));
  EXPECT_EQ(first_line(message),
            "t.clv:2:813: P12: %z is not defined, expected a placeholder or an earlier result");
  const size_t line = message.find('\n') + 1, caret = message.rfind('\n') + 1;
  EXPECT_LE(caret - line, 140u);
  const size_t column = message.rfind('^') - caret;
  EXPECT_EQ(message.substr(line + column, 2), "%z");
}

TEST(ParseError, bytes_that_do_not_print_are_shown_as_question_marks) {
  EXPECT_EQ(refusal("graph @main\x01 \xc3\xa9"),
            "t.clv:1:12: P1: the byte 0x01 begins nothing\n"
            "  graph @main? ??\n"
            "             ^");
}

TEST(ParseError, windows_line_ends_are_blanks) {
  EXPECT_TRUE(
      try_read("graph @main(%x: input f32[2]) {\r\n  %y = exp(%x)\r\n  return %y\r\n}\r\n").ok());
  EXPECT_EQ(refusal("graph @main(%x: input f32[2]) {\r\n  %y = exp(3)\r\n"),
            "t.clv:2:12: P1: found '3', expected a value such as %x or none\n"
            "    %y = exp(3)\n"
            "             ^");
}

// The whole file is named once, and a truncated one is refused at its end.
TEST(ParseError, every_prefix_is_refused_or_read) {
  const std::string text =
      "clv 1\ngraph @main(%s0: symint range(2,9) hint(3), %x: input f32[s0*2,3]{3,1}@cuda:1 grad) "
      "{\n"
      "  %y = clamp(%x; lo=-1e-05, hi=inf) !recompute(must_save, ac=3) : f32[s0*2,3]@cuda:1  # "
      "a:1\n"
      "  %z = gelu(%y; approximate=\"ta\\x41nh\")\n"
      "  return %z, %y -> %x, %z -> grad %x\n}\n";
  ASSERT_TRUE(try_read(text).ok()) << refusal(text);
  size_t read = 0;
  for (size_t n = 0; n < text.size(); ++n) read += try_read(text.substr(0, n)).ok();
  EXPECT_EQ(read, 1u);  // without the last newline
}

}  // namespace
}  // namespace cleave
