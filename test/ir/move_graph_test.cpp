// A graph on another device, and back.
#include "ir/move_graph.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core, test::parsed;

constexpr const char* here =
    "graph @sub(%a: input f32[4,2]) {\n  %t = sin(%a)\n  return %t\n}\n"
    "graph @main(%s0: symint range(2,9), %x: input f32[4,2], %n: input f32[s0,2], %lr: input "
    "f64[], "
    "%w: param f32[2] grad) {\n"
    "  %y = call([%x]; graph=@sub) !recompute(must_save)\n"
    "  %z = mul(%y, %w)   # model.cpp:7\n"
    "  %f = full(size=[2], fill_value=1.0)\n"
    "  %g = full(size=[2], fill_value=1.0, device=\"cpu\")\n"
    "  %u = add(%w, %f)\n  %v = add(%u, %g)\n  return %z, %n, %v -> %w\n}\n";

std::string there_text() {
  std::string out = here;
  const auto replace = [&](const std::string& a, const std::string& b) {
    for (size_t at = 0; (at = out.find(a, at)) != std::string::npos; at += b.size())
      out.replace(at, a.size(), b);
  };
  replace("f32[s0,2]", "f32[s0,2]@cuda:1");
  replace("f32[4,2]", "f32[4,2]@cuda:1");
  replace("f64[]", "f64[]@cuda:1");
  replace("f32[2]", "f32[2]@cuda:1");
  replace(", device=\"cpu\"", "");
  replace("fill_value=1.0", "fill_value=1.0, device=\"cuda:1\"");
  return out;
}

TEST(MoveGraph, all_but_symints_move_with_their_names_lines_and_tags) {
  const Graph moved = value_or_throw(moved_to(parsed(here), Device::cuda(1), core()));
  EXPECT_EQ(print(moved), print(parsed(there_text())));
  EXPECT_TRUE(verify(moved).ok());
  EXPECT_EQ(device_of(moved), Device::cuda(1));
}

TEST(MoveGraph, and_back) {
  const Graph back = value_or_throw(moved_to(parsed(there_text()), Device::cpu(), core()));
  EXPECT_EQ(device_of(back), Device::cpu());
  EXPECT_EQ(print(back).find("cuda"), std::string::npos) << print(back);
  EXPECT_NE(print(back).find("device=\"cpu\""), std::string::npos);
}

// Statistics of a half tensor are f32 on cuda.
TEST(MoveGraph, a_result_of_another_dtype_there_is_converted) {
  const Graph g = parsed(
      "graph @main(%x: input bf16[4,8]) {\n"
      "  %y, %mean, %rstd = native_layer_norm(%x; normalized_shape=[8], eps=1e-05)\n"
      "  return %y, %mean\n}\n");
  const Graph moved = value_or_throw(moved_to(g, Device::cuda(), core()));
  EXPECT_TRUE(verify(moved).ok());
  EXPECT_EQ(moved.type(moved.find("mean")).text(), g.type(g.find("mean")).text() + "@cuda:0");
  EXPECT_EQ(moved.returns()[1].value, moved.find("mean"));
}

TEST(MoveGraph, the_device_is_that_of_the_first_tensor_with_dims) {
  EXPECT_EQ(device_of(parsed("graph @main(%s: input f32[], %x: input f32[2]@cuda:3) {\n"
                             "  %y = mul(%x, %s)\n  return %y\n}\n")),
            Device::cuda(3));
  EXPECT_EQ(device_of(parsed("graph @main(%s: input f32[]) {\n  return %s\n}\n")), Device::cpu());
}

TEST(MoveGraph, copies_between_devices_are_copies_there) {
  const Graph g = parsed(
      "graph @main(%x: input f32[2], %w: input f32[2]@cuda:0, %s: input f32[]) {\n"
      "  %y = _to_copy(%x; device=\"cuda:0\")\n  %z = mul(%w, %y)\n  %u = mul(%z, %s)\n"
      "  %h = _to_copy(%u; dtype=f16, device=\"cpu\")\n  return %h\n}\n");
  EXPECT_EQ(g.type(g.find("h")).text(), "f16[2]");
  for (const Device device : {Device::cpu(), Device::cuda(2)}) {
    EXPECT_FALSE(lies_on(g, device));
    const Graph moved = value_or_throw(moved_to(g, device, core()));
    EXPECT_TRUE(verify(moved).ok());
    EXPECT_TRUE(lies_on(moved, device));
    EXPECT_EQ(print(moved).find("device="), std::string::npos) << print(moved);
    EXPECT_EQ(moved.type(moved.find("h")).dtype, DType::f16);
  }
}

TEST(MoveGraph, what_lies_elsewhere) {
  const auto lies = [](const char* text, Device device) { return lies_on(parsed(text), device); };
  const char* const there =
      "graph @main(%x: input f32[2]@cuda:0, %s: input f32[]) {\n  %y = mul(%x, %s)\n"
      "  return %y\n}\n";
  EXPECT_TRUE(lies(there, Device::cuda()));
  EXPECT_FALSE(lies(there, Device::cuda(1)));
  EXPECT_FALSE(lies(there, Device::cpu()));
  EXPECT_FALSE(
      lies("graph @in(%x: input f32[2]) {\n  %r = zeros(; size=[2], device=\"cuda\")\n"
           "  return %x\n}\ngraph @main(%x: input f32[2]) {\n"
           "  %y = call([%x]; graph=@in)\n  return %y\n}\n",
           Device::cpu()));
}

}  // namespace
}  // namespace cleave
