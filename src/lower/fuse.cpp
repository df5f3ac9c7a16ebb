#include "lower/fuse.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "ir/edit.h"
#include "ir/subgraph.h"
#include "loop/lower_rule.h"
#include "lower/fuse_cost.h"
#include "lower/group_check.h"

namespace cleave {
namespace {

using namespace fuse_cost;

// cheap: computed in every group that reads it. waiting: read by one call, into whose group it
// goes.
enum class Kind : uint8_t { other, view, cheap, waiting, elementwise, fold };

struct Call {
  Kind kind = Kind::other;
  int64_t elements = 0;          // of the first result; of a fold, of the operand
  int64_t position = 0;          // in the graph's order
  int64_t kernels_before = 0;    // kernels that aren't fused, up to here
  int32_t group = -1;            // cheap calls and views have none
  std::vector<ValueId> leaves;   // materialised values that it reads, through cheap calls and views
  std::vector<ValueId> crooked;  // those of them that it reads in another order than its elements'
  int64_t flops = 0;             // an element, of the calls without a group in front of it too
  size_t through = 1;            // how many those are
};

struct Group {
  std::vector<NodeId> nodes;  // in the graph's order
  NodeId at;                  // runs where this one stood
  int64_t elements = 0;       // of a full value
  std::vector<FoldForm> forms;
  std::vector<ValueId> reads;    // leaves, each once
  std::vector<ValueId> crooked;  // some call reads them in another order
  std::vector<int32_t> readers;  // other groups that read it, some of them twice
  int64_t first_kernel = 0, last_kernel = 0;
  bool merged = false;
};

int64_t bytes_of(const Graph& g, ValueId v) {
  return numel_of(static_shape(g.type(v))) * size_of(g.type(v).dtype);
}

class Fuser {
 public:
  Fuser(Graph& graph, std::set<std::string>& taken)
      : g_(graph), calls_(graph.node_capacity()), taken_(taken) {}

  Status run(const OpRegistry& ops) {
    const OpDef* fused = ops.find("fused");
    if (!fused) return {};
    order_ = g_.order();
    for (const Return& r : g_.returns()) returned_[r.value.v] = true;
    describe();
    for (const NodeId n : order_) place(n);
    return rewrite(*fused);
  }

 private:
  Call& call(NodeId n) { return calls_[n.v]; }

  // ---- what each call is

  Kind kind_of(NodeId n) {
    const Node& node = g_.node(n);
    if (!node.op->lower.present() || has(node.op->traits, Trait::effect)) return Kind::other;
    const auto& form = (*node.op->lower)->form;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (!g_.type(node.out(k)).is_none && g_.type(node.out(k)).dtype == DType::c64)
        return Kind::other;
    if (std::holds_alternative<loop::ViewRule>(form))
      return g_.type(node.inputs[0]).dtype == g_.type(node.out(0)).dtype ? Kind::view : Kind::other;
    if (std::holds_alternative<loop::ReductionRule>(form)) return Kind::fold;
    // Others have loops of their own, or read what they may not use.
    const loop::ElementwiseRule* rule = loop::elementwise_rule(**node.op->lower, g_.view(n));
    return rule && rule->in_range ? Kind::elementwise : Kind::other;
  }

  bool is_fusible(NodeId n) {
    const Kind k = call(n).kind;
    return k != Kind::other;
  }
  // Has no group of its own.
  bool is_through(NodeId n) {
    const Kind k = call(n).kind;
    return k == Kind::view || k == Kind::cheap || k == Kind::waiting;
  }

  void describe() {
    int64_t kernels = 0;
    for (size_t i = 0; i < order_.size(); ++i) {
      const NodeId n = order_[i];
      Call& c = call(n);
      c.kind = kind_of(n);
      c.position = static_cast<int64_t>(i);
      if (c.kind == Kind::other) ++kernels;
      c.kernels_before = kernels;
      const Node& node = g_.node(n);
      const ValueId sized = c.kind == Kind::fold ? node.inputs[0] : node.out(0);
      if (c.kind != Kind::other) c.elements = numel_of(static_shape(g_.type(sized)));
    }
    for (const NodeId n : order_) {
      Call& c = call(n);
      find_leaves(n);
      if (c.kind != Kind::elementwise) continue;
      if (is_cheap(n))
        c.kind = Kind::cheap;
      else if (waits(n))
        c.kind = Kind::waiting;
    }
  }

  void find_leaves(NodeId n) {
    Call& c = call(n);
    for (const ValueId v : g_.node(n).inputs) {
      if (!v.valid()) continue;
      const NodeId d = g_.value(v).def;
      if (!d.valid() || !is_through(d)) {
        add(c.leaves, v);
      } else {
        const bool crooked = call(d).kind == Kind::view && !keeps_order(d);
        for (const ValueId l : call(d).leaves) {
          add(c.leaves, l);
          if (crooked || contains(call(d).crooked, l)) add(c.crooked, l);
        }
        c.flops += call(d).flops;
        c.through += call(d).through;
      }
    }
    if (c.kind == Kind::elementwise) c.flops += flops_of(n);
  }

  // Whether the view's elements come in the order of its operand's, some of them several times.
  bool keeps_order(NodeId n) {
    const OpView op = g_.view(n);
    if (op.name() == "expand") return true;
    const loop::Layout in = loop::Layout::contiguous(static_shape(op.in_type(0)));
    const auto layout = std::get<loop::ViewRule>((*op.def().lower)->form).layout(op, in, 0);
    return g_.node(n).output_count == 1 && layout && layout->is_contiguous() &&
           layout->numel() == in.numel();
  }

  int64_t flops_of(NodeId n) {
    const OpView op = g_.view(n);
    return (*op.def().cost)(op).flops / std::max<int64_t>(call(n).elements, 1);
  }

  static bool contains(const std::vector<ValueId>& list, ValueId v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  }
  static void add(std::vector<ValueId>& list, ValueId v) {
    if (!contains(list, v)) list.push_back(v);
  }

  // Computed wherever it is read: of at most one operand of its size, which takes no more to read.
  bool is_cheap(NodeId n) {
    const Node& node = g_.node(n);
    const Call& c = call(n);
    if (node.output_count != 1 || c.flops > cheap_flops || has(node.op->traits, Trait::random) ||
        has(node.op->traits, Trait::data_dependent))
      return false;
    const ValueId y = node.out(0);
    if (returned_.contains(y.v)) return false;
    if (!every_reader_inlines(y)) return false;
    int64_t bytes = 0;
    for (const ValueId v : c.leaves) {
      // A fold's result is known in its own group alone.
      const NodeId d = g_.value(v).def;
      if (d.valid() && is_fusible(d)) return false;
      bytes += bytes_of(g_, v);
    }
    return bytes <= bytes_of(g_, y) + bytes_of(g_, y) / 4;
  }

  // Whether it goes where its only reader does, directly or behind views.
  bool waits(NodeId n) {
    const Node& node = g_.node(n);
    const Call& c = call(n);
    if (node.output_count != 1 || c.through > most_waiting) return false;
    ValueId v = node.out(0);
    for (;;) {
      if (returned_.contains(v.v) || g_.use_count(v) != 1) return false;
      const NodeId u = g_.uses(v)[0].node;
      if (!is_fusible(u)) return false;
      if (call(u).kind == Kind::view) {
        if (g_.node(u).output_count != 1) return false;
        v = g_.node(u).out(0);
        continue;
      }
      return call(u).kernels_before - c.kernels_before <= far_kernels &&
             is_worth_repeating(c.flops, c.elements, call(u).elements);
    }
  }

  // Whether a value read by a larger one may be computed again for each element of that.
  bool is_worth_repeating(int64_t flops, int64_t elements, int64_t larger) {
    if (larger <= elements) return true;
    const int64_t again = flops * (larger - elements);
    return again <= launch_flops + elements * flops_of_8_bytes;
  }

  bool every_reader_inlines(ValueId v) {
    for (const Use& u : g_.uses(v)) {
      if (!is_fusible(u.node)) return false;
      if (call(u.node).kind != Kind::view) continue;
      for (uint32_t k = 0; k < g_.node(u.node).output_count; ++k) {
        const ValueId w = g_.node(u.node).out(k);
        if (returned_.contains(w.v) || !every_reader_inlines(w)) return false;
      }
    }
    return true;
  }

  // ---- groups

  int32_t group_of(ValueId v) {
    const NodeId d = g_.value(v).def;
    return d.valid() ? find(call(d).group) : -1;
  }
  int32_t find(int32_t g) const {
    while (g >= 0 && groups_[g].merged) g = moved_to_.at(g);
    return g;
  }
  int64_t position(int32_t g) { return call(groups_[g].at).position; }

  void place(NodeId n) {
    Call& c = call(n);
    if (is_through(n)) return;
    const int32_t best = c.kind == Kind::other ? -1 : best_group(n);
    if (best >= 0)
      join(n, best);
    else
      begin(n);
    const int32_t own = find(c.group);
    for (const ValueId v : c.leaves) {
      const int32_t g = group_of(v);
      if (g >= 0 && g != own) groups_[g].readers.push_back(own);
      if (c.kind != Kind::other) last_reader_[v.v] = own;
    }
    if (best >= 0) pull_producers(n);
  }

  void begin(NodeId n) {
    Call& c = call(n);
    c.group = static_cast<int32_t>(groups_.size());
    Group g;
    g.nodes = {n};
    g.at = n;
    g.elements = c.elements;
    g.reads = c.leaves;
    g.crooked = c.crooked;
    g.first_kernel = g.last_kernel = c.kernels_before;
    if (c.kind == Kind::fold) g.forms.push_back(*fold_form_of(g_, n));
    groups_.push_back(std::move(g));
  }

  bool is_group(int32_t g) { return g >= 0 && call(groups_[g].nodes[0]).kind != Kind::other; }

  // The group that it saves most bytes to join; -1: none.
  int32_t best_group(NodeId n) {
    std::vector<int32_t> candidates;
    const auto consider = [&](int32_t g) {
      g = find(g);
      if (is_group(g) && std::find(candidates.begin(), candidates.end(), g) == candidates.end())
        candidates.push_back(g);
    };
    for (const ValueId v : call(n).leaves) {
      consider(group_of(v));
      if (const auto it = last_reader_.find(v.v); it != last_reader_.end()) consider(it->second);
    }
    int32_t best = -1;
    int64_t most = 0;
    for (const int32_t g : candidates) {
      const int64_t saved = saving(n, g);
      if (saved <= most || !is_worth_waiting(n, saved) || !may_join(n, g)) continue;
      best = g, most = saved;
    }
    return best;
  }

  // Large calls that share next to nothing stay apart: each can run, and free what it reads, as
  // soon as its operands are there.
  bool is_worth_waiting(NodeId n, int64_t saved) {
    const int64_t bytes = call(n).elements * 4;
    return bytes <= launch_bytes || saved * 16 >= bytes;
  }

  int64_t saving(NodeId n, int32_t g) {
    int64_t saved = 0;
    for (const ValueId v : call(n).leaves) {
      const bool made = group_of(v) == g;
      if (!made && !contains(groups_[g].reads, v)) continue;
      if (contains(call(n).crooked, v) || contains(groups_[g].crooked, v)) continue;
      saved += std::min(bytes_of(g_, v), call(n).elements * size_of(g_.type(v).dtype));
      if (made && !returned_.contains(v.v) && g_.use_count(v) == 1) saved += bytes_of(g_, v);
    }
    return saved;
  }

  bool may_join(NodeId n, int32_t g) {
    Group& group = groups_[g];
    const Call& c = call(n);
    if (group.nodes.size() >= static_cast<size_t>(most_nodes)) return false;
    if (c.kernels_before - group.first_kernel > far_kernels) return false;
    if (!fits(n, group)) return false;
    for (const ValueId v : c.crooked)
      if (group_of(v) == g) return false;
    size_t buffers = group.reads.size();
    for (const ValueId v : c.leaves) buffers += group_of(v) != g;
    if (buffers > static_cast<size_t>(most_buffers)) return false;
    return is_known_at(c.leaves, g) || !is_read(g);
  }

  // Whether all of it is there when g runs, made by others or by g itself.
  bool is_known_at(const std::vector<ValueId>& values, int32_t g) {
    return std::all_of(values.begin(), values.end(), [&](ValueId v) {
      const int32_t from = group_of(v);
      return from < 0 || from == g || position(from) < position(g);
    });
  }
  bool is_read(int32_t g) {
    return std::any_of(groups_[g].readers.begin(), groups_[g].readers.end(),
                       [&](int32_t r) { return find(r) != g; });
  }

  // ---- rows

  bool fits(NodeId n, const Group& g) {
    const Call& c = call(n);
    if (c.kind == Kind::elementwise) {
      if (g.forms.empty()) return c.elements == g.elements;
      const FoldForm& f = g.forms[0];
      if (c.elements != g.elements && (f.kind == FoldForm::Kind::chunks || c.elements != f.results))
        return false;
      const bool reads_folded = std::any_of(c.leaves.begin(), c.leaves.end(), [&](ValueId v) {
        const NodeId d = g_.value(v).def;
        return d.valid() && call(d).kind == Kind::fold && &groups_[group_of(v)] == &g;
      });
      return !reads_folded || keeps_row(g);
    }
    const FoldForm form = *fold_form_of(g_, n);
    if (c.elements != g.elements) return false;
    for (const FoldForm& f : g.forms)
      if (!agree(form, f)) return false;
    return true;
  }

  // Whether what its folds give may be read while the row is still near.
  static bool keeps_row(const Group& g) {
    for (const FoldForm& f : g.forms) {
      if (f.kind == FoldForm::Kind::chunks) return false;
      if (f.kind == FoldForm::Kind::rows && f.count * 4 > row_bytes) return false;
      if (f.kind == FoldForm::Kind::columns && f.runs == g.forms[0].runs &&
          (f.count * loop::column_lanes * 4 > row_bytes ||
           (f.results < few_columns && g.elements > small_elements)))
        return false;
    }
    return true;
  }

  // Whether two folds can be of one kernel: the same rows, or rows of the one are what the other
  // adds up.
  static bool agree(const FoldForm& a, const FoldForm& b) {
    using K = FoldForm::Kind;
    if (a.runs == b.runs) return a.kind == b.kind;
    if (a.kind == b.kind || a.kind == K::chunks || b.kind == K::chunks) return false;
    return a.runs.size() == 2 && b.runs.size() == 2 && a.runs[0].extent == b.runs[0].extent &&
           a.runs[1].extent == b.runs[1].extent;
  }

  // ---- joining

  void join(NodeId n, int32_t g) {
    Group& group = groups_[g];
    Call& c = call(n);
    if (!is_known_at(c.leaves, g)) group.at = n;
    c.group = g;
    group.nodes.push_back(n);
    for (const ValueId v : c.leaves) add(group.reads, v);
    for (const ValueId v : c.crooked) add(group.crooked, v);
    group.last_kernel = c.kernels_before;
    if (c.kind == Kind::fold) group.forms.push_back(*fold_form_of(g_, n));
  }

  // The groups of its other operands come along where they can.
  void pull_producers(NodeId n) {
    for (const ValueId v : std::vector<ValueId>(call(n).leaves)) {
      const int32_t g = find(call(n).group), from = group_of(v);
      if (!is_group(from) || from == g) continue;
      if (merges(from, g)) merge(from, g);
    }
  }

  // `from`, which g reads, would run where g does: nobody may read it before.
  bool merges(int32_t from, int32_t g) {
    const Group &a = groups_[from], &b = groups_[g];
    if (a.elements == 0 || b.elements == 0) return false;
    for (const ValueId v : b.crooked)
      if (group_of(v) == from) return false;
    if (a.nodes.size() + b.nodes.size() > static_cast<size_t>(most_nodes)) return false;
    if (a.reads.size() + b.reads.size() > static_cast<size_t>(most_buffers)) return false;
    if (b.last_kernel - a.first_kernel > far_kernels) return false;
    if (position(from) > position(g)) return false;
    for (const int32_t r : a.readers)
      if (const int32_t reader = find(r); reader != g && position(reader) < position(g))
        return false;
    if (!a.forms.empty() && !b.forms.empty()) {
      if (a.elements != b.elements) return false;
      for (const FoldForm& f : a.forms)
        for (const FoldForm& h : b.forms)
          if (!agree(f, h)) return false;
    } else if (a.elements != b.elements && !(a.forms.empty() && is_small_part(from, g))) {
      return false;
    }
    return true;
  }

  // Values that g alone reads, and that it may compute again for each of its elements.
  bool is_small_part(int32_t from, int32_t g) {
    int64_t flops = 0;
    for (const NodeId n : groups_[from].nodes) {
      const Node& node = g_.node(n);
      flops += call(n).flops;
      for (uint32_t k = 0; k < node.output_count; ++k)
        if (is_read_outside(node.out(k), g)) return false;
    }
    return is_worth_repeating(flops, groups_[from].elements, groups_[g].elements);
  }

  void merge(int32_t from, int32_t to) {
    Group &a = groups_[from], &b = groups_[to];
    std::vector<NodeId> nodes;
    std::merge(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
               std::back_inserter(nodes),
               [&](NodeId x, NodeId y) { return call(x).position < call(y).position; });
    b.nodes = std::move(nodes);
    for (const ValueId v : a.reads) add(b.reads, v);
    for (const ValueId v : a.crooked) add(b.crooked, v);
    b.readers.insert(b.readers.end(), a.readers.begin(), a.readers.end());
    b.forms.insert(b.forms.end(), a.forms.begin(), a.forms.end());
    b.first_kernel = std::min(a.first_kernel, b.first_kernel);
    a.merged = true;
    moved_to_[from] = to;
    a.nodes.clear();
  }

  // ---- the new graph

  struct Body {
    std::vector<NodeId> nodes;  // cheap calls and views among them
    size_t kernels = 0;         // without the views
    std::vector<ValueId> operands, results;
  };

  Status rewrite(const OpDef& fused) {
    std::vector<int32_t> by_position;
    for (size_t g = 0; g < groups_.size(); ++g)
      if (!groups_[g].merged && is_group(static_cast<int32_t>(g)))
        by_position.push_back(static_cast<int32_t>(g));
    std::stable_sort(by_position.begin(), by_position.end(),
                     [&](int32_t a, int32_t b) { return position(a) < position(b); });
    // The old calls stay as they are until all are written.
    for (const int32_t g : by_position) {
      const Body body = body_of(g);
      if (body.kernels < 2 || body.results.empty()) continue;
      if (!check_group(g_, body.nodes, body.results).ok()) continue;
      CLEAVE_TRY(const NodeId made, write(fused, g, body));
      for (size_t k = 0; k < body.results.size(); ++k) {
        now_[body.results[k].v] = g_.node(made).out(static_cast<uint32_t>(k));
        replaced_.push_back(body.results[k]);
      }
    }
    std::vector<std::string> names;
    for (const ValueId v : replaced_) {
      names.push_back(g_.name(v));
      g_.replace_uses(v, current(v));
    }
    eliminate_dead_code(g_);
    CLEAVE_CHECK(g_.reorder(sorted()));
    for (size_t k = 0; k < names.size(); ++k)
      if (!g_.find(names[k]).valid()) CLEAVE_CHECK(g_.rename(current(replaced_[k]), names[k]));
    return {};
  }

  // The nodes in order, each behind its operands: views stand in front of their first reader.
  std::vector<NodeId> sorted() const {
    std::vector<NodeId> out;
    std::vector<bool> done(g_.node_capacity()), opened(g_.node_capacity());
    for (NodeId root = g_.first_node(); root.valid(); root = g_.next_node(root)) {
      const bool is_view =
          root.v < calls_.size() && calls_[root.v].kind == Kind::view && !is_returned(root);
      if (is_view) continue;
      std::vector<NodeId> open = {root};
      while (!open.empty()) {
        const NodeId n = open.back();
        if (done[n.v]) {
          open.pop_back();
          continue;
        }
        if (opened[n.v]) {
          open.pop_back();
          done[n.v] = true;
          out.push_back(n);
          continue;
        }
        opened[n.v] = true;
        const Node& node = g_.node(n);
        for (size_t i = node.inputs.size(); i-- > 0;)
          if (node.inputs[i].valid())
            if (const NodeId d = g_.value(node.inputs[i]).def; d.valid() && !done[d.v])
              open.push_back(d);
      }
    }
    return out;
  }
  bool is_returned(NodeId n) const {
    const Node& node = g_.node(n);
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (returned_.contains(node.out(k).v)) return true;
    return false;
  }

  Body body_of(int32_t g) {
    Body out;
    std::map<int64_t, NodeId> nodes;
    std::vector<NodeId> open = groups_[g].nodes;
    std::unordered_map<uint32_t, bool> inside;
    while (!open.empty()) {
      const NodeId n = open.back();
      open.pop_back();
      if (!nodes.emplace(call(n).position, n).second) continue;
      inside[n.v] = true;
      for (const ValueId v : g_.node(n).inputs) {
        if (!v.valid()) continue;
        const NodeId d = g_.value(v).def;
        if (d.valid() && is_through(d)) open.push_back(d);
      }
    }
    for (const auto& [position, n] : nodes) {
      out.nodes.push_back(n);
      if (call(n).kind != Kind::view) ++out.kernels;
      const Node& node = g_.node(n);
      for (const ValueId v : node.inputs)
        if (v.valid() && !(g_.value(v).def.valid() && inside.contains(g_.value(v).def.v)))
          add(out.operands, v);
    }
    for (const NodeId n : groups_[g].nodes) {
      const Node& node = g_.node(n);
      for (uint32_t k = 0; k < node.output_count; ++k) {
        const ValueId v = node.out(k);
        if (is_read_outside(v, g)) out.results.push_back(v);
      }
    }
    return out;
  }

  // Read by a call that isn't copied into the group, directly or through views and cheap calls that
  // others read.
  bool is_read_outside(ValueId v, int32_t g) {
    if (returned_.contains(v.v)) return true;
    for (const Use& u : g_.uses(v)) {
      if (u.node.v >= calls_.size()) continue;  // written in the place of one of those below
      const Call& c = call(u.node);
      if (is_through(u.node)) {
        const Node& node = g_.node(u.node);
        for (uint32_t k = 0; k < node.output_count; ++k)
          if (is_read_outside(node.out(k), g)) return true;
      } else if (find(c.group) != g) {
        return true;
      }
    }
    return false;
  }

  Result<NodeId> write(const OpDef& fused, int32_t g, const Body& body) {
    Graph inner(fresh_name(g_.name(body.results[0])));
    std::unordered_map<uint32_t, ValueId> map;
    NodeSpec spec;
    spec.op = &fused;
    for (const ValueId v : body.operands) {
      Type type(g_.type(v).dtype, g_.type(v).shape);
      type.device = g_.type(v).device;
      CLEAVE_TRY(map[v.v], inner.add_placeholder(Role::input, g_.name(v), std::move(type)));
      spec.inputs.push_back(current(v));
    }
    spec.list_size = static_cast<uint32_t>(spec.inputs.size());
    CLEAVE_CHECK(copy_nodes(g_, body.nodes, inner, map));
    for (const ValueId v : body.results) inner.add_return({map.at(v.v)});
    spec.loc = g_.node(groups_[g].nodes[0]).loc;
    spec.before = groups_[g].at;
    const int arg = fused.schema.find("body");
    spec.attrs.set(static_cast<uint16_t>(arg),
                   GraphRef(std::make_shared<const Graph>(std::move(inner))));
    return g_.add_node(std::move(spec));
  }

  ValueId current(ValueId v) const {
    const auto it = now_.find(v.v);
    return it == now_.end() ? v : it->second;
  }

  std::string fresh_name(const std::string& stem) {
    std::string name = fmt::format("{}.{}", g_.name(), stem);
    while (!taken_.insert(name).second) name += "_1";
    return name;
  }

  Graph& g_;
  std::vector<NodeId> order_;
  std::vector<Call> calls_;  // by node
  std::vector<Group> groups_;
  std::unordered_map<int32_t, int32_t> moved_to_;
  std::unordered_map<uint32_t, int32_t> last_reader_;
  std::unordered_map<uint32_t, bool> returned_;
  std::vector<ValueId> replaced_;
  std::unordered_map<uint32_t, ValueId> now_;
  std::set<std::string>& taken_;  // names of graphs
};

void collect_graph_names(const Graph& g, std::set<std::string>& names) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (const auto& [arg, value] : g.node(n).attrs.given())
      if (const GraphRef* sub = value.get<GraphRef>(); sub && names.insert((*sub)->name()).second)
        collect_graph_names(**sub, names);
}

}  // namespace

Status fuse_calls(Graph& graph, const OpRegistry& ops) {
  std::set<std::string> taken = {graph.name()};
  collect_graph_names(graph, taken);
  CLEAVE_CHECK(rewrite_subgraphs(graph, [&](Graph& sub) -> Result<bool> {
    CLEAVE_CHECK(Fuser(sub, taken).run(ops));
    return true;
  }));
  return Fuser(graph, taken).run(ops);
}

}  // namespace cleave
