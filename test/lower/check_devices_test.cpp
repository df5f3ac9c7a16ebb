// A graph lies on the device that it is compiled for.
#include "lower/check_devices.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::parsed;

std::string refusal(const char* text, Device device, ErrorKind kind) {
  const Status s = check_devices(parsed(text), device);
  if (s.ok()) return "";
  EXPECT_EQ(s.failure().kind, kind) << s.failure().message;
  return s.failure().message;
}

constexpr const char* there =
    "graph @main(%s: input f32[], %x: input f32[2]@cuda:0) {\n"
    "  %y = mul(%x, %s)\n  return %y\n}\n";

TEST(CheckDevices, all_on_one_device_with_numbers_of_the_cpu) {
  EXPECT_EQ(refusal(there, Device::cuda(), ErrorKind::bug), "");
  EXPECT_EQ(refusal("graph @main(%x: input f32[2]) {\n  %y = sin(%x)\n  return %y\n}\n",
                    Device::cpu(), ErrorKind::bug),
            "");
}

TEST(CheckDevices, all_elsewhere_is_not_covered) {
  EXPECT_EQ(refusal(there, Device::cuda(1), ErrorKind::unsupported),
            "@main: %x is f32[2]@cuda:0, and the program is compiled for cuda:1, where nothing of "
            "it runs instead; compile it for cuda:0 (--device, CompileOptions::device), take "
            "@cuda:0 off the types, or run it by the reference engine, which knows no devices\n"
            "  %x: input f32[2]@cuda:0");
}

TEST(CheckDevices, values_on_two_devices_are_both_named) {
  EXPECT_EQ(refusal("graph @main(%x: input f32[2]@cuda:0, %y: input f32[3]) {\n"
                    "  %z = sin(%x)\n  return %z, %y\n}\n",
                    Device::cuda(), ErrorKind::user),
            "@main: %y is f32[3], and %x is f32[2]@cuda:0: expected one device, cuda:0, for all "
            "values but 0-d inputs on the CPU\n  %y: input f32[3]\n  %x: input f32[2]@cuda:0");
}

TEST(CheckDevices, a_constructor_elsewhere_is_named) {
  const std::string said = refusal(
      "graph @main(%x: input f32[2]) {\n  %y = full(size=[2], fill_value=1.0, device=\"cuda:0\")\n"
      "  %z = sin(%x)\n  return %z, %y\n}\n",
      Device::cpu(), ErrorKind::unsupported);
  EXPECT_TRUE(said.starts_with(
      "@main: %y is f32[2]@cuda:0, and %x is f32[2]: full on another device than the program's "
      "isn't covered; give it the device cpu\n"))
      << said;
}

TEST(CheckDevices, a_copy_to_another_device_is_named_with_both) {
  EXPECT_EQ(
      refusal("graph @main(%x: input f32[2], %w: input f32[2]@cuda:0) {\n"
              "  %y = _to_copy(%x; device=\"cuda:0\")\n  %z = mul(%w, %y)\n  return %z\n}\n",
              Device::cuda(), ErrorKind::unsupported),
      "@main: %x is f32[2], and its copy is f32[2]@cuda:0: a copy from device to device within "
      "a program isn't covered; move the whole graph there (--device, "
      "CompileOptions::device)\n  %y = _to_copy(%x; device=\"cuda:0\") : f32[2]@cuda:0");
}

TEST(CheckDevices, subgraphs_are_looked_at) {
  const std::string said = refusal(
      "graph @far(%x: input f32[2]) {\n  %y = arange(; end=2.0, device=\"cuda\")\n"
      "  %s = sin(%x)\n  return %s\n}\ngraph @near(%x: input f32[2]) {\n  return %x\n}\n"
      "graph @main(%p: input bool[], %x: input f32[2]) {\n"
      "  %y = cond(%p, [%x]; then=@far, otherwise=@near)\n  return %y\n}\n",
      Device::cpu(), ErrorKind::unsupported);
  EXPECT_TRUE(said.starts_with("@far: %y is f32[2]@cuda:0, and %x is")) << said;
}

}  // namespace
}  // namespace cleave
