// What is known of groups while several groupings are tried: most groups are the same in all of
// them, and those of equal layers are equal.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>

#include "lower/fuse_body.h"
#include "schedule/group_key.h"

namespace cleave {

class FuseKnown {
 public:
  struct Group {
    std::optional<bool> is_kernel;  // whether its calls can be one kernel
    std::optional<int64_t> flops;   // SharedFunctions::flops
  };
  // Groups of equal calls share it.
  Group& of(const Graph& graph, const FuseBody& body) {
    return groups_[calls_key(graph, body.nodes, body.operands, body.results)];
  }

 private:
  std::unordered_map<std::string, Group> groups_;
};

}  // namespace cleave
