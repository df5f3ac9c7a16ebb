// frontier.svg: recomputation time against saved bytes in all modes.
//
//   recomputed ^ o                      lines: exact points; mode pytorch over its budgets
//              |  `o..  x               dots: mode default, the chosen cut
//              |     ``o.....o          dashes: no cut lies below them
//              +--------------► saved
#pragma once
#include <optional>

#include "inspect/svg.h"

namespace cleave {

struct Trade {
  int64_t bytes = 0, ns = 0;
  std::string label = {};  // may be empty
};

struct TradeLine {
  std::string name;
  std::string colour;
  std::vector<Trade> points;
  bool line = true;
  bool bound = false;  // dashed, without dots
  bool large = false;  // the dots
};

// Later lines are drawn over earlier ones.
std::string trade_chart(const std::string& title, const std::vector<TradeLine>& lines,
                        std::string_view bytes_are = "saved for the backward");

}  // namespace cleave
