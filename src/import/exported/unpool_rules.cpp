// The inverse of pooling by maxima: each element at the index that it was found at, else 0.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

// self, indices [*,windows...] -> [*,output_size...]; indices count the elements of one plane.
template <size_t dims>
Values max_unpool(Call& c) {
  const V x = c.tensor("self"), indices = c.tensor("indices");
  const Shape size = c.sizes("output_size"), given = c.type(x).shape;
  if (size.size() != dims || given.size() < dims)
    return {c.fail("{} of {} to {}", c.node().target, c.type(x).text(), shape_text(size))};
  const auto lead = given.end() - static_cast<std::ptrdiff_t>(dims);
  Shape flat(given.begin(), lead), planes = flat, y = flat;
  Dim windows = 1, elements = 1;
  for (auto d = lead; d != given.end(); ++d) windows = windows * *d;
  for (const Dim& d : size) elements = elements * d;
  flat.push_back(windows);
  planes.push_back(elements);
  y.insert(y.end(), size.begin(), size.end());
  const V zeros =
      c.op("full", {}, {{"size", planes}, {"fill_value", 0}, {"dtype", c.type(x).dtype}});
  const V whole = c.op("scatter", {zeros, c.view(indices, flat), c.view(x, flat)}, {{"dim", -1}});
  return {c.view(whole, y)};
}

}  // namespace

std::span<const RuleRow> unpool_rules() {
  static constexpr RuleRow rows[] = {
      {"max_unpool2d", max_unpool<2>},
      {"max_unpool3d", max_unpool<3>},
  };
  return rows;
}

}  // namespace cleave::exported
