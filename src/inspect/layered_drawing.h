// A graph drawn in layers: boxes in rows, with curves from what is read to its readers.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "inspect/svg.h"
#include "ir/graph.h"

namespace cleave {

struct Drawn {
  std::string name, kind;
  std::vector<std::string> details = {};  // further lines
  std::string_view fill = "#eef2f7";
  int layer = 0;
  bool is_late = false;     // reads a tangent, directly or indirectly
  double x = 0, width = 0;  // its left edge
  std::vector<size_t> reads = {};
};

// The calls of a graph and, if asked for, the placeholders that they read.
class LayeredDrawing {
 public:
  struct Shown {
    bool placeholders = true;
    bool types = false;    // of each value
    bool sources = false;  // the program's line of each call
  };
  LayeredDrawing(const Graph& g, Shown shown);

  // Layers from the inputs down; an input is in the layer above its first reader.
  void set_layers_from_inputs();
  // Layers from the tangents up; a call that reads no tangent, such as a recomputed one, is in the
  // layer below its first reader.
  void set_layers_from_tangents();
  // Places the boxes of each row, ordered by the mean position of their neighbours in the graph.
  // Returns the width of the widest row.
  double place(double left);

  const std::vector<Drawn>& items() const { return items_; }
  Drawn* find(ValueId v);
  int layers() const { return layers_; }
  double row_height() const { return box_height_ + 28; }
  // The middle of an item's box, at its top; `top` is the first row's.
  Point top_of(const Drawn& d, double top) const;
  double box_height() const { return box_height_; }
  // Curves first, then boxes over them.
  void draw_edges(Svg& svg, double top) const;
  void draw_boxes(Svg& svg, double top) const;

 private:
  void add(ValueId v, std::string kind, std::string_view fill, std::vector<std::string> details);
  std::vector<std::string> details_of(ValueId v) const;
  bool reads_tangent(ValueId v) const;
  void count_layers();
  double width_of(const std::vector<size_t>& row) const;
  void spread(const std::vector<size_t>& row, double left, double widest);
  void sort_row(std::vector<size_t>& row, const std::vector<std::vector<size_t>>& joined,
                double left, double widest);

  const Graph& g_;
  const Shown shown_;
  std::vector<Drawn> items_;
  std::map<ValueId, size_t> item_of_;
  size_t calls_from_ = 0;
  int layers_ = 0;
  double box_height_ = 34;
};

}  // namespace cleave
