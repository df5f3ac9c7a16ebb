// Expressions of sizes, as PyTorch writes them.
#include "import/exported/expression.h"

#include <gtest/gtest.h>

namespace cleave::exported {
namespace {

std::string dim_text(std::string_view text) {
  const Result<Dim> d = read_expression(text);
  return d.ok() ? d->text() : d.failure().message;
}

TEST(Expression, ReadsWhatSreprWrites) {
  EXPECT_EQ(dim_text("Symbol('s77', positive=True, integer=True)"), "s77");
  EXPECT_EQ(dim_text("Mul(Integer(2), Symbol('s77', positive=True, integer=True))"), "s77*2");
  EXPECT_EQ(dim_text("Add(FloorDiv(Symbol('s0', integer=True), Integer(2)), Integer(1))"),
            "floordiv(s0,2)+1");
  EXPECT_EQ(dim_text("Add(Symbol('s0'), Mul(Integer(-1), Symbol('s1')))"), "s0-s1");
  EXPECT_EQ(dim_text("Pow(Symbol('s0'), Integer(2))"), "s0*s0");
  EXPECT_EQ(dim_text("Max(Integer(1), Symbol('s0'))"), "max(1,s0)");
  EXPECT_EQ(dim_text("Min(Symbol('s0'), Integer(8))"), "min(8,s0)");
  EXPECT_EQ(dim_text("PythonMod(Symbol('s0'), Integer(3))"), "mod(s0,3)");
  EXPECT_EQ(dim_text("CeilDiv(Symbol('s0'), Integer(4))"), "floordiv(s0+3,4)");
  EXPECT_EQ(dim_text("ModularIndexing(Symbol('s0'), Integer(2), Integer(3))"),
            "mod(floordiv(s0,2),3)");
}

TEST(Expression, ReadsWhatStrWrites) {
  EXPECT_EQ(dim_text("2*s0 + s1//2 - 3"), "floordiv(s1,2)+s0*2-3");
  EXPECT_EQ(dim_text("-(s0 - 1)**2"), dim_text("2*s0 - s0*s0 - 1"));
  EXPECT_EQ(dim_text(" 12 % 5 "), "2");
}

TEST(Expression, RefusesWhatItDoesntKnow) {
  EXPECT_EQ(dim_text("IntTrueDiv(Symbol('s0'), Integer(2))"),
            "expression \"IntTrueDiv(Symbol('s0'), Integer(2))\": the function \"IntTrueDiv\"");
  EXPECT_EQ(dim_text("Symbol('u0', integer=True)"),
            "expression \"Symbol('u0', integer=True)\": u0: a size that depends on the data (of "
            "nonzero, item, ...)");
  EXPECT_EQ(dim_text("s0 s1"), "expression \"s0 s1\": \"s1\" is not expected at 3");
  EXPECT_EQ(dim_text("s0//0"), "expression \"s0//0\": a division by 0");
  EXPECT_EQ(dim_text("99999999999999999999"),
            "expression \"99999999999999999999\": a number beyond 64 bits");
  EXPECT_EQ(dim_text("2**s0"), "expression \"2**s0\": a power with the exponent s0");
}

TEST(Expression, BoundsItsDepthAndLength) {
  EXPECT_NE(dim_text(std::string(1000, '(') + "1" + std::string(1000, ')')).find("more than 64"),
            std::string::npos);
  EXPECT_NE(dim_text(std::string(1000, '-') + "1").find("more than 64"), std::string::npos);
  EXPECT_EQ(dim_text(std::string(70'000, ' ')), "an expression of 70000 bytes, at most 65536");
}

}  // namespace
}  // namespace cleave::exported
