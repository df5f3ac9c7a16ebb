// What the pass knows about a value is what a kernel computes.
#include "pass/uniform_value.h"

#include <gtest/gtest.h>

#include "test/prepared.h"

namespace cleave {
namespace {

constexpr std::optional<double> none;

// The number of each returned value; none where it isn't known.
std::vector<std::optional<double>> numbers_of(const std::string& text) {
  const Graph g = test::parsed(text);
  const UniformValues uniform(g);
  std::vector<std::optional<double>> out;
  for (const Return& r : g.returns()) {
    const AttrValue* number = uniform.find(r.value);
    out.push_back(number ? std::optional(number->as_double()) : std::nullopt);
  }
  return out;
}

TEST(UniformValues, f32_stays_as_it_is_written) {
  EXPECT_EQ(numbers_of("graph @main() {\n"
                       "  %a = full(; size=[2], fill_value=0.1) : f32[2]\n"
                       "  %b = full(; size=[2], fill_value=0.1, dtype=f64)\n"
                       "  %c = _to_copy(%b; dtype=f32)\n"
                       "  return %a, %c\n}\n"),
            (std::vector<std::optional<double>>{0.1, 0.1}));
}

// The oracle doesn't round f32, so that no golden tells these apart.
TEST(UniformValues, what_f32_does_not_hold_is_what_f32_makes_of_it) {
  EXPECT_EQ(numbers_of("graph @main() {\n"
                       "  %a = full(; size=[2], fill_value=1e-60) : f32[2]\n"
                       "  %b = any(%a)\n"
                       "  %c = full(; size=[2], fill_value=1e-60, dtype=f64)\n"
                       "  %d = _to_copy(%c; dtype=f32)\n"
                       "  %e = all(%d)\n"
                       "  %f = all(%c)\n"
                       "  return %a, %b, %d, %e, %f\n}\n"),
            (std::vector<std::optional<double>>{0, 0, 0, 0, 1}));
}

// Positions lie where arange begins and before where it ends, in whatever shape.
TEST(UniformValues, positions_on_one_side_of_a_number_or_of_others) {
  EXPECT_EQ(numbers_of("graph @main(%s0: symint, %x: input f32[s0], %n: input i64[8]) {\n"
                       "  %a = arange(; start=3, end=8, step=2)\n"
                       "  %b = view(%a; size=[3,1])\n"
                       "  %c = expand(%b; size=[3,4])\n"
                       "  %far = full(; size=[4], fill_value=8, dtype=i64)\n"
                       "  %late = arange(; start=7, end=11)\n"
                       "  %any = arange(; end=s0)\n"
                       "  %down = arange(; start=3, end=0, step=-1)\n"
                       "  %known0 = ge(%c; other=3)\n"
                       "  %known1 = gt(%c; other=8)\n"
                       "  %known2 = lt(%c, %far)\n"
                       "  %known3 = le(%far, %c)\n"
                       "  %known4 = le(%c, %late)\n"
                       "  %known5 = ge(%any; other=0)\n"
                       "  %unknown0 = ge(%c; other=4)\n"
                       "  %unknown1 = gt(%c; other=3)\n"
                       "  %unknown2 = lt(%c; other=7)\n"
                       "  %unknown3 = lt(%c, %late)\n"
                       "  %unknown4 = lt(%any; other=8)\n"
                       "  %known6 = gt(%down; other=0)\n"
                       "  %unknown6 = ge(%n; other=0)\n"
                       "  %unknown7 = ge(%c; other=0.5)\n"
                       "  return %known0, %known1, %known2, %known3, %known4, %known5, %known6, "
                       "%unknown0, %unknown1, %unknown2, %unknown3, %unknown4, "
                       "%unknown6, %unknown7\n}\n"),
            (std::vector<std::optional<double>>{1, 0, 1, 0, 1, 1, 1, none, none, none, none, none,
                                                none, none}));
}

}  // namespace
}  // namespace cleave
