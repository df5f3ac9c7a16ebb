// The calls of a graph by the module, source line or operator that they come from.
//
//   %blocks.0.qkv.weight ─► %addmm_3                     blocks.0.qkv: it reads the parameter
//   %addmm_3 ─► %view ─► %select                         blocks.0: around the module of its operand
//   %mm_9 -> grad %blocks.0.qkv.weight                   blocks.0.qkv: it is that parameter's
//
// A graph doesn't carry modules: they are read off the names of parameters and buffers, which are
// paths. A view belongs to the module of its operand, any other call that reads or makes none of
// them around the module of its last operand.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

enum class GroupBy : uint8_t { module, line, op };

struct CallGroup {
  std::string name;  // "" is the whole model, or no known line
  std::vector<NodeId> calls;
  int64_t late = 0;             // how many of them are (program_phases.h)
  int64_t parameter_bytes = 0;  // of the parameters that belong to it, with sizes at their hints
};

struct CallGroups {
  GroupBy by = GroupBy::module;
  std::vector<CallGroup> groups;  // by their first call
};

// By module where a parameter's name is a path, else by line where calls have one, else by
// operator.
GroupBy best_grouping(const Graph& g);

// At most `most` groups: the last steps of paths are dropped, the longest paths first; of lines and
// operators those with the fewest calls come together under "others". `most` is at least 1.
CallGroups group_calls(const Graph& g, GroupBy by, size_t most = 80);

// Forward calls of a group that no path leaves and comes back to: the embedding's weight is read at
// the beginning and, by the head, at the end.
struct GroupSegment {
  size_t group = 0;
  std::vector<NodeId> calls;
  std::vector<size_t> reads;  // other segments
};
// Of all groups, by their first call. O(groups * calls).
std::vector<GroupSegment> forward_segments(const Graph& g, const CallGroups& groups);

}  // namespace cleave
