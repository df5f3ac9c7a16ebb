#include "cut/partition_statistics.h"

#include <algorithm>
#include <map>

namespace cleave {
namespace {

template <class T>
std::vector<T> values_of(const std::map<std::string, T>& by_name) {
  std::vector<T> out;
  for (const auto& [name, value] : by_name) out.push_back(value);
  return out;
}

}  // namespace

std::string rule_of(const std::string& why) {
  // No name of a value contains it.
  const size_t at = why.find("; ");
  return at == std::string::npos ? "the backward reads it" : why.substr(at + 2);
}

std::vector<OperatorCount> count_operators(const Graph& joint, const Partition& cut) {
  std::map<std::string, OperatorCount> of;
  for (NodeId n = cut.forward.first_node(); n.valid(); n = cut.forward.next_node(n))
    ++of[cut.forward.node(n).op->name].forward;
  for (NodeId n = cut.backward.first_node(); n.valid(); n = cut.backward.next_node(n))
    ++of[cut.backward.node(n).op->name].backward;
  for (const NodeId n : cut.run_twice) ++of[joint.node(n).op->name].recomputed;
  for (auto& [op, count] : of) count.op = op;
  std::vector<OperatorCount> out = values_of(of);
  std::ranges::stable_sort(out, std::greater(),
                           [](const OperatorCount& c) { return c.forward + c.backward; });
  return out;
}

std::vector<ReasonCount> count_reasons(const Partition& cut) {
  std::map<std::string, ReasonCount> of;
  for (const SavedValue& v : cut.saved) {
    ReasonCount& r = of[v.placeholder ? "a placeholder, in memory anyway" : rule_of(v.why)];
    ++r.saved;
    r.saved_bytes += v.bytes;
  }
  for (const RecomputedValue& v : cut.recomputed) {
    ReasonCount& r = of[rule_of(v.why)];
    ++r.recomputed;
    r.recomputed_bytes += v.bytes;
  }
  for (auto& [why, count] : of) count.why = why;
  std::vector<ReasonCount> out = values_of(of);
  std::ranges::stable_sort(out, std::greater(),
                           [](const ReasonCount& r) { return r.saved + r.recomputed; });
  return out;
}

}  // namespace cleave
