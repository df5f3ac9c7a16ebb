#include "lower/fuse_again.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "lower/fuse_body.h"
#include "lower/fuse_work.h"

namespace cleave {
namespace {

constexpr size_t max_repeats = 8;  // calls computed again for one value

class RepeatFinder {
 public:
  RepeatFinder(const Graph& graph, const FuseCalls& calls, const FuseGroups& groups,
               const FuseCosts& costs)
      : g_(graph), calls_(calls), groups_(groups), costs_(costs) {}

  std::vector<std::vector<NodeId>> run() {
    std::vector<std::vector<NodeId>> out;
    std::map<int32_t, std::vector<Repeated>> by_reader;
    for (const NodeId n : calls_.order) {
      const std::optional<Repeated> value = repeated(n);
      if (!value) continue;
      if (is_worth({*value})) {
        out.push_back(value->calls);
        continue;
      }
      for (const int32_t r : value->readers) by_reader[r].push_back(*value);
    }
    for (const auto& [r, values] : by_reader)
      if (values.size() > 1 && is_worth(values)) {
        std::vector<NodeId>& calls = out.emplace_back();
        for (const Repeated& v : values) calls.insert(calls.end(), v.calls.begin(), v.calls.end());
      }
    return out;
  }

 private:
  // A value that groups read other than the one that makes it, and how they would compute it.
  struct Repeated {
    NodeId at;
    std::set<int32_t> readers;
    bool is_read_at_home = false;
    std::vector<NodeId> calls;
    std::vector<ValueId> reads;  // from memory
  };

  // Groups that read the value, directly or through views and calls that are computed with them.
  void find_readers(ValueId v, std::set<int32_t>& out) const {
    for (const Use& u : g_.uses(v)) {
      if (!calls_[u.node].is_through()) {
        out.insert(groups_.of(u.node));
        continue;
      }
      for (uint32_t k = 0; k < g_.node(u.node).output_count; ++k)
        find_readers(g_.node(u.node).out(k), out);
    }
  }

  bool is_read_by(ValueId v, int32_t group) const {
    return groups_.of(g_, v) == group ||
           std::ranges::any_of(groups_.all[group].nodes,
                               [&](NodeId n) { return contains(calls_[n].materialized_reads, v); });
  }

  // Adds the call, and those that make its operands, unless these are in memory in any case.
  bool add(NodeId n, Repeated& out) const {
    if (std::ranges::find(out.calls, n) != out.calls.end()) return true;
    const FuseCall& c = calls_[n];
    if (c.kind != FuseCall::Kind::elementwise || out.calls.size() == max_repeats ||
        !may_repeat(g_, calls_, n))
      return false;
    out.calls.push_back(n);
    const int64_t bytes = bytes_of(g_, g_.node(out.at).out(0));
    for (const ValueId v : c.materialized_reads) {
      const NodeId def = g_.value(v).def;
      const bool is_there =
          !def.valid() || bytes_of(g_, v) * costs_.stored_part <= bytes ||
          std::ranges::all_of(out.readers, [&](int32_t r) { return is_read_by(v, r); }) ||
          (bytes_of(g_, v) <= bytes && is_read_outside(g_, calls_, groups_, v, groups_.of(def)));
      if (is_there)
        out.reads.push_back(v);
      else if (!add(def, out))
        return false;
    }
    return true;
  }

  std::optional<Repeated> repeated(NodeId n) const {
    if (calls_[n].kind != FuseCall::Kind::elementwise || !may_repeat(g_, calls_, n)) return {};
    Repeated out{.at = n};
    find_readers(g_.node(n).out(0), out.readers);
    out.is_read_at_home = out.readers.erase(groups_.of(n)) > 0;
    const auto is_open = [&](int32_t r) { return groups_.is_open(calls_, r); };
    if (out.readers.empty() || !std::ranges::all_of(out.readers, is_open) || !add(n, out))
      return {};
    return out;
  }

  SharedFunctions& functions_of(int32_t group) {
    auto at = functions_.find(group);
    if (at == functions_.end()) {
      const FuseBody body = body_of(g_, calls_, groups_, group);
      at = functions_.try_emplace(group, g_, body.nodes).first;
    }
    return at->second;
  }

  // What it takes to compute a call in a group, for all elements: functions that the group computes
  // in any case are free.
  struct Flops {
    int64_t all = 0, dear = 0;
  };
  Flops flops_of(NodeId n, int32_t reader) {
    const OpView op = g_.view(n);
    const FuseCall& c = calls_[n];
    const int64_t own = op.def().cost.present() ? (*op.def().cost)(op).flops : 0;
    const int64_t inlined = c.flops * c.elements - own, cheap = costs_.cheap_flops * c.elements;
    Flops out{.all = inlined + (functions_of(reader).are_known(n) ? 0 : own)};
    out.dear = out.all > cheap ? out.all : 0;
    return out;
  }

  // The length of a row along which the value of n is the same, as its readers have it; 1 where it
  // isn't.
  int64_t equal_elements(NodeId n) const {
    const ValueId y = g_.node(n).out(0);
    const std::vector<int64_t> shape = static_shape(g_.type(y));
    if (shape.empty()) return std::numeric_limits<int64_t>::max();
    int64_t out = 1;
    if (shape.back() == 1)
      for (const Use& u : g_.uses(y)) {
        const std::vector<int64_t> read = static_shape(g_.type(g_.node(u.node).out(0)));
        if (!read.empty()) out = std::max(out, read.back());
      }
    return out;
  }

  // How often a group of `most` elements computes a smaller value: for each of its elements, or
  // once for as many as share it.
  int64_t times_in(NodeId n, int64_t most, int64_t equal) const {
    const int64_t elements = calls_[n].elements;
    return elements == 0 ? 1 : std::max<int64_t>(most / equal / elements, 1);
  }

  // Whether the groups that read the values save more than they compute again.
  bool is_worth(const std::vector<Repeated>& values) {
    int64_t saved = 0;
    Flops flops;
    std::set<std::pair<int32_t, NodeId>> again;
    std::map<std::pair<int32_t, ValueId>, int64_t> reads;
    for (const Repeated& v : values) {
      saved += (std::ssize(v.readers) + 1) * bytes_of(g_, g_.node(v.at).out(0));
      const int64_t equal = equal_elements(v.at);
      bool moves = !v.is_read_at_home;
      for (const int32_t r : v.readers) {
        const int64_t most = most_elements(calls_, groups_, r);
        for (const NodeId n : v.calls)
          if (again.emplace(r, n).second) {
            const Flops more = flops_of(n, r);
            const int64_t times = times_in(n, most, equal) - (moves ? 1 : 0);
            flops.all += times * more.all, flops.dear += times * more.dear;
          }
        moves = false;
        for (const ValueId read : v.reads)
          if (!is_read_by(read, r))
            reads[{r, read}] = std::min(bytes_of(g_, read), most * size_of(g_.type(read).dtype));
      }
    }
    for (const auto& [read, bytes] : reads) saved -= bytes;
    return saved > 0 && flops.dear <= costs_.launch_flops &&
           flops.all <= saved * costs_.flops_of_8_bytes / 8;
  }

  const Graph& g_;
  const FuseCalls& calls_;
  const FuseGroups& groups_;
  const FuseCosts& costs_;
  std::map<int32_t, SharedFunctions> functions_;  // by group
};

}  // namespace

std::vector<std::vector<NodeId>> find_repeatable(const Graph& graph, const FuseCalls& calls,
                                                 const FuseGroups& groups, const FuseCosts& costs) {
  return RepeatFinder(graph, calls, groups, costs).run();
}

}  // namespace cleave
