// Types of pointwise calls beyond what samples of fixed sizes show: symbolic sizes, 0-d tensors and
// numbers among the operands.
#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;

constexpr const char* header =
    "graph @main(%s0: symint range(2,64) hint(8), %s1: symint range(1,9), %x: input f32[s0,4], "
    "%y: input f32[s0,1], %z: input f32[s1], %h: input bf16[3], %f: input f32[], %d: input f64[], "
    "%i: input i32[3], %n: input i64[], %u: input u8[3], %c: input i8[3], %b: input bool[3]) {\n  ";

// The type of the first result of `call`, or the message of its failure.
std::string type_of(const std::string& call) {
  const std::string text = header + ("%r = " + call) + "\n  return %r\n}\n";
  auto program = parse(text, "test", core());
  if (!program.ok()) return program.failure().message;
  return program->main.type(program->main.find("r")).text();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(PointwiseInfer, SymbolicSizesBroadcast) {
  EXPECT_EQ(type_of("add(%x, %y)"), "f32[s0,4]");
  EXPECT_EQ(type_of("mul(%y, %x)"), "f32[s0,4]");
  EXPECT_EQ(type_of("where(%b, %f; other=0.0)"), "f32[3]");
  EXPECT_EQ(type_of("exp(%x)"), "f32[s0,4]");
  EXPECT_EQ(type_of("lt(%x; other=0)"), "bool[s0,4]");
}

TEST(PointwiseInfer, WhatCannotBeProvenIsRefused) {
  const std::string message = type_of("add(%x, %z)");
  EXPECT_TRUE(contains(message,
                       "add: C1: shapes [s0,4] and [s1] don't broadcast: dim -1 is 4 and s1, "
                       "which can't be proven equal or 1"))
      << message;
}

TEST(PointwiseInfer, NumbersAndScalarsOnlyRaiseTheCategory) {
  EXPECT_EQ(type_of("add(%h; other=2.5)"), "bf16[3]");
  EXPECT_EQ(type_of("add(%h, %f)"), "bf16[3]");
  EXPECT_EQ(type_of("add(%h, %d)"), "bf16[3]");
  EXPECT_EQ(type_of("add(%f, %d)"), "f64[]");
  EXPECT_EQ(type_of("add(%i, %n)"), "i32[3]");
  EXPECT_EQ(type_of("add(%i, %d)"), "f64[3]");
  EXPECT_EQ(type_of("add(%i; other=1.5)"), "f32[3]");
  EXPECT_EQ(type_of("add(%i; other=1)"), "i32[3]");
  EXPECT_EQ(type_of("add(%b; other=1)"), "i64[3]");
  EXPECT_EQ(type_of("add(%b; other=true)"), "bool[3]");
  EXPECT_EQ(type_of("add(%u, %c)"), "i16[3]");
  EXPECT_EQ(type_of("div(%i; other=2)"), "f32[3]");
  EXPECT_EQ(type_of("div(%i; other=2, rounding_mode=\"floor\")"), "i32[3]");
  EXPECT_EQ(type_of("sub(%x; self=1)"), "f32[s0,4]");
  EXPECT_EQ(type_of("where(%b; self=1, other=2.5)"), "f32[3]");
}

TEST(PointwiseInfer, SymbolicNumbers) {
  EXPECT_EQ(type_of("div(%x; other=s0*4)"), "f32[s0,4]");
  EXPECT_EQ(type_of("full(size=[s0,2], fill_value=0.5)"), "f32[s0,2]");
  EXPECT_EQ(type_of("arange(end=s0)"), "i64[s0]");
  EXPECT_EQ(type_of("arange(start=1, end=s0)"), "i64[s0-1]");
  EXPECT_EQ(type_of("arange(end=s0*4, step=4, dtype=f32)"), "f32[s0]");
}

}  // namespace
}  // namespace cleave
