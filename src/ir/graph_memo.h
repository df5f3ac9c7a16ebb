// Caches graphs derived from other graphs, keyed by what they were derived for.
//
// Subgraphs may be shared: a chain of k graphs that each refer twice to the next has k graphs, but
// 2^k paths. Deriving something from a graph once per path takes time proportional to the paths;
// looking it up here first makes that proportional to the graphs.
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
  // The key: a graph and lists of booleans, such as which results have a cotangent.
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

  // Names of graphs reachable from `top` are in use.
  explicit GraphMemo(const Graph& top);

  std::optional<Answer> find(const Question& question) const;
  void keep(Question question, Answer answer);

  // `stem`, with a numeric suffix if needed: a name that no graph of `top` has and that wasn't
  // returned before.
  std::string fresh_name(const std::string& stem);

 private:
  std::map<Question, Answer> answers_;  // looked up, never iterated: addresses have no order
  std::set<std::string> taken_;
};

}  // namespace cleave
