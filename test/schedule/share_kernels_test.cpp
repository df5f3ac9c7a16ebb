// Kernels that differ in numbers become one: what becomes a scalar, and what doesn't.
// tests: kernel_numbers.cpp
#include "schedule/share_kernels.h"

#include <gtest/gtest.h>

#include <bit>

#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::schedule {
namespace {

using loop::Kernel;

Kernel scheduled(const std::string& text) {
  return schedule(value_or_throw(loop::parse_kernel(text, "t")));
}

constexpr const char* arguments =
    "(%x: f32[65536] read, %i: i64[65536] read, %w: i32[65536] read, %y: f32[65536] write, "
    "stream: scalar) {\n";

Kernel kernel(const std::string& body) {
  return scheduled("kernel %k" + std::string(arguments) + body + "}\n");
}

// Each # of the body is a number of the list.
std::vector<Kernel> with_numbers(const std::string& body, const std::vector<std::string>& numbers) {
  std::vector<Kernel> out;
  for (const std::string& n : numbers) {
    std::string text = body;
    for (size_t at; (at = text.find('#')) != text.npos;) text.replace(at, 1, n);
    out.push_back(kernel(text));
  }
  return out;
}
std::string in_row(const std::string& statement) {
  return "  for p in 64 parallel {\n    " + statement + "\n  }\n";
}

// Not in vectors.
std::string in_two_rows(const std::string& statement) {
  return "  for p in 2 parallel {\n    " + statement + "\n  }\n";
}

bool are_one(const std::vector<Kernel>& kernels) {
  const SharedKernels s = share_kernels(kernels);
  for (const Kernel& k : s.kernels) {
    const Status status = verify(k);
    EXPECT_TRUE(status.ok()) << status.failure().message << print(k);
  }
  return s.kernels.size() == 1;
}

std::string rows(const std::string& extent, const std::string& divisor) {
  return "  for p in " + extent + " parallel {\n    for r in " + extent +
         " independent {\n      %y[p*" + extent + " + r] = 0.0\n    }\n    %y[p] = div(%x[p], " +
         divisor + ")\n  }\n";
}

TEST(ShareKernels, numbers_that_differ_become_scalars_after_the_kernels_own) {
  const std::vector<Kernel> k = {kernel(rows("256", "2048.0")), kernel(rows("64", "0.1"))};
  const SharedKernels s = share_kernels(k);
  EXPECT_EQ(s.uses[0].scalars, (std::vector<int64_t>{256, std::bit_cast<uint32_t>(2048.0f)}));
  EXPECT_EQ(s.uses[1].scalars, (std::vector<int64_t>{64, std::bit_cast<uint32_t>(0.1f)}));
  ASSERT_EQ(s.kernels.size(), 1u);
  EXPECT_EQ(print(s.kernels[0]),
            "kernel %k(%x: f32[65536] read, %i: i64[65536] read, %w: i32[65536] read, "
            "%y: f32[65536] write, stream: scalar, number0: scalar (256, 64), "
            "number1: f32 scalar (2048.0, 0.1)) scheduled {\n"
            "  for p in 256 parallel {\n"
            "    for r in number0 independent by 16 {\n"
            "      %y[p*number0 + r] = 0.0\n"
            "    }\n"
            "    %y[p] = div(%x[p], number1)\n"
            "  }\n}\n");
}

// Up to 48 columns run 16 at a time, more 64.
TEST(ShareKernels, columns_share_if_their_lanes_are_as_many) {
  const std::string columns =
      "  for p in 1 parallel {\n    for l in # lanes {\n      fold over r in 64 {\n"
      "        s = sum of %x[r*# + l]\n      }\n      %y[l] = s\n    }\n  }\n";
  EXPECT_TRUE(are_one(with_numbers(columns, {"8", "12"})));
  EXPECT_FALSE(are_one(with_numbers(columns, {"8", "60"})));
}

TEST(ShareKernels, equal_kernels_share_without_scalars_whatever_their_names) {
  Kernel other = scheduled(
      "kernel %l(%a: f32[64] read, %b: i64[64] read, %c: i32[64] read, %d: f32[64] write, "
      "s: scalar) {\n  for q in 64 parallel {\n    for t in 64 independent {\n"
      "      %d[q*64 + t] = 0.0\n    }\n    %d[q] = div(%a[q], 3.0)\n  }\n}\n");
  const SharedKernels s = share_kernels(std::vector<Kernel>{kernel(rows("64", "3.0")), other});
  ASSERT_EQ(s.kernels.size(), 1u);
  EXPECT_EQ(s.uses[1].kernel, 0u);
  EXPECT_TRUE(s.uses[0].scalars.empty() && s.uses[1].scalars.empty());
  EXPECT_EQ(s.kernels[0].scalars.size(), 1u);
}

TEST(ShareKernels, numbers_that_differ_alike_are_one_scalar) {
  const auto k = with_numbers(in_two_rows("%y[p*# + 7] = %x[p*# + 5]"), {"100", "200", "100"});
  const SharedKernels s = share_kernels(k);
  ASSERT_EQ(s.kernels.size(), 1u);
  EXPECT_EQ(s.uses[2].scalars, (std::vector<int64_t>{100}));
  EXPECT_EQ(s.kernels[0].scalars[1].values.size(), 2u);
}

TEST(ShareKernels, numbers_that_the_compiler_needs_stay) {
  const std::pair<const char*, const char*> pairs[] = {
      {"%y[p] = %x[truncmod(p, 128)]", "%y[p] = %x[truncmod(p, 256)]"},  // no loop follows
      {"%y[p] = %x[floordiv(p, 128)]", "%y[p] = %x[floordiv(p, 256)]"},
      {"for j in 64 {\n%y[j] = %x[p*64 + j*4]\n}", "for j in 64 {\n%y[j] = %x[p*64 + j*8]\n}"},
      {"for j in 64 {\n%y[p*64 + j] = div(%x[j], 4.0)\n}",
       "for j in 64 {\n%y[p*64 + j] = div(%x[j], 8.0)\n}"},
      {"%y[p] = %x[shl(p, 4)]", "%y[p] = %x[shl(p, 5)]"},
      {"let t = %w[p]*128", "let t = %w[p]*256"},
      {"let t = lt(%w[p], 128)", "let t = lt(%w[p], 256)"},
      {"for j in 3 {\n%y[p*3 + j] = 0.0\n}", "for j in 4 {\n%y[p*3 + j] = 0.0\n}"},
      {"%y[p*2] = 0.0", "%y[p*256] = 0.0"},
      {"%y[7] = 0.0", "%y[8] = 0.0"},
      {"let t = f64(%x[p])*128.0", "let t = f64(%x[p])*256.0"},
      {"let t = %x[p]*0.5", "let t = %x[p]*0.1"},
      {"let t = %x[p]*inf", "let t = %x[p]*0.1"},
      {"let t = pow(%x[p], 2.5)", "let t = fmod(%x[p], 2.5)"},
      {"let t = %x[p]*0.1", "let t = %i[p]*100"},
      {"check true \"one\"", "check true \"two\""},
  };
  for (const auto& [a, b] : pairs)
    EXPECT_FALSE(are_one({kernel(in_row(a)), kernel(in_row(b))})) << a << "\n" << b;
  const auto local = [](const std::string& n) {
    return scheduled("kernel %k(%y: f32[64] write, %row: f32[" + n +
                     "] local) {\n  for p in 64 parallel {\n    %row[0] = 0.0\n  }\n}\n");
  };
  EXPECT_FALSE(are_one({local("128"), local("256")}));
}

TEST(ShareKernels, other_numbers_vary) {
  for (const char* statement :
       {"%y[p + #] = 0.0", "%y[p] = %x[select(lt(p, #), p, 0)]", "let t = lt(p, #)",
        "check lt(%i[p], #) \"i\" index %i[p] bound #", "let t = bit_and(p, #)",
        "let q = truncdiv(p, #)\nfor j in 64 {\n%y[q*64 + j] = 0.0\n}",
        "for j in # independent {\n%y[p*# + j] = %x[p*# + j]\n}", "let t = bit_xor(%i[p], -#)"})
    EXPECT_TRUE(are_one(with_numbers(in_row(statement), {"64", "160"}))) << statement;
  for (const char* statement :
       {"let t = %x[p]*#", "%y[p] = div(%x[p], #)", "let t = pow(%x[p], #)",
        "for j in 64 {\n%y[p*64 + j] = %x[j] - #\n}", "let t = max(%x[p], -#)"})
    EXPECT_TRUE(are_one(with_numbers(in_row(statement), {"3.0", "0.1"}))) << statement;
}

// What the numbers decided is not theirs to change.
TEST(ShareKernels, kernels_that_run_otherwise_stay_apart) {
  const auto fold = [](const std::string& loops) {
    return kernel(in_row("fold over " + loops + " {\ns = sum of %x[r]\n}\n%y[p] = s"));
  };
  const auto copy = [](const std::string& n) {
    return kernel(in_row("for j in " + n + " {\n%y[p*" + n + " + j] = 0.0\n}"));
  };
  const auto flat = [](const std::string& n) {
    return kernel(in_row("let i = truncmod(p, " + n + ")\nlet q = truncdiv(p, " + n +
                         ")\n%y[p] = %x[i]*%x[q]"));
  };
  EXPECT_TRUE(are_one({fold("r in 32"), fold("r in 64")}));
  EXPECT_TRUE(are_one({fold("r in 9"), fold("r in 11")}));
  EXPECT_FALSE(are_one({fold("r in 32"), fold("r in 40")}));                      // a tail
  EXPECT_FALSE(are_one({fold("r in 15"), fold("r in 17")}));                      // in order
  EXPECT_FALSE(are_one({fold("r in 256"), fold("r in 272")}));                    // blocks
  EXPECT_TRUE(are_one({fold("r in 4096"), fold("r in 512")}));                    // the same blocks
  EXPECT_FALSE(are_one({fold("q in 500, r in 32"), fold("q in 500, r in 64")}));  // others
  EXPECT_TRUE(are_one({copy("32"), copy("64")}));
  EXPECT_FALSE(are_one({copy("32"), copy("40")}));
  EXPECT_TRUE(are_one({flat("32"), flat("40")}));
  EXPECT_FALSE(are_one({flat("32"), flat("8")}));
}

TEST(ShareKernels, other_code_is_another_kernel) {
  const std::pair<const char*, const char*> pairs[] = {
      {"%y[p] = f32(f64(%x[p]))", "%y[p] = f32(i32(%x[p]))"},
      {"%y[p] = %x[7]", "%y[p] = %x[8]"},
      {"for j in 64 {\n%y[j] = %x[p]\n}", "for j in 64 {\n%y[j] = %x[j]\n}"},
      {"for j in 64 lanes {\n%y[j*32] = 0.0\n}", "for j in 64 {\n%y[j*32] = 0.0\n}"},
      {"fold over r in 64 {\ns = sum of %x[r]\n}", "fold over r in 64 {\ns = max of %x[r]\n}"},
      {"check true \"i\" index %i[p] bound 64", "check true \"i\" index %i[p] bound 64 from 0"},
      // The compiler needs the divisor: it is in an inner loop.
      {"for j in 64 {\nlet q = truncdiv(j, 64)\nfor k in 64 {\n%y[q*64 + k] = 0.0\n}\n}",
       "for j in 64 {\nlet q = truncdiv(j, 160)\nfor k in 64 {\n%y[q*64 + k] = 0.0\n}\n}"},
  };
  for (const auto& [a, b] : pairs)
    EXPECT_FALSE(are_one({kernel(in_row(a)), kernel(in_row(b))})) << a << "\n" << b;
}

TEST(ShareKernels, other_buffers_are_another_kernel) {
  const auto copy = [](const std::string& buffers, const std::string& from, const std::string& to) {
    return scheduled("kernel %k(" + buffers + ") {\n  for p in 64 parallel {\n    %" + to +
                     "[p] = %" + from + "[p]\n  }\n}\n");
  };
  const std::string two =
      "%a: f32[64] read, %b: f32[64] read, %y: f32[64] write, %z: f32[64] write";
  EXPECT_TRUE(are_one({copy(two, "a", "y"), copy(two, "a", "y")}));
  EXPECT_FALSE(are_one({copy(two, "a", "y"), copy(two, "b", "y")}));
  EXPECT_FALSE(are_one({copy(two, "a", "y"), copy(two, "a", "z")}));
  const auto from = [&](const std::string& dtype) {
    return copy("%a: " + dtype + "[64] read, %y: f32[64] write", "a", "y");
  };
  EXPECT_FALSE(are_one({from("bf16"), from("f16")}));  // both are computed in f32
}

TEST(ShareKernels, each_kernel_is_told_its_own) {
  const SharedKernels s = share_kernels(std::vector<Kernel>{kernel(in_row("%y[p] = %x[p]*3.0")),
                                                            kernel(in_row("%y[p] = exp(%x[p])")),
                                                            kernel(in_row("%y[p] = %x[p]*5.0"))});
  ASSERT_EQ(s.kernels.size(), 2u);
  EXPECT_EQ(s.uses[0].kernel, 0u);
  EXPECT_EQ(s.uses[1].kernel, 1u);
  EXPECT_EQ(s.uses[2].kernel, 0u);
}

// Two places of one expression differ in one kernel and not in the other.
TEST(ShareKernels, what_is_shared_stays_one_object) {
  const auto square = [](int64_t n, int64_t m) {
    Kernel k = kernel(in_two_rows("%y[p*64] = 0.0"));
    auto& row = std::get<loop::For>(k.body[0].node);
    auto& store = std::get<loop::Store>(row.body[0].node);
    const loop::Expr a = loop::load(0, DType::f32, row.loop.var * loop::Expr(n));
    const loop::Expr b = loop::load(0, DType::f32, row.loop.var * loop::Expr(m));
    store.value = a * (n == m ? a : b);
    return k;
  };
  const auto operands_are_one = [](const Kernel& k) {
    const auto& row = std::get<loop::For>(k.body[0].node);
    const loop::Expr& value = std::get<loop::Store>(row.body[0].node).value;
    return &*value->args[0] == &*value->args[1];
  };
  const SharedKernels equal =
      share_kernels(std::vector<Kernel>{square(100, 100), square(200, 200)});
  ASSERT_EQ(equal.kernels.size(), 1u);
  EXPECT_TRUE(operands_are_one(equal.kernels[0]));
  const SharedKernels mixed =
      share_kernels(std::vector<Kernel>{square(100, 100), square(200, 300)});
  ASSERT_EQ(mixed.kernels.size(), 1u);
  EXPECT_FALSE(operands_are_one(mixed.kernels[0]));
  EXPECT_EQ(mixed.uses[0].scalars, (std::vector<int64_t>{100, 100}));
  EXPECT_EQ(mixed.uses[1].scalars, (std::vector<int64_t>{200, 300}));
}

TEST(ShareKernels, a_scalars_name_is_no_other_name) {
  const SharedKernels s = share_kernels(
      with_numbers(in_two_rows("let number0 = p*#\n%y[number0] = 0.0"), {"64", "160"}));
  ASSERT_EQ(s.kernels.size(), 1u);
  EXPECT_EQ(s.kernels[0].scalars[1].name, "number_0");
}

}  // namespace
}  // namespace cleave::schedule
