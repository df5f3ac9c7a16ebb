#include "text/token_trie.h"

#include <algorithm>

namespace cleave::text {

TokenTrie::TokenTrie(std::vector<std::pair<std::string_view, uint32_t>> tokens) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // Level by level: the tokens below a node are neighbours.
  struct Range {
    size_t begin, end, depth;
  };
  std::vector<Range> level{{0, tokens.size(), 0}}, next;
  nodes_.emplace_back();
  for (size_t node = 0; !level.empty(); level.swap(next), next.clear()) {
    for (const Range& r : level) {
      Node made = nodes_[node];
      size_t at = r.begin;
      for (; at < r.end && tokens[at].first.size() == r.depth; ++at)
        if (r.depth > 0) made.value = tokens[at].second;
      made.children = static_cast<uint32_t>(nodes_.size());
      while (at < r.end) {
        const auto byte = static_cast<uint8_t>(tokens[at].first[r.depth]);
        size_t end = at;
        while (end < r.end && static_cast<uint8_t>(tokens[end].first[r.depth]) == byte) ++end;
        nodes_.push_back({.byte = byte});
        next.push_back({at, end, r.depth + 1});
        ++made.count;
        at = end;
      }
      nodes_[node++] = made;
    }
  }
  roots_.assign(256, none);
  for (uint32_t i = 0; i < nodes_[0].count; ++i) roots_[nodes_[1 + i].byte] = 1 + i;
}

uint32_t TokenTrie::child(uint32_t node, uint8_t byte) const {
  const auto begin = nodes_.begin() + nodes_[node].children, end = begin + nodes_[node].count;
  const auto found =
      std::lower_bound(begin, end, byte, [](const Node& n, uint8_t b) { return n.byte < b; });
  if (found == end || found->byte != byte) return none;
  return static_cast<uint32_t>(found - nodes_.begin());
}

}  // namespace cleave::text
