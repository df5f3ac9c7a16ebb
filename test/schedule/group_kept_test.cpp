// Values that wait for a later pass over their row, each in a local buffer of the kernel.
#include <gtest/gtest.h>

#include "lower/lower_graph.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

// The program of one kernel, @body(%x: f32[shape]) -> %y.
LoweredProgram fused(const std::string& shape, const std::string& calls) {
  const std::string arguments = "(%x: input f32[" + shape + "]) {\n";
  return value_or_throw(
      lower_graph(test::parsed("graph @body" + arguments + calls + "  return %y\n}\ngraph @main" +
                               arguments + "  %z = fused([%x]; body=@body)\n  return %z\n}\n")));
}

size_t local_buffers(const loop::Kernel& k) {
  return static_cast<size_t>(
      std::ranges::count(k.buffers, loop::Access::local, &loop::Buffer::access));
}

const std::string total_of_u = "  %t = sum(%u; dim=[1], keepdim=true)\n  %y = div(%u, %t)\n";

TEST(GroupKept, a_dear_value_is_computed_once) {
  const LoweredProgram p = fused("4,32", "  %u = erf(%x)\n" + total_of_u);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(local_buffers(p.kernels[0]), 1u);
  const std::string text = loop::print(p.kernels[0]);
  EXPECT_EQ(text.find("erf("), text.rfind("erf(")) << text;
}

// The element that v's pass would keep is erf(x - s) of another row, whose sum isn't known there.
TEST(GroupKept, what_is_read_between_two_flips_is_not) {
  const LoweredProgram p = fused("4,32",
                                 "  %s = sum(%x; dim=[1], keepdim=true)\n"
                                 "  %w = sub(%x, %s)\n"
                                 "  %f = flip(%w; dims=[0])\n"
                                 "  %v = erf(%f)\n"
                                 "  %u = flip(%v; dims=[0])\n" +
                                     total_of_u);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(local_buffers(p.kernels[0]), 0u) << loop::print(p.kernels[0]);
}

// %q is read at other elements than those that are kept, but in the same row.
TEST(GroupKept, a_padded_row_reads_what_is_kept) {
  const LoweredProgram p = fused("4,32",
                                 "  %u = erf(%x)\n  %t = sum(%u; dim=[1], keepdim=true)\n"
                                 "  %q = div(%u, %t)\n  %y = constant_pad_nd(%q; pad=[2,3])\n");
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(local_buffers(p.kernels[0]), 1u);
  const std::string text = loop::print(p.kernels[0]);
  EXPECT_EQ(text.find("erf("), text.rfind("erf(")) << text;
}

// The loop that computes %y stores nothing apart, and so runs in vectors.
TEST(GroupKept, elements_that_are_stored_apart_wait) {
  const std::string calls =
      "  %m = sum(%x; dim=[1], keepdim=true)\n  %u = mul(%x, %m)\n"
      "  %w = permute(%u; dims=[1,0])\n  %y = neg(%w)\n";
  const LoweredProgram p = fused("4,32", calls);
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(local_buffers(p.kernels[0]), 1u) << loop::print(p.kernels[0]);
}

// Three passes read %u, of which the first one reads across memory, directly or through views.
TEST(GroupKept, what_is_read_across_memory_is_read_once) {
  const auto norm = [](const std::string& calls) {
    return fused("32,40", calls +
                              "  %m = mean(%u; dim=[1], keepdim=true)\n  %d = sub(%u, %m)\n"
                              "  %q = mul(%d, %d)\n  %v = sum(%q; dim=[1], keepdim=true)\n"
                              "  %y = div(%d, %v)\n");
  };
  const auto reads_of = [](const loop::Kernel& k) {
    const std::string text = loop::print(k), body = text.substr(text.find('{'));
    size_t count = 0;
    for (size_t at = body.find("%x["); at != body.npos; at = body.find("%x[", at + 1)) ++count;
    return count;
  };
  for (const char* across :
       {"  %t = permute(%x; dims=[1,0])\n  %u = neg(%t)\n", "  %u = permute(%x; dims=[1,0])\n"}) {
    const LoweredProgram p = norm(across);
    ASSERT_EQ(p.kernels.size(), 1u);
    EXPECT_GE(local_buffers(p.kernels[0]), 1u) << loop::print(p.kernels[0]);
    EXPECT_LE(reads_of(p.kernels[0]), 2u) << loop::print(p.kernels[0]);  // kept, and added up
  }
  const LoweredProgram along = norm("  %u = neg(%x)\n");
  EXPECT_EQ(local_buffers(along.kernels.at(0)), 0u);
}

}  // namespace
}  // namespace cleave
