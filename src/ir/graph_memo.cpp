#include "ir/graph_memo.h"

#include "ir/print.h"

namespace cleave {

GraphMemo::GraphMemo(const Graph& top) : taken_{top.name()} {
  for (const GraphRef& sub : subgraphs_in_order(top, {})) taken_.insert(sub->name());
}

std::optional<GraphMemo::Answer> GraphMemo::find(const Question& question) const {
  const auto at = answers_.find(question);
  return at == answers_.end() ? std::nullopt : std::optional(at->second);
}

void GraphMemo::keep(Question question, Answer answer) {
  answers_.emplace(std::move(question), std::move(answer));
}

std::string GraphMemo::fresh_name(const std::string& stem) {
  std::string name = stem;
  for (int k = 1; !taken_.insert(name).second; ++k) name = fmt::format("{}_{}", stem, k);
  return name;
}

}  // namespace cleave
