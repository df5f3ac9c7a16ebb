// The losses of a training run over its steps.
//
//   loss ^ .                 thin: each step's loss, or means of neighbours where there are many
//        | `..               line with dots: the held-out part's
//        |   `-.o__.o
//        +--------------► step
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cleave {

struct LossCurves {
  std::string title;
  using Point = std::pair<int64_t, double>;  // step, loss; by rising step
  std::vector<Point> train, held_out;
};

// At most `most` points, each the mean of as many neighbours as it takes; those that are no number
// are left out.
std::vector<LossCurves::Point> thinned(const std::vector<LossCurves::Point>& points, size_t most);

// As SVG.
std::string loss_chart(const LossCurves& curves);

}  // namespace cleave
