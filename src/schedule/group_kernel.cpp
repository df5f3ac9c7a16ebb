#include "schedule/group_kernel.h"

#include "schedule/group_writers.h"

namespace cleave {

using namespace cleave::loop;

GroupCode write_group(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<std::pair<ValueId, Bound>>& operands,
                      const std::vector<GroupResult>& results, Kernel& kernel,
                      const MakePartial& make_partial, const FoldParts& cut,
                      const LoopChoices& loops) {
  std::vector<ValueId> stored;
  for (const GroupResult& r : results) stored.push_back(r.value);
  const GroupPlan plan = value_or_bug(GroupPlan::make(graph, nodes, stored, cut));
  const GroupCalls calls{graph, nodes, operands, results};
  GroupContext c(calls, plan, kernel, loops);
  switch (plan.mode) {
    case GroupMode::plain: write_plain(c); break;
    case GroupMode::rows: write_rows(c); break;
    case GroupMode::rows_and_columns: write_rows_and_columns(c, make_partial); break;
    case GroupMode::columns: write_columns(c, make_partial); break;
    case GroupMode::lanes: write_lanes(c); break;
    case GroupMode::chunks: write_chunks(c, make_partial); break;
    case GroupMode::own_loops: write_own_loops(c, make_partial); break;
  }
  GroupCode out;
  out.streams = c.values.streams();
  const bool by_rows = plan.mode == GroupMode::rows || plan.mode == GroupMode::rows_and_columns;
  if (by_rows || plan.mode == GroupMode::plain) out.in_place = c.accesses.in_place(kernel);
  return out;
}

}  // namespace cleave
