// The attributes of a rule's search that match any value, and the calls whose types follow them.
#pragma once
#include <set>

#include "ir/graph.h"

namespace cleave {

class AnyAttrs {
 public:
  // `names` as "result.attribute". Error (bug): no call of the graph has such an attribute.
  static Result<AnyAttrs> of(const Graph& search, const std::vector<std::string>& names);

  bool has(NodeId n, uint16_t arg) const { return attrs_.contains({n.v, arg}); }
  // Whether the types of its results depend on such an attribute.
  bool types_vary(NodeId n) const { return calls_.contains(n.v); }
  // Whether the attributes of this call of the search fit those of a call.
  bool fit(NodeId n, const Attrs& wanted, const Attrs& got) const;

 private:
  std::set<std::pair<uint32_t, int>> attrs_;
  std::set<uint32_t> calls_;
};

}  // namespace cleave
