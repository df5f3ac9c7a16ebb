// Boxes in rows, with curves from what is read to its readers.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "inspect/svg.h"

namespace cleave {

struct Drawn {
  std::string name, kind;
  std::vector<std::string> details = {};  // further lines
  std::string_view fill = "#eef2f7";
  int layer = 0;
  bool is_late = false;            // reads a tangent, directly or indirectly
  double x = 0, width = 0;         // its left edge
  std::vector<size_t> reads = {};  // boxes before it
};

class LayeredBoxes {
 public:
  // Each box has as many lines as the one with the most. Sets their widths.
  explicit LayeredBoxes(std::vector<Drawn> items = {});

  // Layers from the top down: each box is below all that it reads.
  void set_layers();
  // Places the boxes of each row, ordered by the mean position of their neighbours in the graph.
  // Returns the width of the widest row.
  double place(double left);

  std::vector<Drawn>& items() { return items_; }
  const std::vector<Drawn>& items() const { return items_; }
  int layers() const { return layers_; }
  double row_height() const { return box_height_ + 28; }
  // The middle of an item's box, at its top; `top` is the first row's.
  Point top_of(const Drawn& d, double top) const;
  double box_height() const { return box_height_; }
  // Curves first, then boxes over them. `stroke` says how a curve looks; empty: thin and grey.
  using EdgeStroke = std::function<Stroke(size_t from, size_t to)>;
  void draw_edges(Svg& svg, double top, const EdgeStroke& stroke = {}) const;
  void draw_boxes(Svg& svg, double top) const;

 protected:
  void fit(Drawn& d) const;  // sets its width
  void count_layers();

  std::vector<Drawn> items_;
  double box_height_ = 34;  // of boxes without further lines

 private:
  double width_of(const std::vector<size_t>& row) const;
  void spread(const std::vector<size_t>& row, double left, double widest);
  void sort_row(std::vector<size_t>& row, const std::vector<std::vector<size_t>>& joined,
                double left, double widest);

  int layers_ = 0;
};

}  // namespace cleave
