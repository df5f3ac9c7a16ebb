#include "compile/lowered_graph.h"

namespace cleave {

const Graph& LoweredGraph::get() const {
  std::call_once(once_, [&] {
    if (graph_) return;
    Program program = value_or_bug(parse(with_lines(text_, lines_), "kept program", *ops_));
    graph_ = std::make_unique<const Graph>(std::move(program.main));
  });
  return *graph_;
}

}  // namespace cleave
