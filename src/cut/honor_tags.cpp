#include "cut/honor_tags.h"

#include "cut/repeat_calls.h"
#include "cut/tags.h"
#include "ir/subgraph.h"

namespace cleave {

Result<int64_t> honor_tags(Graph& g, size_t results) {
  bool any = false;
  for (NodeId n = g.first_node(); n.valid() && !any; n = g.next_node(n))
    any = asks_recompute(g.node(n));
  if (!any) return int64_t{0};
  const std::vector<bool> forward = forward_calls(g, results);
  const auto is_forward = [&](NodeId n) { return n.v < forward.size() && forward[n.v]; };
  return repeat_calls(g, forward, [&](NodeId n) {
    return asks_recompute(g.node(n)) && !runs_once(traits_of(g.node(n))) &&
           !feeds_later_region(g, n, is_forward);
  });
}

}  // namespace cleave
