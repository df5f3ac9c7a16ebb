// A graph, or some calls of one, drawn in layers.
#pragma once
#include <map>
#include <vector>

#include "inspect/layered_boxes.h"
#include "ir/graph.h"

namespace cleave {

// The calls of a graph and, if asked for, the placeholders that they read.
class LayeredDrawing : public LayeredBoxes {
 public:
  struct Shown {
    bool placeholders = true;
    bool types = false;    // of each value
    bool sources = false;  // the program's line of each call
    // Not empty: these calls alone, in the graph's order; what they read of others is drawn as
    // placeholders are.
    std::vector<NodeId> calls = {};
  };
  LayeredDrawing(const Graph& g, Shown shown);

  // Layers from the inputs down; an input is in the layer above its first reader.
  void set_layers_from_inputs();
  // Layers from the tangents up; a call that reads no tangent, such as a recomputed one, is in the
  // layer below its first reader.
  void set_layers_from_tangents();

  Drawn* find(ValueId v);

 private:
  void add_inputs(const std::vector<NodeId>& calls);
  void add_call(NodeId n);
  void add(ValueId v, std::string kind, std::string_view fill, std::vector<std::string> details);
  std::vector<std::string> details_of(ValueId v) const;
  bool reads_tangent(ValueId v) const;

  const Graph& g_;
  const Shown shown_;
  std::map<ValueId, size_t> item_of_;
  size_t calls_from_ = 0;
};

}  // namespace cleave
