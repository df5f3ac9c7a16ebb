// What the pass knows about a value is what a kernel computes.
#include "pass/uniform_value.h"

#include <gtest/gtest.h>

#include "test/prepared.h"

namespace cleave {
namespace {

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

}  // namespace
}  // namespace cleave
