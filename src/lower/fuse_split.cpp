#include "lower/fuse_split.h"

#include <utility>

#include "schedule/group_check.h"

namespace cleave {
namespace {

class Splitter {
 public:
  Splitter(const Graph& graph, const FuseCalls& calls, const FoldParts& cut, FuseGroups& groups,
           FuseKnown& known)
      : g_(graph), calls_(calls), cut_(cut), groups_(groups), known_(known) {}

  void split(int32_t group) {
    const std::vector<NodeId> nodes = std::exchange(groups_.all[group].nodes, {});
    const int32_t later = add_group(group);  // of calls that have no part yet
    for (const NodeId n : nodes) groups_.by_node[n.v] = later;
    parts_ = {group};
    for (const NodeId n : nodes) place(n);
    groups_.all[later].merged_into = group;
  }

  bool is_kernel(int32_t group) {
    const FuseBody body = body_of(g_, calls_, groups_, group);
    if (!is_worth_fusing(body)) return true;
    std::optional<bool>& known = known_.of(g_, body).is_kernel;
    if (!known) known = check_group(g_, body.nodes, body.results, cut_).ok();
    return *known;
  }

 private:
  int32_t add_group(int32_t like) {
    const NodeId at = groups_.all[like].at;
    groups_.all.emplace_back().at = at;
    return static_cast<int32_t>(groups_.all.size()) - 1;
  }

  void place(NodeId n) {
    for (size_t k = first_part(n); k < parts_.size(); ++k) {
      put(n, parts_[k]);
      if (is_kernel(parts_[k])) return;
      groups_.all[parts_[k]].nodes.pop_back();
    }
    parts_.push_back(add_group(parts_[0]));
    put(n, parts_.back());
  }

  void put(NodeId n, int32_t part) {
    groups_.by_node[n.v] = part;
    groups_.all[part].nodes.push_back(n);
  }

  // Behind those that make what it reads.
  size_t first_part(NodeId n) const {
    size_t out = 0;
    for (const ValueId v : calls_[n].materialized_reads)
      if (const NodeId d = g_.value(v).def; d.valid())
        for (size_t k = out; k < parts_.size(); ++k)
          if (groups_.by_node[d.v] == parts_[k]) out = k;
    return out;
  }

  const Graph& g_;
  const FuseCalls& calls_;
  const FoldParts& cut_;
  FuseGroups& groups_;
  std::vector<int32_t> parts_;
  FuseKnown& known_;
};

}  // namespace

void split_groups(const Graph& graph, const FuseCalls& calls, const FoldParts& cut,
                  FuseGroups& groups, FuseKnown& known) {
  Splitter splitter(graph, calls, cut, groups, known);
  const auto count = static_cast<int32_t>(groups.all.size());
  for (int32_t g = 0; g < count; ++g)
    if (groups.all[g].merged_into < 0 && groups.is_fusible(calls, g) && !splitter.is_kernel(g))
      splitter.split(g);
}

}  // namespace cleave
