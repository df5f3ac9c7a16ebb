// The graph that a program was lowered from: as it is, or as a text that is parsed where somebody
// asks for it, which only messages about failed runs do.
#pragma once
#include <functional>
#include <memory>
#include <mutex>

#include "ir/text.h"

namespace cleave {

class LoweredGraph {
 public:
  explicit LoweredGraph(Graph graph) : graph_(std::make_unique<Graph>(std::move(graph))) {}
  // A text of print(g, SourceLines&), and the lines that its numbers stand for; `ops` lives longer.
  LoweredGraph(std::string text, std::vector<std::string> lines, const OpRegistry& ops)
      : text_(std::move(text)), lines_(std::move(lines)), ops_(&ops) {}

  // Thread-safe. Throws (bug) for a text that doesn't parse.
  const Graph& get() const;

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Graph> graph_;
  std::string text_;
  std::vector<std::string> lines_;
  const OpRegistry* ops_ = nullptr;
};

}  // namespace cleave
