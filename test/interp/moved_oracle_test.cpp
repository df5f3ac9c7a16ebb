// What rounding may change in a result: terms that cancel inside of an operator.
#include "interp/moved_oracle.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

// Whether a result that is off by so much at this element agrees with the oracle.
bool agrees(const Graph& g, const Arrays& inputs, size_t at, double by) {
  Arrays got = value_or_throw(run_oracle(g, inputs));
  Array& y = got[0];
  if (y.floating())
    y.f[at] += by;
  else
    y.i[at] += static_cast<int64_t>(by);
  return value_or_throw(compare_with_oracle(g, inputs, got)).difference.empty();
}

// Of zeros.
Arrays inputs_of(const Graph& g) {
  Arrays out;
  for (const Placeholder& p : g.placeholders())
    out.emplace_back(g.type(p.value).dtype, static_shape(g.type(p.value)));
  return out;
}
void fill(Array& x, double value) {
  for (double& e : x.f) e = value;
}

// All neighbours of an image of one pixel are equal, so that the grid has no gradient.
TEST(MovedOracle, differences_of_equal_pixels_are_as_exact_as_the_pixels) {
  const Graph g = test::parsed(
      "graph @main(%y: input f32[1,2,1,2], %x: input f32[1,2,1,1], %grid: input f32[1,1,2,2]) {\n"
      "  %dx, %dgrid = grid_sampler_2d_backward(%y, %x, %grid; interpolation_mode=2, "
      "padding_mode=2, align_corners=false, output_mask=[true,true])\n  return %dgrid\n}\n");
  Arrays inputs = inputs_of(g);
  inputs[2].f = {0.1, -0.2, 0.3, 0.4};
  for (const double size : {1.0, 316.0}) {
    fill(inputs[0], size), fill(inputs[1], size);
    EXPECT_TRUE(agrees(g, inputs, 0, 1e-7 * size * size)) << size;
    EXPECT_FALSE(agrees(g, inputs, 0, 1e-3 * size * size)) << size;
  }
}

// The imaginary part of the sum of real numbers is 0, and its sign that of a rounding.
TEST(MovedOracle, the_sign_of_a_transform_that_is_0_is_open) {
  const Graph g = test::parsed(
      "graph @main(%x: input f32[7]) {\n"
      "  %y = fft_r2c(%x; dim=[0], normalization=0, onesided=true)\n  %s = sign(%y)\n"
      "  return %s\n}\n");
  Arrays inputs = inputs_of(g);
  inputs[0].f[1] = 1, inputs[0].f[3] = 2;
  EXPECT_TRUE(agrees(g, inputs, 1, 1));   // imaginary, of the sum
  EXPECT_FALSE(agrees(g, inputs, 0, 1));  // real: it is 3
}

}  // namespace
}  // namespace cleave
