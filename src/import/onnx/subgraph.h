// Graphs of branches and bodies that become subgraphs of the program (doc/decisions/005).
#pragma once
#include "import/onnx/call.h"

namespace cleave::onnx {

struct Subgraph {
  GraphRef graph;
  std::vector<Element> elements;  // of its results
};

// Writes a graph into a frame of its own: `own` are placeholders for operands of its own, in order;
// behind them stand those for `captured`, values of the frame around it. `write` gives its results.
// What else it reads of its surroundings is added to `captured`, and is no operand yet: write it
// again then.
using WriteBody = std::function<Result<std::vector<Value>>(const std::vector<Value>& own)>;
Result<Subgraph> write_subgraph(Call& c, const std::string& name, const std::vector<Value>& own,
                                Values& captured, const WriteBody& write);

}  // namespace cleave::onnx
