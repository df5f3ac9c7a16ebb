// Images read at places between their elements: grid_sampler of two or three dims, and the places
// that affine maps give.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

Values grid_sampler(Call& c) {
  const V input = c.tensor("input");
  return {c.op(c.rank(input) == 5 ? "grid_sampler_3d" : "grid_sampler_2d",
               {input, c.tensor("grid")},
               {{"interpolation_mode", c.integer("interpolation_mode", 0)},
                {"padding_mode", c.integer("padding_mode", 0)},
                {"align_corners", c.flag("align_corners", false)}})};
}

// n numbers from -1 to 1: the centers of elements, or with `aligned` their first and last; of one
// element 0.
V line(Call& c, int64_t n, bool aligned, DType t) {
  const V k = c.op("arange", {}, {{"end", n}, {"dtype", t}});
  if (n == 1) return c.op("mul", {k, 0.0});
  const auto size = static_cast<double>(n);
  if (aligned) return c.op("sub", {c.op("mul", {k, 2 / (size - 1)}), 1.0});
  return c.op("sub", {c.op("mul", {k, 2 / size}), 1 - 1 / size});
}

// theta [N,dims,dims + 1], size [N,C,*s] -> [N,*s,dims]: theta of (x, y, ..., 1), x along the last
// dim.
Values affine_grid(Call& c) {
  const V theta = c.tensor("theta");
  const Shape size = c.sizes("size"), given = c.type(theta).shape;
  const auto dims = std::ssize(size) - 2;
  if ((dims != 2 && dims != 3) || given.size() != 3 || !(given[1] == Dim(dims)) ||
      !(given[2] == Dim(dims + 1)))
    return {c.fail("an affine grid of {} and {}", c.type(theta).text(), shape_text(size))};
  const auto column = [&](int64_t k) {
    Shape shape(static_cast<size_t>(dims + 2), Dim(1));
    shape.front() = given[0];
    shape.back() = Dim(dims);
    return c.view(c.op("select", {theta}, {{"dim", 2}, {"index", k}}), shape);
  };
  V y = column(dims);
  for (int64_t k = 0; k < dims; ++k) {
    const auto d = static_cast<size_t>(dims - 1 - k);
    const Dim& n = size[d + 2];
    if (!n.is_const()) return {c.fail("an affine grid of {}", shape_text(size))};
    Shape shape(static_cast<size_t>(dims + 1), Dim(1));
    shape[d] = n;
    const V x = line(c, n.value(), c.flag("align_corners", false), c.type(theta).dtype);
    y = c.op("add", {y, c.op("mul", {column(k), c.view(x, shape)})});
  }
  return {y};
}

}  // namespace

std::span<const RuleRow> sampling_rules() {
  static constexpr RuleRow rows[] = {{"grid_sampler", grid_sampler},
                                     {"affine_grid_generator", in_f32<affine_grid>}};
  return rows;
}

}  // namespace cleave::exported
