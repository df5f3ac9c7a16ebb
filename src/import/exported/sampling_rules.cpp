// Images read at places between their elements: grid_sampler of two or three dims.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

Values grid_sampler(Call& c) {
  const ValueId input = c.tensor("input");
  return {c.op(c.rank(input) == 5 ? "grid_sampler_3d" : "grid_sampler_2d",
               {input, c.tensor("grid")},
               {{"interpolation_mode", c.integer("interpolation_mode", 0)},
                {"padding_mode", c.integer("padding_mode", 0)},
                {"align_corners", c.flag("align_corners", false)}})};
}

}  // namespace

std::span<const RuleRow> sampling_rules() {
  static constexpr RuleRow rows[] = {{"grid_sampler", grid_sampler}};
  return rows;
}

}  // namespace cleave::exported
