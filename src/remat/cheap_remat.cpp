#include "remat/cheap_remat.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/work_time.h"
#include "cut/joint_view.h"
#include "cut/tags.h"
#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

constexpr int rounds = 6;        // each looks at the call where the peak is then
constexpr size_t max_calls = 6;  // that run again for one value
constexpr int64_t never = std::numeric_limits<int64_t>::max();

// A value that takes memory: which calls, by position, make it and read it, also through views.
struct Lifetime {
  int64_t bytes = 0;
  int64_t made = -1;                   // by this call; -1: a placeholder, always alive
  std::vector<int64_t> uses;           // in ascending order; `never`: it is returned
  bool is_needed = false;              // a call that runs again reads it
  bool is_gone = false;                // it is freed and computed again
  int64_t gap_begin = 0, gap_end = 0;  // the calls between which it isn't in memory
  int64_t last() const { return uses.empty() ? made : uses.back(); }
};

struct RematCandidate {
  ValueId value;
  std::vector<NodeId> calls;     // that run again, operands first
  int64_t before = 0, from = 0;  // the value is freed after call `from`, computed before `before`
  int64_t bytes = 0, ns = 0;
  std::vector<ValueId> reads;  // values that must be in memory then
};

class CheapRematerializer {
 public:
  CheapRematerializer(Graph& g, const MachineRates& rates, const CheapRematLimits& limits)
      : g_(g), rates_(rates), limits_(limits), order_(g.order()), at_(g.node_capacity(), -1),
        lifetimes_(g.value_capacity()) {
    for (size_t i = 0; i < order_.size(); ++i) at_[order_[i].v] = static_cast<int64_t>(i);
    for (const NodeId n : order_) add(n);
    for (const Return& r : g.returns()) {
      if (!r.value.valid()) continue;
      lifetimes_[root(r.value).v].uses.push_back(never);
      if (r.kind == ReturnKind::update) updates_.insert(root(r.value).v);
    }
  }

  Result<CheapRemat> run() {
    CheapRemat out;
    int64_t total_ns = 0;
    for (const NodeId n : order_) total_ns += fused_ns(n);
    const double max_ns = limits_.max_time * static_cast<double>(total_ns);
    const Moment whole = peak();
    Moment now = whole;
    std::vector<RematCandidate> chosen;
    for (int round = 0; round < rounds; ++round) {
      std::vector<RematCandidate> found = candidates(now.at);
      std::ranges::stable_sort(found, [](const RematCandidate& a, const RematCandidate& b) {
        return static_cast<double>(a.bytes) * static_cast<double>(b.ns) >
               static_cast<double>(b.bytes) * static_cast<double>(a.ns);
      });
      const size_t before = chosen.size();
      for (RematCandidate& a : found) {
        if (static_cast<double>(out.recompute_ns + a.ns) > max_ns || !is_possible(a)) continue;
        out.recompute_ns += a.ns;
        apply(a);
        chosen.push_back(std::move(a));
      }
      now = peak();
      if (chosen.size() == before) break;
    }
    out.freed_bytes = whole.bytes - now.bytes;
    if (static_cast<double>(out.freed_bytes) <= limits_.min_gain * static_cast<double>(whole.bytes))
      return CheapRemat{};
    for (const RematCandidate& a : chosen) {
      CLEAVE_CHECK(write(a));
      out.calls += static_cast<int64_t>(a.calls.size());
    }
    return out;
  }

 private:
  struct Moment {
    int64_t at = 0, bytes = 0;
  };

  ValueId root(ValueId v) const { return storage_of(g_, v); }

  // Of a call in its place: one that will be fused reads mostly what is in registers.
  int64_t fused_ns(NodeId n) const {
    const int64_t alone = call_ns(g_, n, rates_);
    const Node& node = g_.node(n);
    if (has(node.op->traits, Trait::compute_intensive)) return alone;
    int64_t written = 0;
    for (uint32_t k = 0; k < node.output_count; ++k) written += hint_bytes_of(g_, node.out(k));
    return std::min(alone, work_ns(0, written, rates_.pointwise_gflops, rates_));
  }

  void add(NodeId n) {
    const Node& node = g_.node(n);
    if (has(node.op->traits, Trait::view)) return;
    for (const ValueId in : node.inputs) {
      if (!in.valid()) continue;
      std::vector<int64_t>& uses = lifetimes_[root(in).v].uses;
      if (uses.empty() || uses.back() != at_[n.v]) uses.push_back(at_[n.v]);
    }
    for (uint32_t k = 0; k < node.output_count; ++k) {
      Lifetime& lifetime = lifetimes_[node.out(k).v];
      lifetime.made = at_[n.v];
      lifetime.bytes = hint_bytes_of(g_, node.out(k));
    }
  }

  bool is_update(ValueId v) const { return updates_.contains(v.v); }

  // A sweep over the calls. An update takes no memory: it is written over its placeholder.
  Moment peak() {
    std::vector<int64_t> change(order_.size() + 2, 0);
    const auto alive = [&](int64_t from, int64_t to, int64_t bytes) {
      const auto end = static_cast<int64_t>(order_.size());
      change[static_cast<size_t>(from)] += bytes;
      change[static_cast<size_t>(std::min(to, end) + 1)] -= bytes;
    };
    for (uint32_t v = 0; v < lifetimes_.size(); ++v) {
      const Lifetime& lifetime = lifetimes_[v];
      if (lifetime.made < 0 || lifetime.bytes == 0 || is_update(ValueId{v})) continue;
      if (lifetime.is_gone) {
        alive(lifetime.made, lifetime.gap_begin, lifetime.bytes);
        alive(lifetime.gap_end, lifetime.last(), lifetime.bytes);
      } else {
        alive(lifetime.made, lifetime.last(), lifetime.bytes);
      }
    }
    Moment most, now;
    for (size_t i = 0; i < order_.size(); ++i) {
      now.bytes += change[i];
      if (now.bytes > most.bytes) most = {static_cast<int64_t>(i), now.bytes};
    }
    return most;
  }

  // Values that are alive at call `at` and that no call reads for `far_calls` calls around it.
  std::vector<RematCandidate> candidates(int64_t at) const {
    std::vector<RematCandidate> out;
    for (uint32_t v = 0; v < lifetimes_.size(); ++v) {
      const Lifetime& lifetime = lifetimes_[v];
      if (lifetime.made < 0 || lifetime.made >= at || lifetime.bytes < limits_.min_bytes ||
          lifetime.bytes == 0 || lifetime.is_needed || lifetime.is_gone ||
          lifetime.last() == never || is_update(ValueId{v}))
        continue;
      const auto next = std::ranges::upper_bound(lifetime.uses, at - 1);
      if (next == lifetime.uses.end() || *next == at) continue;
      RematCandidate a{.value = ValueId{v}, .before = *next, .bytes = lifetime.bytes};
      a.from = next == lifetime.uses.begin() ? lifetime.made : *(next - 1);
      if (a.before - a.from < limits_.far_calls) continue;
      if (find_calls(a, g_.value(a.value).def)) out.push_back(std::move(a));
    }
    return out;
  }

  // Whether a call reads an operand through a permute, of as many elements as half of its result.
  bool turns(NodeId n) const {
    const auto elements_of = [&](ValueId v) {
      return hint_bytes_of(g_, v) / size_of(g_.type(v).dtype);
    };
    const int64_t elements = elements_of(g_.node(n).out(0));
    return std::ranges::any_of(g_.node(n).inputs, [&](ValueId v) {
      if (!v.valid() || v.is_number() || g_.type(v).is_none || 2 * elements_of(v) < elements)
        return false;
      for (NodeId view; v.valid() && (view = g_.value(v).def).valid();
           v = g_.node(view).inputs[0]) {
        if (!has(g_.node(view).op->traits, Trait::view)) return false;
        if (g_.node(view).op->name == "permute") return true;
      }
      return false;
    });
  }

  bool may_repeat(NodeId n) const {
    const Node& node = g_.node(n);
    if (turns(n)) return false;
    const Trait traits = traits_of(node);
    return has(traits, Trait::recomputable) && !has(traits, Trait::data_dependent) &&
           !runs_once(traits) && !has(traits, Trait::compute_intensive) && !asks_save(node);
  }

  // Whether v is in memory when the calls run again.
  bool is_available(ValueId v, const RematCandidate& a) const {
    const Lifetime& lifetime = lifetimes_[v.v];
    return lifetime.made < 0 ? !g_.value(v).def.valid()
                             : !lifetime.is_gone && lifetime.last() >= a.before;
  }
  bool is_possible(const RematCandidate& a) const {
    return !lifetimes_[a.value.v].is_needed && !lifetimes_[a.value.v].is_gone &&
           std::ranges::all_of(a.reads, [&](ValueId v) { return is_available(v, a); });
  }

  // Adds call n and those before it that make operands which aren't in memory by then. `others`:
  // how many calls that need n are still to be added.
  bool find_calls(RematCandidate& a, NodeId n, size_t others = 0) const {
    if (std::ranges::find(a.calls, n) != a.calls.end()) return true;
    if (!n.valid() || a.calls.size() + others >= max_calls || !may_repeat(n)) return false;
    for (const ValueId in : g_.node(n).inputs) {
      if (!in.valid()) continue;
      const ValueId base = root(in);
      if (is_available(base, a))
        a.reads.push_back(base);
      else if (!find_calls(a, g_.value(base).def, others + 1))
        return false;
    }
    a.calls.push_back(n);
    a.ns += call_ns(g_, n, rates_);
    return true;
  }

  void apply(const RematCandidate& a) {
    Lifetime& lifetime = lifetimes_[a.value.v];
    lifetime.is_gone = true;
    lifetime.gap_begin = a.from;
    lifetime.gap_end = a.before;
    for (const ValueId v : a.reads) lifetimes_[v.v].is_needed = true;
  }

  // Copies the calls, and the views through which readers after the gap read the value.
  Status write(const RematCandidate& a) {
    std::unordered_map<uint32_t, ValueId> copies;
    const NodeId before = order_[static_cast<size_t>(a.before)];
    for (const NodeId n : a.calls) CLEAVE_CHECK(copy(n, before, copies));
    for (const int64_t use : lifetimes_[a.value.v].uses) {
      if (use < a.before || use == never) continue;
      const NodeId reader = order_[static_cast<size_t>(use)];
      for (uint32_t k = 0; k < g_.node(reader).inputs.size(); ++k) {
        const ValueId in = g_.node(reader).inputs[k];
        if (!in.valid() || root(in) != a.value) continue;
        CLEAVE_CHECK(copy_views(in, before, copies));
        g_.set_input(reader, k, copies.at(in.v));
      }
    }
    return {};
  }

  // Copies `v` and the views between it and a value that has a copy.
  Status copy_views(ValueId v, NodeId before, std::unordered_map<uint32_t, ValueId>& copies) {
    std::vector<NodeId> views;
    for (ValueId at = v; !copies.contains(at.v); at = g_.node(views.back()).inputs[0])
      views.push_back(g_.value(at).def);
    for (; !views.empty(); views.pop_back()) CLEAVE_CHECK(copy(views.back(), before, copies));
    return {};
  }

  Status copy(NodeId n, NodeId before, std::unordered_map<uint32_t, ValueId>& copies) {
    for (const ValueId in : g_.node(n).inputs)  // views of values that have copies
      if (in.valid() && !copies.contains(in.v) && copies.contains(root(in).v))
        CLEAVE_CHECK(copy_views(in, before, copies));
    return repeat_call(g_, n, before, copies);
  }

  Graph& g_;
  const MachineRates& rates_;
  const CheapRematLimits& limits_;
  std::vector<NodeId> order_;
  std::vector<int64_t> at_;          // by node: its position in the order
  std::vector<Lifetime> lifetimes_;  // by value; views have none
  std::unordered_set<uint32_t> updates_;
};

}  // namespace

Result<CheapRemat> cheap_remat(Graph& graph, const MachineRates& rates,
                               const CheapRematLimits& limits) {
  return CheapRematerializer(graph, rates, limits).run();
}

}  // namespace cleave
