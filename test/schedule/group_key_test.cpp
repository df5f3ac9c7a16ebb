// Calls share a kernel if and only if their loops are the same but for names.
// tests: lower/lower_group.cpp
#include <gtest/gtest.h>

#include "lower/lower_graph.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::parsed;

std::vector<loop::Kernel> kernels_of(const std::string& text) {
  return value_or_throw(lower_graph(parsed(text))).kernels;
}

TEST(SharedKernels, names_do_not_matter) {
  EXPECT_EQ(kernels_of("graph @g(%x: input f32[8], %y: input f32[8]) {\n"
                       "  %a = exp(%x)\n  %b = exp(%y)\n  return %a, %b\n}\n")
                .size(),
            1u);
}

// x * (y * z) and (x * y) * z are rounded differently; all else is equal.
TEST(SharedKernels, the_order_of_a_product_does) {
  const std::string arguments = "(%x: input f32[8], %y: input f32[8], %z: input f32[8]) {\n";
  const auto body = [&](const std::string& product) {
    return arguments + "  %n = neg(%x)\n" + product + "  return %b, %n\n}\n";
  };
  const auto kernels =
      kernels_of("graph @left" + body("  %a = mul(%x, %y)\n  %b = mul(%a, %z)\n") + "graph @right" +
                 body("  %a = mul(%y, %z)\n  %b = mul(%x, %a)\n") + "graph @main" + arguments +
                 "  %l, %m = fused([%x, %y, %z]; body=@left)\n"
                 "  %r, %k = fused([%x, %y, %z]; body=@right)\n  return %l, %r, %k, %m\n}\n");
  EXPECT_EQ(kernels.size(), 2u);
}

// What else two fused calls of the same operators may differ in.
TEST(SharedKernels, numbers_operands_and_results_do) {
  const std::string arguments = "(%x: input f32[8], %y: input f32[8]) {\n";
  const auto count = [&](const std::string& one, const std::string& other) {
    return kernels_of("graph @one" + arguments + one + "}\ngraph @other" + arguments + other +
                      "}\ngraph @main" + arguments +
                      "  %a, %b = fused([%x, %y]; body=@one)\n"
                      "  %c, %d = fused([%x, %y]; body=@other)\n  return %a, %b, %c, %d\n}\n")
        .size();
  };
  const std::string calls = "  %p = sub(%x, %y)\n  %q = mul(%p; other=2.0)\n",
                    in_order = calls + "  return %p, %q\n";
  EXPECT_EQ(count(in_order, in_order), 1u);
  EXPECT_EQ(count(in_order, "  %p = sub(%x, %y)\n  %q = mul(%p; other=3.0)\n  return %p, %q\n"),
            2u);
  EXPECT_EQ(count(in_order, "  %p = sub(%y, %x)\n  %q = mul(%p; other=2.0)\n  return %p, %q\n"),
            2u);
  EXPECT_EQ(count(in_order, calls + "  return %q, %p\n"), 2u);
}

// A copy of a value into the memory of its name.
TEST(SharedKernels, buffers_have_names_of_their_own) {
  const auto kernels = kernels_of(
      "graph @g(%x: input f32[8], %m: buffer f32[8]) {\n"
      "  return %m, %x -> %m\n}\n");
  for (const loop::Kernel& k : kernels) {
    ASSERT_EQ(k.buffers.size(), 2u);
    EXPECT_NE(k.buffers[0].name, k.buffers[1].name) << loop::print(k);
  }
}

// silu reads its operand twice: written out, forty in a row would be 2^40 operations.
TEST(SharedKernels, text_grows_with_the_graph) {
  const auto bytes = [](int calls) {
    std::string body = "graph @chain(%x0: input f32[8]) {\n";
    for (int k = 0; k < calls; ++k) body += fmt::format("  %x{} = silu(%x{})\n", k + 1, k);
    body += fmt::format("  return %x{}\n}}\n", calls);
    const auto kernels = kernels_of(body +
                                    "graph @main(%x: input f32[8]) {\n"
                                    "  %y = fused([%x]; body=@chain)\n  return %y\n}\n");
    EXPECT_EQ(kernels.size(), 1u);
    return loop::print(kernels[0]).size();
  };
  EXPECT_LT(bytes(80), 3 * bytes(40));
}

}  // namespace
}  // namespace cleave
