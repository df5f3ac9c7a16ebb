// Labels beside points, none over another or over what is in the way already.
#pragma once
#include "inspect/svg.h"

namespace cleave {

class Labels {
 public:
  explicit Labels(const Box& frame) : frame_(frame) {}
  // Nothing is written there.
  void keep_free(const Box& box) { kept_free_.push_back(box); }
  // Near the point, else farther away with a line to it; where no place within the frame is free,
  // not at all (false).
  bool put(Svg& svg, Point at, std::string_view text, std::string_view colour);

 private:
  bool is_free(const Box& box) const;
  // Whether no label or line to one lies on the way.
  bool is_clear(Point from, Point to) const;

  Box frame_;
  std::vector<Box> kept_free_, written_;  // written: labels, and the lines to them in small pieces
};

}  // namespace cleave
