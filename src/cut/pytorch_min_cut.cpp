#include "cut/pytorch_min_cut.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <set>

#include "flow/infinite_path.h"
#include "flow/max_flow.h"

namespace cleave {
namespace {

using Kind = PytorchNode::Kind;
using Symbol = PytorchNode::Symbol;

// The two network nodes of graph node n; n is saved where the cut crosses the arc between them.
int32_t in_of(int32_t n) { return 2 * n; }
int32_t out_of(int32_t n) { return 2 * n + 1; }

class MinCut {
 public:
  MinCut(const PytorchGraph& graph, const PytorchBans& bans, const std::vector<bool>& may_run_again)
      : graph_(graph), bans_(bans), may_run_again_(may_run_again),
        banned_(static_cast<size_t>(graph.size())),
        network_(2 * static_cast<size_t>(graph.size())) {}

  Result<PytorchCut> run() {
    build();
    if (const auto path = flow::find_infinite_path(network_)) return conflict(*path);
    CLEAVE_TRY(flow::MaxFlow flow, flow::MaxFlow::make(network_));
    CLEAVE_CHECK(flow.solve());
    const std::vector<uint8_t> source_side = flow.source_side(flow::Nearest::sink);
    for (int32_t n = 0; n < graph_.size(); ++n)
      if (source_side[at(in_of(n))] && !source_side[at(out_of(n))]) result_.saved.push_back(n);
    return std::move(result_);
  }

  std::optional<flow::FailedNetwork> failed() {
    build();
    const auto path = flow::find_infinite_path(network_);
    if (!path) return std::nullopt;
    flow::FailedNetwork out{
        .network = std::move(network_), .names = {}, .notes = {}, .path = *path};
    for (int32_t n = 0; n < graph_.size(); ++n)
      for (const char* side : {" in", " out"}) {
        out.names.push_back(name_of(n) + side);
        out.notes.emplace_back();
      }
    for (const PytorchCut::Ban& ban : result_.banned) out.notes[at(in_of(ban.node))] = ban.why;
    for (int32_t n = 0; n < graph_.size(); ++n)
      if (must_run_again(n)) out.notes[at(in_of(n))] = "tagged for recomputation";
    return out;
  }

 private:
  void build() {
    for (int32_t n = 0; n < graph_.size(); ++n) add(n);
    if (bans_.used_far_apart) ban_used_far_apart();
    if (bans_.long_fusible_chains) ban_long_chains();
  }

  const PytorchNode& node(int32_t n) const { return graph_.node(n); }
  static size_t at(int32_t n) { return static_cast<size_t>(n); }

  void add(int32_t n) {
    const PytorchNode& x = node(n);
    if (x.required_backward && x.reads_tangents) {
      network_.sink[at(in_of(n))] = flow::infinite;
      return;
    }
    if (x.required_backward) network_.sink[at(out_of(n))] = flow::infinite;
    if (must_run_again(n)) {
      network_.sink[at(in_of(n))] = flow::infinite;
      return;
    }
    if (x.kind == Kind::placeholder && !x.constant) ban(n, "an input");
    if (x.required_forward)
      if (const char* why = rule_against(n)) ban(n, why);
    network_.arcs.push_back({in_of(n), out_of(n), weight(n)});
    for (int32_t user : x.users) network_.arcs.push_back({out_of(n), in_of(user), flow::infinite});
  }

  bool must_run_again(int32_t n) const {
    const Recompute p = node(n).tag.policy;
    if (node(n).once) return false;
    return p == Recompute::must_recompute || p == Recompute::prefer_recompute;
  }

  // The rule that keeps n from running again; null: none does.
  const char* rule_against(int32_t n) const {
    const PytorchNode& x = node(n);
    if (x.kind != Kind::call) return nullptr;
    if (x.once) return x.once;
    if (x.tag.policy == Recompute::must_save) return "tagged must_save";
    if (bans_.recompute_views && x.op.view) return nullptr;
    if (x.op.lift_fresh) return nullptr;
    if (bans_.not_in_allowlist) {
      if (!x.op.recomputable) return "not_in_allowlist: not among the recomputable operators";
    } else {
      if (x.op.random) return "random, and not_in_allowlist is off";
      if (x.op.compute_intensive) return "compute intensive, and not_in_allowlist is off";
    }
    if (bans_.materialized_backward && is_materialized_backward(n))
      return "materialized_backward: in memory there anyway";
    if (x.distance < 1000 && x.distance > bans_.max_distance)
      return "max_distance: far from the backward";
    if (bans_.reductions && x.bytes * 4 < x.argument_bytes) return "reductions: small to save";
    return nullptr;
  }

  bool is_materialized_backward(int32_t n) const {
    if (node(n).op.view) return false;
    std::vector<int32_t> open{n};
    std::set<int32_t> seen{n};
    while (!open.empty()) {
      const int32_t x = open.back();
      open.pop_back();
      if (node(x).returned) return true;
      for (int32_t user : node(x).users) {
        if (!node(user).required_forward && !graph_.is_fusible(x, user)) return true;
        if (node(user).op.view && seen.insert(user).second) open.push_back(user);
      }
    }
    return false;
  }

  void ban(int32_t n, const char* why) {
    if (!node(n).once) {
      if (node(n).op.view || must_run_again(n) || node(n).symbol == Symbol::floating) return;
      if (!may_run_again_.empty() && may_run_again_[at(n)]) return;
    }
    if (!banned_[at(n)]) result_.banned.push_back({n, why});
    banned_[at(n)] = true;
    network_.source[at(in_of(n))] = flow::infinite;
  }

  flow::Capacity weight(int32_t n) const {
    const PytorchNode& x = node(n);
    if (x.kind == Kind::call && !x.value.valid()) return flow::infinite;  // a tuple
    if (x.constant) return flow::infinite;
    if (x.symbol != Symbol::none) return x.symbol == Symbol::floating ? 4 : 1;
    if (bans_.parameters_are_free && x.parameter) return 0;
    if (bans_.recompute_views && x.op.view) return flow::infinite;
    const int32_t distance = std::max(std::min(x.distance, 100), 1);
    const auto bytes =
        static_cast<flow::Capacity>(static_cast<double>(x.bytes) * std::pow(1.1, distance));
    return is_materialized(n) ? bytes : 2 * bytes;
  }

  bool is_materialized(int32_t n) const {
    const PytorchNode& x = node(n);
    if (x.kind == Kind::placeholder || x.returned) return true;
    return !std::all_of(x.users.begin(), x.users.end(),
                        [&](int32_t user) { return graph_.is_fusible(n, user); });
  }

  // (position in the forward, node), the first position on top.
  using Heap = std::priority_queue<std::pair<int32_t, int32_t>,
                                   std::vector<std::pair<int32_t, int32_t>>, std::greater<>>;

  // The position of the first node, from `readers` on along the uses, that doesn't fuse with its
  // operand; `last` where there is none up to it.
  int32_t first_unfusible(const std::vector<int32_t>& readers, int32_t last) {
    std::set<std::tuple<int32_t, int32_t, bool>> open;  // position, node, fuses
    for (int32_t n : readers) open.insert({node(n).forward_order, n, true});
    while (!open.empty()) {
      const auto [position, n, fuses] = *open.begin();
      open.erase(open.begin());
      ++result_.looks;
      if (!fuses) return position;
      for (int32_t user : node(n).users)
        if (node(user).required_forward && node(user).forward_order <= last)
          open.insert({node(user).forward_order, user, graph_.is_fusible(n, user)});
    }
    return last;
  }

  void ban_used_far_apart() {
    for (int32_t n = 0; n < graph_.size(); ++n) {
      if (!node(n).required_forward) continue;
      std::vector<int32_t> readers;
      int32_t last = -1;
      for (int32_t user : node(n).users)
        if (node(user).required_forward) {
          readers.push_back(user);
          last = std::max(last, node(user).forward_order);
        }
      if (readers.empty()) continue;
      const int32_t first = first_unfusible(readers, last);
      for (int32_t user : readers)
        if (node(user).forward_order > first && graph_.is_fusible(n, user) && !banned_[at(user)])
          ban(user, "used_far_apart: its readers are far from each other");
    }
  }

  void ban_long_chains() {
    std::vector<bool> visited(banned_.size());
    for (int32_t start = 0; start < graph_.size(); ++start) {
      if (!node(start).required_forward) continue;
      Heap open;
      open.push({node(start).forward_order, start});
      while (!open.empty()) {
        const auto [position, n] = open.top();
        open.pop();
        ++result_.looks;
        if (visited[at(n)]) continue;
        visited[at(n)] = true;
        if (position > node(start).forward_order + 100 && open.empty()) {
          ban(n, "long_fusible_chains: a chain of more than 100 fusible calls");
          break;
        }
        for (int32_t user : node(n).users)
          if (node(user).required_forward && graph_.is_fusible(n, user) && !banned_[at(user)])
            open.push({node(user).forward_order, user});
      }
    }
  }

  std::string name_of(int32_t n) const {
    const Graph& g = graph_.joint().graph();
    const PytorchNode& x = node(n);
    return "%" + g.name(x.value.valid() ? x.value : g.node(x.call).out(0));
  }

  // The nodes on a path of infinite arcs, and the constraint that each arc expresses.
  Failure conflict(const flow::InfinitePath& path) const {
    std::string text = "the backward needs a value that can be neither saved nor computed again:";
    const auto say = [&](int32_t n, std::string_view what) {
      text += fmt::format("\n  {}: {}", name_of(n), what);
    };
    const auto ban = std::find_if(result_.banned.begin(), result_.banned.end(),
                                  [&](const auto& b) { return b.node == path.first / 2; });
    say(path.first / 2, ban != result_.banned.end() ? "can't run again: " + ban->why : "an input");
    for (int32_t a : path.arcs) {
      const flow::Arc& arc = network_.arcs[at(a)];
      if (arc.tail / 2 == arc.head / 2)
        say(arc.tail / 2, "can't be saved");
      else
        say(arc.head / 2, "reads " + name_of(arc.tail / 2));
    }
    const PytorchNode& last = node(path.last / 2);
    say(path.last / 2, last.reads_tangents             ? "is computed in the backward"
                       : must_run_again(path.last / 2) ? "is tagged for recomputation"
                                                       : "is returned as a gradient");
    return user_error("{}\nTake a tag away, or recompute_views off", text);
  }

  const PytorchGraph& graph_;
  const PytorchBans& bans_;
  const std::vector<bool>& may_run_again_;
  std::vector<bool> banned_;
  flow::Network network_;
  PytorchCut result_;
};

}  // namespace

std::optional<flow::FailedNetwork> pytorch_failed_network(const PytorchGraph& graph,
                                                          const PytorchBans& bans) {
  const std::vector<bool> none;
  return MinCut(graph, bans, none).failed();
}

Result<PytorchCut> pytorch_min_cut(const PytorchGraph& graph, const PytorchBans& bans,
                                   const std::vector<bool>& may_run_again) {
  return MinCut(graph, bans, may_run_again).run();
}

}  // namespace cleave
