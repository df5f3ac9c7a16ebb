// Graphs that were made from other graphs, by what they were made for.
//
// Subgraphs may be shared: a chain of k graphs that each refer twice to the next is k graphs, but
// 2^k ways through them. Who derives something from a graph for each way takes as long as there are
// ways; who asks here first, as long as there are graphs.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ir/graph.h"

namespace cleave {

class GraphMemo {
 public:
  // What is asked about a graph, as lists of yes and no: which results have a cotangent, say.
  struct Question {
    GraphRef graph;
    std::vector<std::vector<bool>> of;
    bool operator<(const Question& other) const {
      return std::tie(graph, of) < std::tie(other.graph, other.of);
    }
  };
  struct Answer {
    GraphRef graph;
    Values values = {};  // of `graph`
  };

  // Names of graphs that `top` reaches are taken.
  explicit GraphMemo(const Graph& top);

  std::optional<Answer> find(const Question& question) const;
  void keep(Question question, Answer answer);

  // `stem`, or with a number after it: a name that no graph of `top` bears, given once.
  std::string fresh_name(const std::string& stem);

 private:
  std::map<Question, Answer> answers_;  // looked up, never walked: addresses have no order
  std::set<std::string> taken_;
};

}  // namespace cleave
