// Merges all-reduces of gradients into a few, each of a bucket of concatenated gradients.
//
//   wait(all_reduce(a)), wait(all_reduce(b)), ...  ->  s = wait(all_reduce(cat(view(a; size=[-1]),
//                                                          view(b; size=[-1]), ...)))
//                                                      view(split_with_sizes(s)[k]) for each
//
// A message costs its latency plus its bytes: for small gradients only latency matters. Buckets are
// filled in the order in which the operands become ready, since a bucket of an early and a late
// gradient would start late. The first holds at most first_bucket_bytes (1 MiB), so that
// communication starts early, the others bucket_bytes (25 MiB), as in PyTorch's
// DistributedDataParallel; larger operands aren't merged.
//
// Merged calls have the same reduce_op, group, dtype, device and tag, static sizes, and a result
// that only the call's wait uses. None may depend on another: calls are merged only if the longest
// paths from them to the end contain equally many collectives (`height`); a call on which another
// depends has a longer path by at least one. Gradients have height 0. At greater heights a call
// isn't merged into a bucket that becomes ready only after one of the call's users, so that users
// aren't delayed.
//
// With the setting `coalesce`, a bucket is one all_reduce_coalesced: without copies, but for
// backends a message for each operand.
//
// The merged call comes after its last operand, its wait before the first user. The plan depends
// only on the graph, so it is the same on all ranks. Each element is the same sum as before.
// PyTorch: _inductor/fx_passes/ddp_fusion.py, which also merges div calls.
#include <algorithm>
#include <map>

#include "ir/edit.h"
#include "pass/call_order.h"
#include "pass/collective.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"

namespace cleave {
namespace {

struct BucketSettings {
  int64_t first_bytes = int64_t{1} << 20, bytes = int64_t{25} << 20;
  bool coalesces = false;
};

struct Member {
  NodeId reduce, wait;
  int64_t numel = 0, bytes = 0;
  size_t ready = 0;         // 1 + the position of the operand's definition; 0: a placeholder
  size_t first_reader = 0;  // 1 + the position of the first user of the wait's result
};
using Bucket = std::vector<Member>;

// For each node, the maximum number of collectives on a path from its results to the end.
std::vector<int64_t> heights(const Graph& g) {
  std::vector<int64_t> height(g.node_capacity());
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    const Node& node = g.node(n);
    const bool counts = has(node.op->traits, Trait::collective) && node.op->name != "wait_tensor";
    const int64_t here = height[n.v] + (counts ? 1 : 0);
    for (const ValueId v : node.inputs)
      if (v.valid())
        if (const NodeId def = g.value(v).def; def.valid())
          height[def.v] = std::max(height[def.v], here);
  }
  return height;
}

ValueId shaped(Builder& b, ValueId v, const Shape& shape) {
  return b.type(v).shape == shape ? v : b.view(v, shape);
}

class Bucketer {
 public:
  Bucketer(Graph& graph, const OpRegistry& ops, const BucketSettings& settings)
      : graph_(graph), ops_(ops), settings_(settings), is_returned_(returned_values(graph)),
        at_(positions(graph)), end_(at_.size()) {}

  // Buckets of at least two members, with families in the order of their first calls.
  std::vector<Bucket> buckets() const {
    std::vector<Bucket> out;
    for (std::pair<int64_t, Bucket>& family : families()) {
      Bucket& all = family.second;
      std::ranges::sort(all, {},
                        [&](const Member& m) { return std::pair(m.ready, at_[m.reduce.v]); });
      Bucket open;
      int64_t bytes = 0, most = settings_.first_bytes;
      size_t first_reader = 0;
      const auto close = [&] {
        if (open.size() > 1) out.push_back(open);
        open.clear();
      };
      for (const Member& m : all) {
        const bool holds_up = family.first > 0 && m.ready > first_reader;
        if (!open.empty() && (bytes + m.bytes > most || holds_up)) {
          close();
          most = settings_.bytes;
        }
        bytes = open.empty() ? m.bytes : bytes + m.bytes;
        first_reader = open.empty() ? m.first_reader : std::min(first_reader, m.first_reader);
        open.push_back(m);
      }
      close();
    }
    return out;
  }

  // One call of all operands; the waits stay.
  Status coalesce(const Bucket& bucket) {
    const Member &last = bucket.back(), &first = bucket.front();
    Builder b(graph_, ops_);
    b.set_loc(graph_.node(first.reduce).loc);
    b.set_tag(graph_.node(first.reduce).tag);
    const NodeId ready = after_operand(last);
    b.insert_before(ready);
    Values operands;
    for (const Member& m : bucket) operands.push_back(graph_.node(m.reduce).inputs[0]);
    const OpView call = graph_.view(first.reduce);
    const Values sent =
        b.call("all_reduce_coalesced", {operands},
               {{"reduce_op", call.attr("reduce_op")}, {"group_name", call.attr("group_name")}});
    CLEAVE_CHECK(b.status());
    place_new(ready);
    for (size_t k = 0; k < bucket.size(); ++k) {
      const ValueId old = graph_.node(bucket[k].reduce).out(0);
      const std::string name = graph_.name(old);
      graph_.replace_uses(old, sent[k]);
      graph_.erase(bucket[k].reduce);
      CLEAVE_CHECK(graph_.rename(sent[k], name));
    }
    return {};
  }

  Status join(const Bucket& bucket) {
    const Member &last = bucket.back(), &first = bucket.front();
    Builder b(graph_, ops_);
    b.set_loc(graph_.node(first.reduce).loc);
    b.set_tag(graph_.node(first.reduce).tag);
    const NodeId ready = after_operand(last);
    b.insert_before(ready);
    Values flat;
    std::vector<int64_t> sizes;
    for (const Member& m : bucket) {
      sizes.push_back(m.numel);
      flat.push_back(shaped(b, graph_.node(m.reduce).inputs[0], {Dim(m.numel)}));
    }
    const ValueId whole = b.cat(flat, 0);
    const OpView call = graph_.view(first.reduce);
    const ValueId sent =
        b.call1("all_reduce", {whole},
                {{"reduce_op", call.attr("reduce_op")}, {"group_name", call.attr("group_name")}});
    place_new(ready);
    const NodeId reader = first_reader(bucket);
    b.insert_before(reader);
    const ValueId arrived = b.call1("wait_tensor", {sent});
    const Values parts = b.call("split_with_sizes", {arrived}, {{"split_sizes", sizes}});
    CLEAVE_CHECK(b.status());
    for (size_t k = 0; k < bucket.size(); ++k) CLEAVE_CHECK(replace(b, bucket[k], parts[k]));
    place_new(reader);
    return {};
  }

 private:
  // Groups calls that may be merged, of equal height, in the order of their first calls.
  std::vector<std::pair<int64_t, Bucket>> families() const {
    const std::vector<int64_t> height = heights(graph_);
    std::map<std::string, size_t> index;
    std::vector<std::pair<int64_t, Bucket>> out;
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) {
      if (graph_.node(n).op->name != "all_reduce") continue;
      const NodeId wait = only_wait(graph_, n, is_returned_);
      if (!wait.valid() || !fits(n, wait)) continue;
      const auto [it, is_new] = index.try_emplace(key(n, height[n.v]), out.size());
      if (is_new) out.push_back({height[n.v], {}});
      out[it->second].second.push_back(member(n, wait));
    }
    return out;
  }

  bool fits(NodeId n, NodeId wait) const {
    const Type& t = graph_.type(graph_.node(n).inputs[0]);
    return t.is_static() && !graph_.type(graph_.node(wait).out(0)).strides;
  }

  std::string key(NodeId n, int64_t height) const {
    const OpView call = graph_.view(n);
    const CheckpointTag& tag = graph_.node(n).tag;
    return fmt::format("{} {} {} {} {} {} {} {}", call.str_attr("reduce_op"),
                       quoted(call.str_attr("group_name")), name_of(call.in_type(0).dtype),
                       static_cast<int>(call.in_type(0).device.kind), call.in_type(0).device.index,
                       static_cast<int>(tag.policy), tag.ac_graph, height);
  }

  Member member(NodeId n, NodeId wait) const {
    const ValueId x = graph_.node(n).inputs[0];
    Member m{n, wait};
    m.numel = graph_.type(x).numel().value();
    m.bytes = m.numel * size_of(graph_.type(x).dtype);
    if (const NodeId def = graph_.value(x).def; def.valid()) m.ready = at_[def.v] + 1;
    m.first_reader = end_ + 1;
    for (const Use& u : graph_.uses(graph_.node(wait).out(0)))
      m.first_reader = std::min(m.first_reader, at_[u.node.v] + 1);
    return m;
  }

  NodeId after_operand(const Member& m) const {
    const NodeId def = graph_.value(graph_.node(m.reduce).inputs[0]).def;
    return def.valid() ? graph_.next_node(def) : graph_.first_node();
  }

  // The first user of a wait's result; invalid, that is the end, if only return uses them.
  NodeId first_reader(const Bucket& bucket) const {
    NodeId first;
    for (const Member& m : bucket)
      for (const Use& u : graph_.uses(graph_.node(m.wait).out(0)))
        if (!first.valid() || at_[u.node.v] < at_[first.v]) first = u.node;
    return first;
  }
  // New calls get the position of the call that they are inserted before.
  void place_new(NodeId before) {
    at_.resize(graph_.node_capacity(), before.valid() ? at_[before.v] : end_);
  }

  Status replace(Builder& b, const Member& m, ValueId part) {
    const ValueId old = graph_.node(m.wait).out(0);
    const std::string name = graph_.name(old);
    b.set_loc(graph_.node(m.wait).loc);
    const ValueId whole = shaped(b, part, graph_.type(old).shape);
    CLEAVE_CHECK(b.status());
    graph_.replace_uses(old, whole);
    graph_.erase(m.wait);
    graph_.erase(m.reduce);
    return graph_.rename(whole, name);
  }

  Graph& graph_;
  const OpRegistry& ops_;
  const BucketSettings settings_;
  std::vector<bool> is_returned_;
  std::vector<size_t> at_;
  size_t end_;
};

Result<PassCount> run(Graph& graph, const OpRegistry& ops, const BucketSettings& settings) {
  PassCount count;
  if (has_effect(graph)) return count;
  for (int64_t before = -1; before < count.matches;) {  // calls moved up may be ready sooner
    before = count.matches;
    Bucketer bucketer(graph, ops, settings);
    for (const Bucket& bucket : bucketer.buckets()) {
      CLEAVE_CHECK(settings.coalesces ? bucketer.coalesce(bucket) : bucketer.join(bucket));
      ++count.matches;
      count.nodes += 2 * std::ssize(bucket);
    }
    if (before < count.matches) CLEAVE_CHECK(sort_topologically(graph));
  }
  return count;
}

}  // namespace

Pass bucket_all_reduce() {
  Pass pass{.name = "bucket_all_reduce",
            .summary = "all-reduces of gradients become few, each of a bucket of them"};
  const BucketSettings usual;
  pass.settings = {{"first_bucket_bytes", usual.first_bytes, 0, "of the first bucket, at most"},
                   {"bucket_bytes", usual.bytes, 0, "of each other, at most"},
                   {"coalesce", 0, 0, "1: one call of all operands, not of a copy of them"}};
  pass.make_run = [](const std::vector<PassSetting>& s) -> Pass::Run {
    const BucketSettings settings{setting(s, "first_bucket_bytes"), setting(s, "bucket_bytes"),
                                  setting(s, "coalesce") != 0};
    return [settings](Graph& g, const OpRegistry& ops) { return run(g, ops, settings); };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

}  // namespace cleave
