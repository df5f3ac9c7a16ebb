// Labels next to points that overlap neither each other nor areas that are kept free.
#pragma once
#include "inspect/svg.h"

namespace cleave {

class Labels {
 public:
  explicit Labels(const Box& frame) : frame_(frame) {}
  // No label is written over the box.
  void keep_free(const Box& box) { kept_free_.push_back(box); }
  // Writes a label near the point, else farther away with a line to it. False, and nothing is
  // written, if there is no free position within the frame.
  bool put(Svg& svg, Point at, std::string_view text, std::string_view colour);

 private:
  bool is_free(const Box& box) const;
  // Whether a line would cross no label and no other label's line.
  bool is_clear(Point from, Point to) const;

  Box frame_;
  std::vector<Box> kept_free_, written_;  // written_: labels, and their lines as small boxes
};

}  // namespace cleave
