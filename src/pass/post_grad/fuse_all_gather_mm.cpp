// Fuses an all-gather with the matrix products of the gathered value into one call, which starts
// with the rows that have arrived.
//
//   w = wait(all_gather(a)); g = w; g @ b0, g @ b1, ...
//       ->  g, y0, y1, ... = fused_all_gather_matmul(a, [b0, b1, ...]; gather_dim)
//
// gather_dim is 0; or g is cat(parts of w along dim 0; gather_dim), with the parts of the ranks in
// order; or `a` is permuted to put gather_dim first, and g is w permuted back. g @ b is mm(g, b),
// or view(mm(view(g), b)) for a g of more dims. Other users of g get it from the call.
//
// A product whose b depends on g isn't fused. The definitions of other operands b move up before
// the call; if there are more than 256 of them after g, the product isn't fused. Along the last
// dim, which is summed over, all of g would have to be materialized: only if products are its only
// users, and `a` has at least 1024 columns, since otherwise the partial products are small. Both as
// in PyTorch: _inductor/fx_passes/micro_pipeline_tp.py. Each element is the same sum as before.
#include <unordered_map>
#include <utility>

#include "ir/edit.h"
#include "op/dims.h"
#include "pass/call_order.h"
#include "pass/collective.h"
#include "pass/passes.h"
#include "pass/piece.h"

namespace cleave {
namespace {

constexpr size_t max_moved = 256;
constexpr int64_t min_columns = 1024;

// g @ b, and its calls: mm, after a view of g and before a view of the result.
struct Product {
  ValueId value, b;
  NodeId flat, mm, view;
};

// An all_gather and the calls that turn its result into `whole`.
struct Gathering {
  NodeId call;
  ValueId shard, whole;
  int64_t dim = 0, calls = 2;
};

// What is fused with it: products, the calls that move before it, in their order, and whether the
// gathered value has other users.
struct Plan {
  std::vector<Product> products;
  std::vector<NodeId> moved;
  bool is_read_beside = false;
};

bool is_view(const std::string& op) {
  return op == "view" || op == "_unsafe_view" || op == "reshape";
}

class Fuser {
 public:
  Fuser(Graph& graph, const OpRegistry& ops)
      : graph_(graph), ops_(ops), is_returned_(returned_values(graph)), at_(positions(graph)) {}

  Result<PassCount> run() {
    PassCount count;
    std::vector<NodeId> calls;
    for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n))
      if (graph_.node(n).op->name == "all_gather_into_tensor") calls.push_back(n);
    for (const NodeId n : calls) {
      const std::optional<Gathering> g = gathering(n);
      if (!g) continue;
      const Plan plan = plan_of(*g);
      if (plan.products.empty()) continue;
      ++count.matches;
      count.nodes += g->calls;
      for (const Product& p : plan.products) count.nodes += p.view.valid() ? 2 : 1;
      CLEAVE_CHECK(fuse(*g, plan));
    }
    eliminate_dead_code(graph_);
    for (const auto& [value, name] : names_)
      if (!graph_.find(name).valid()) CLEAVE_CHECK(graph_.rename(value, name));
    return count;
  }

 private:
  const Node& node_of(ValueId v) const { return graph_.node(graph_.value(v).def); }
  bool is_alone(ValueId v) const { return graph_.use_count(v) == 1 && !is_returned_[v.v]; }
  // The only user of v; invalid if there is another, or if their tags differ.
  NodeId only_reader(ValueId v) const {
    if (!is_alone(v)) return {};
    const NodeId n = graph_.uses(v)[0].node;
    return graph_.node(n).tag == node_of(v).tag ? n : NodeId();
  }

  // ---- the gathered value

  std::optional<Gathering> gathering(NodeId n) {
    const NodeId wait = only_wait(graph_, n, is_returned_);
    if (!wait.valid()) return {};
    const ValueId arrived = graph_.node(wait).out(0);
    Gathering g{n, graph_.node(n).inputs[0], arrived};
    if (!joins_parts(g)) unpermutes(g);
    return graph_.type(g.whole).strides ? std::nullopt : std::optional(g);
  }

  // A cat of all parts, which is their only user.
  bool joins_parts(Gathering& g) const {
    const ValueId arrived = g.whole;
    if (is_returned_[arrived.v] || graph_.use_count(arrived) == 0) return false;
    const Node& first = graph_.node(graph_.uses(arrived)[0].node);
    const NodeId cat = only_reader(first.out(0));
    if (!cat.valid() || graph_.node(cat).op->name != "cat") return false;
    const OpView call = graph_.view(cat);
    const int64_t ranks = graph_.view(g.call).int_attr("group_size");
    if (call.list_size() != ranks) return false;
    PieceFinder finder(graph_, graph_.node(g.call).tag);
    const Dim& size = graph_.type(g.shard).shape[0];
    Dim start = 0;
    for (const ValueId v : graph_.node(cat).inputs) {
      const std::optional<Piece> p = finder.find(v);
      if (!p || p->drops || p->whole != arrived || p->dim != 0 || only_reader(v) != cat ||
          !graph_.env().provably_equal(p->start, start) ||
          !graph_.env().provably_equal(p->stop, start + size))
        return false;
      start = start + size;
    }
    const bool is_split = &node_of(call.list_in(0)) == &node_of(call.list_in(call.list_size() - 1));
    if (std::cmp_not_equal(graph_.use_count(arrived), is_split ? 1 : ranks)) return false;
    g.dim = from_front(call.int_attr("dim"), call.out_type(0).rank());
    g.whole = graph_.node(cat).out(0);
    g.calls += 1 + static_cast<int64_t>(graph_.use_count(arrived));
    return true;
  }

  // A permute of the result that undoes a permute of the operand, which moved dim `dim` to the
  // front.
  bool unpermutes(Gathering& g) const {
    const NodeId before = graph_.value(g.shard).def, after = only_reader(g.whole);
    for (const NodeId n : {before, after})
      if (!n.valid() || graph_.node(n).op->name != "permute") return false;
    if (graph_.node(before).tag != graph_.node(g.call).tag) return false;
    const int64_t rank = graph_.type(g.shard).rank();
    const std::vector<int64_t> to = from_front(graph_.view(before).ints_attr("dims"), rank),
                               back = from_front(graph_.view(after).ints_attr("dims"), rank);
    for (int64_t d = 0; d < rank; ++d)
      if (to[static_cast<size_t>(back[static_cast<size_t>(d)])] != d) return false;
    g.dim = to[0];
    g.shard = graph_.node(before).inputs[0];
    g.whole = graph_.node(after).out(0);
    g.calls += 2;
    return true;
  }

  // ---- its products

  Plan plan_of(const Gathering& g) {
    Plan plan;
    plan.is_read_beside = is_returned_[g.whole.v];
    depends_ = {{graph_.value(g.whole).def.v, true}};
    for (const Use& u : graph_.uses(g.whole)) {
      const Node& reader = graph_.node(u.node);
      size_t fused = 0, all = 1;
      if (is_view(reader.op->name) && flattens(reader) && !is_returned_[reader.out(0).v]) {
        all = graph_.use_count(reader.out(0));
        for (const Use& inner : graph_.uses(reader.out(0))) fused += add(plan, g, inner, u.node);
      } else {
        fused = add(plan, g, u, {});
      }
      plan.is_read_beside |= fused < all;
    }
    const Type& a = graph_.type(g.shard);
    const bool sums_over = g.dim == a.rank() - 1;
    if (sums_over &&
        (plan.is_read_beside || graph_.env().range_of(a.shape.back()).lo < min_columns))
      return {};
    return plan;
  }

  size_t add(Plan& plan, const Gathering& g, const Use& use, NodeId flat) {
    const std::optional<Product> p = product(g, use, flat);
    if (!p) return 0;
    std::vector<NodeId> chain;
    if (depends_on(p->b, g, chain)) {
      for (const NodeId n : chain) depends_.erase(n.v);  // they stay
      return 0;
    }
    plan.moved.insert(plan.moved.end(), chain.begin(), chain.end());
    plan.products.push_back(*p);
    return 1;
  }

  bool flattens(const Node& view) const {
    const Type &x = graph_.type(view.inputs[0]), &y = graph_.type(view.out(0));
    return x.rank() > 2 && y.rank() == 2 && y.shape[1] == x.shape.back();
  }

  // mm as the user of g.whole, or of `flat`, which views it with two dims.
  std::optional<Product> product(const Gathering& g, const Use& use, NodeId flat) const {
    const Node& mm = graph_.node(use.node);
    const CheckpointTag& tag = graph_.node(g.call).tag;
    if (mm.op->name != "mm" || use.operand != 0 || mm.tag != tag) return {};
    Product p{mm.out(0), mm.inputs[1], flat, use.node, {}};
    if (flat.valid()) {
      p.view = only_reader(mm.out(0));
      if (graph_.node(flat).tag != tag || !p.view.valid() || !is_view(graph_.node(p.view).op->name))
        return {};
      p.value = graph_.node(p.view).out(0);
      Shape shape = graph_.type(g.whole).shape;
      shape.back() = graph_.type(p.b).shape[1];
      if (graph_.type(p.value).shape != shape) return {};
    }
    if (graph_.type(p.value).strides) return {};
    return p;
  }

  // Whether v depends on the gathered value. Appends to `chain` the calls after that value that
  // define v, operands first. Too many calls count as a dependence.
  bool depends_on(ValueId v, const Gathering& g, std::vector<NodeId>& chain) {
    const NodeId n = graph_.value(v).def;
    if (!n.valid() || at_[n.v] < at_[graph_.value(g.whole).def.v]) return false;
    if (const auto known = depends_.find(n.v); known != depends_.end()) return known->second;
    if (depends_.size() > max_moved) return true;
    depends_[n.v] = true;
    for (const ValueId in : graph_.node(n).inputs)
      if (in.valid() && depends_on(in, g, chain)) return true;
    depends_[n.v] = false;
    chain.push_back(n);
    return false;
  }

  // ---- the call

  Status fuse(const Gathering& g, const Plan& plan) {
    const NodeId whole = graph_.value(g.whole).def;
    NodeId after = graph_.next_node(whole);
    for (const NodeId n : plan.moved) {
      at_[n.v] = at_[whole.v];
      if (n == after)
        after = graph_.next_node(n);
      else
        graph_.move_before(n, after);
    }
    Builder b(graph_, ops_);
    b.insert_before(after);
    b.set_loc(graph_.node(plan.products[0].mm).loc);
    b.set_tag(graph_.node(g.call).tag);
    Values others;
    for (const Product& p : plan.products) others.push_back(p.b);
    const OpView call = graph_.view(g.call);
    const Values made = b.call("fused_all_gather_matmul", {g.shard, others},
                               {{"gather_dim", g.dim},
                                {"group_size", call.attr("group_size")},
                                {"group_name", call.attr("group_name")},
                                {"return_A", plan.is_read_beside}});
    CLEAVE_CHECK(b.status());
    at_.resize(graph_.node_capacity(), at_[whole.v]);
    is_returned_.resize(graph_.value_capacity());
    for (size_t k = 0; k < plan.products.size(); ++k) {
      const Product& p = plan.products[k];
      replace(p.value, made[k + 1]);
      for (const NodeId n : {p.view, p.mm, p.flat})
        if (n.valid() && !graph_.node(n).erased && graph_.use_count(graph_.node(n).out(0)) == 0)
          graph_.erase(n);
    }
    if (plan.is_read_beside) replace(g.whole, made[0]);
    return {};
  }

  void replace(ValueId from, ValueId to) {
    names_.emplace_back(to, graph_.name(from));
    is_returned_[to.v] = is_returned_[from.v];
    graph_.replace_uses(from, to);
  }

  Graph& graph_;
  const OpRegistry& ops_;
  std::vector<bool> is_returned_;
  std::vector<size_t> at_;
  std::unordered_map<uint32_t, bool> depends_;  // by node: depends on the current gathered value
  std::vector<std::pair<ValueId, std::string>> names_;
};

Result<PassCount> run(Graph& graph, const OpRegistry& ops) {
  if (has_effect(graph)) return PassCount();
  return Fuser(graph, ops).run();
}

}  // namespace

Pass fuse_all_gather_mm() {
  return {.name = "fuse_all_gather_mm",
          .summary = "matrix products of a gathered value are one call with the gathering",
          .run = run};
}

}  // namespace cleave
