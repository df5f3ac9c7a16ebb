// Operators of texts that have no entry: what a call of one becomes, and what is refused.
// tests: composites.cpp
#include "import/exported/composites.h"

#include <gtest/gtest.h>

#include "interp/interpret.h"
#include "ir/text.h"
#include "op/registry.h"

namespace cleave::exported {
namespace {

using Numbers = std::vector<double>;

const OpRegistry& ops() {
  static const OpRegistry all = value_or_bug(core_ops());
  return all;
}

Result<cleave::Program> read(const std::string& text) {
  CLEAVE_TRY(cleave::Program p, parse(text, "t", ops(), aten_composites()));
  CLEAVE_CHECK(verify(p));
  return p;
}

// The first result of a graph of %x: f32[2,3] = 3 1 2, 5 5 4.
Numbers of_x(const std::string& body) {
  Result<cleave::Program> p = read("graph @g(%x: input f32[2,3]) {\n" + body + "}\n");
  if (!p.ok()) {
    ADD_FAILURE() << p.failure().message;
    return {};
  }
  Array x(DType::f32, {2, 3});
  const Numbers values = {3, 1, 2, 5, 5, 4};
  for (size_t k = 0; k < values.size(); ++k) x.set(static_cast<int64_t>(k), values[k]);
  Result<Arrays> made = interpret(p->main, {{"x", x}});
  if (!made.ok()) {
    ADD_FAILURE() << made.failure().message;
    return {};
  }
  Numbers out;
  for (int64_t i = 0; i < made->at(0).numel(); ++i) out.push_back(made->at(0).number(i));
  return out;
}

std::string message_of(const std::string& statement) {
  const Result<cleave::Program> p =
      read("graph @g(%x: input f32[2,3]) {\n  " + statement + "\n  return %x\n}\n");
  if (p.ok()) return "read";
  const std::string& text = p.failure().message;
  return text.substr(0, text.find('\n'));
}

TEST(Composites, results_have_the_names_and_types_of_the_text) {
  const std::string pair =
      "  %y, %at = cummax(%x; dim=1) : f32[2,3], i64[2,3]\n  %m = median(%x) : f32[]\n";
  EXPECT_EQ(of_x(pair + "  return %y, %at, %m\n"), (Numbers{3, 3, 3, 5, 5, 5}));
  EXPECT_EQ(of_x(pair + "  return %m\n"), (Numbers{3}));
  EXPECT_EQ(of_x("  %y, %at = median(%x; dim=1)\n  return %y\n"), (Numbers{2, 5}));
  EXPECT_EQ(of_x("  %y = copysign(%x; other=-1.0) : f32[2,3]\n  return %y\n"),
            (Numbers{-3, -1, -2, -5, -5, -4}));
}

TEST(Composites, sizes_lists_and_dtypes_reach_the_rule) {
  EXPECT_EQ(of_x("  %y = triu_indices(; row=2, col=2, dtype=i32) : i32[2,3]\n  return %y\n"),
            (Numbers{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(of_x("  %z = unsqueeze(%x; dim=0)\n"
                 "  %y, %at = adaptive_max_pool2d(%z; output_size=[1,1]) : f32[1,1,1], i64[1,1,1]\n"
                 "  return %y\n"),
            (Numbers{5}));
}

TEST(Composites, shifts_to_the_left) {
  const std::string n = "  %n = _to_copy(%x; dtype=i32)\n";
  EXPECT_EQ(of_x(n + "  %y = __lshift__(%n; other=2) : i32[2,3]\n  return %y\n"),
            (Numbers{12, 4, 8, 20, 20, 16}));
  EXPECT_EQ(of_x(n + "  %y = bitwise_left_shift(%n, %n) : i32[2,3]\n  return %y\n"),
            (Numbers{24, 2, 8, 160, 160, 64}));
  EXPECT_EQ(of_x(n + "  %y = bitwise_left_shift(%n; other=32) : i32[2,3]\n  return %y\n"),
            (Numbers{0, 0, 0, 0, 0, 0}));
}

TEST(Composites, calls_before_the_results_are_named_after_the_first) {
  const Result<cleave::Program> p =
      read("graph @g(%x: input f32[2,3]) {\n  %y = addmv(%v, %x, %w; beta=2)\n  return %y\n}\n");
  ASSERT_FALSE(p.ok());
  const Result<cleave::Program> q = read(
      "graph @g(%x: input f32[2,3], %v: input f32[2], %w: input f32[3]) {\n"
      "  %y = addmv(%v, %x, %w; beta=2) : f32[2]\n  return %y\n}\n");
  ASSERT_TRUE(q.ok()) << q.failure().message;
  for (const NodeId n : q->main.order())
    EXPECT_TRUE(q->main.name(q->main.node(n).out(0)).starts_with("y")) << print(q->main);
  const Result<cleave::Program> again = parse(print(*q), "again", ops());
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(difference(q->main, again->main), "");
}

TEST(Composites, halves_are_rounded_once) {
  const Result<cleave::Program> p = read(
      "graph @g(%a: input bf16[3], %b: input bf16[3]) {\n"
      "  %y = dist(%a, %b) : bf16[]\n  return %y\n}\n");
  EXPECT_TRUE(p.ok()) << p.failure().message;
}

TEST(Composites, messages) {
  EXPECT_EQ(message_of("%y = cummax(%x; dim=1)"), "t:2:3: P16: 1 result, expected the 2 of cummax");
  EXPECT_EQ(
      message_of("%y, %z = cummax(%x)"),
      "t:2:12: P15: the attribute 'dim' of cummax is missing, expected it: it has no default");
  EXPECT_EQ(
      message_of("%y, %z = cummax(%x; dims=1)"),
      "t:2:23: P15: cummax has no attribute 'dims', expected one of: dim; the nearest is 'dim'");
  EXPECT_EQ(message_of("%x, %z = cummax(%x; dim=1)"),
            "t:2:3: P11: the name %x is taken, expected a new one");
  EXPECT_EQ(message_of("%y = hypot(%x)"),
            "t:2:16: P14: the operand 'other' of hypot is missing, expected a value");
  EXPECT_EQ(message_of("%y = hypot(%x, %x) : f32[3,2]"),
            "t:2:24: P17: f32[3,2] is given, expected f32[2,3]");
  EXPECT_TRUE(message_of("%y, %z = cummax(%x; dim=7)").starts_with("t:2:12: "))
      << message_of("%y, %z = cummax(%x; dim=7)");
}

TEST(Composites, texts_without_them_refuse_by_name) {
  const Result<cleave::Program> p = parse(
      "graph @g(%x: input f32[2]) {\n  %y, %z = cummax(%x; dim=0)\n  return %y\n}\n", "t", ops());
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.failure().message.find("cummax"), std::string::npos);
}

}  // namespace
}  // namespace cleave::exported
