// A path that shows why a network has no finite cut.
#pragma once
#include <optional>

#include "flow/network.h"

namespace cleave::flow {

// source ═► first ═arcs[0]═► ... ═► last ═► sink, all infinite; first = last without arcs.
struct InfinitePath {
  int32_t first = 0, last = 0;
  std::vector<int32_t> arcs;  // indices
};

// The shortest such path; of several, the one whose nodes and arcs come first; nullopt if there is
// none. O(nodes + arcs).
std::optional<InfinitePath> find_infinite_path(const Network& network);

}  // namespace cleave::flow
