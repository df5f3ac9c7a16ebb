// What a Partitioner does.
#pragma once
#include <functional>

#include "cleave/partitioner.h"
#include "cut/partition.h"

namespace cleave {

struct Partitioner::State {
  // May remove dead calls of the joint graph, and merge equal ones.
  std::function<Result<Partition>(Graph& joint, const Operators& ops)> cut;
};

// Calls `see` with each joint graph before it is cut; what it refuses is the result.
Partitioner observed(const Partitioner& partitioner, std::function<Status(const Graph& joint)> see);

}  // namespace cleave
