#include "remat/split_updates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "cut/joint_view.h"
#include "ir/builder.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

// A constructor names its whole size.
constexpr Trait never =
    Trait::random | Trait::effect | Trait::collective | Trait::data_dependent | Trait::constructor;

// The calls that compute updates from products, row by row.
class Region {
 public:
  Region(const Graph& g, const std::vector<size_t>& position) : g_(g), position_(position) {
    for (const Return& r : g.returns())
      (r.kind == ReturnKind::update ? updates_ : kept_).insert(r.value);
  }

  // All calls that read what `product` makes, up to updates, and what is only made for them; false
  // if one of them doesn't work row by row, or something else needs what they make.
  bool grow(NodeId product) {
    const Type& t = g_.type(g_.node(product).out(0));
    if (t.rank() != 2 || !t.is_static()) return false;
    rows_ = t.shape[0].value();
    if (!is_by_rows(product)) return false;
    nodes_.assign(1, product);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!add_readers(nodes_[i])) return false;
      add_makers(nodes_[i]);
    }
    std::ranges::sort(nodes_, {}, [&](NodeId n) { return position_[n.v]; });
    return !results().empty();
  }

  int64_t rows() const { return rows_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }
  bool contains(NodeId n) const { return std::ranges::find(nodes_, n) != nodes_.end(); }
  // Whether the call reads only a piece's rows of this operand for a piece.
  bool is_split(NodeId n, uint32_t operand) const {
    const OpView op = g_.view(n);
    const ValueId v = g_.node(n).inputs[operand];
    if (!v.valid() || !has_rows(v)) return false;
    if (op.name() == "mm" || op.name() == "index_add") return operand == 0;
    return op.name() != "embedding_dense_backward" && g_.type(v).rank() == op.out_type(0).rank();
  }
  Values results() const {
    Values out;
    for (const NodeId n : nodes_)
      for (uint32_t k = 0; k < g_.node(n).output_count; ++k)
        if (updates_.contains(g_.node(n).out(k))) out.push_back(g_.node(n).out(k));
    return out;
  }

 private:
  bool has_rows(ValueId v) const {
    const Type& t = g_.type(v);
    return !t.is_none && t.rank() > 0 && t.is_static() && t.shape[0].value() == rows_;
  }

  bool add_readers(NodeId n) {
    for (uint32_t k = 0; k < g_.node(n).output_count; ++k) {
      const ValueId v = g_.node(n).out(k);
      if (!has_rows(v) || kept_.contains(v)) return false;
      if (g_.use_count(v) == 0 && !updates_.contains(v)) return false;
      for (const Use& use : g_.uses(v))
        if (!is_split(use.node, use.operand) || (!contains(use.node) && !add(use.node)))
          return false;
    }
    return true;
  }

  // What only this call reads, row by row, and is made so, is made with it.
  void add_makers(NodeId n) {
    for (uint32_t k = 0; k < g_.node(n).inputs.size(); ++k) {
      const ValueId v = g_.node(n).inputs[k];
      if (!is_split(n, k) || !g_.value(v).def.valid() || g_.use_count(v) != 1) continue;
      const NodeId maker = g_.value(v).def;
      if (kept_.contains(v) || updates_.contains(v) || contains(maker)) continue;
      if (g_.node(maker).output_count == 1 && is_by_rows(maker)) nodes_.push_back(maker);
    }
  }

  bool add(NodeId n) {
    if (!is_by_rows(n)) return false;
    nodes_.push_back(n);
    return true;
  }

  bool is_by_rows(NodeId n) const {
    const OpView op = g_.view(n);
    if (op.name() == "mm") return has_rows(g_.node(n).out(0));
    if (op.name() == "index_add" || op.name() == "embedding_dense_backward")
      return adds_rows(op, n);
    const Trait traits = traits_of(g_.node(n));
    if (!has(traits, Trait::pointwise) || has(traits, never)) return false;
    const auto rank = static_cast<size_t>(g_.type(g_.node(n).out(0)).rank());
    return std::ranges::all_of(g_.node(n).inputs, [&](ValueId v) {
      return !v.valid() || std::cmp_less(g_.type(v).rank(), rank) || has_rows(v) ||
             g_.type(v).shape[0] == Dim(1);
    });
  }

  bool adds_rows(const OpView& op, NodeId n) const {
    const bool is_add = op.name() == "index_add";
    if (!has_rows(g_.node(n).out(0))) return false;
    if (is_add && op.int_attr("dim") != 0) return false;
    if (!is_add && (op.int_attr("padding_idx") >= 0 || op.bool_attr("scale_grad_by_freq")))
      return false;
    return g_.type(op.in(1)).is_static() && is_checked(op.in(1));
  }

  // Whether an embedding of as many rows reads the same indices.
  bool is_checked(ValueId index) const {
    const ValueId base = base_of(index);
    return std::ranges::any_of(g_.order(), [&](NodeId n) {
      const OpView op = g_.view(n);
      return op.name() == "embedding" && base_of(op.in(1)) == base &&
             op.in_type(0).shape[0] == Dim(rows_);
    });
  }
  // What it is a view of, of all elements.
  ValueId base_of(ValueId v) const {
    while (g_.value(v).def.valid() && has(g_.node(g_.value(v).def).op->traits, Trait::view)) {
      const ValueId whole = g_.node(g_.value(v).def).inputs[0];
      if (!g_.type(v).is_static() || g_.type(v).numel() != g_.type(whole).numel()) break;
      v = whole;
    }
    return v;
  }

  const Graph& g_;
  const std::vector<size_t>& position_;
  std::set<ValueId> updates_, kept_;
  std::vector<NodeId> nodes_;
  int64_t rows_ = 0;
};

// Writes the graph of a piece: `rows` of the region's.
class PieceWriter {
 public:
  PieceWriter(Graph& outer, const OpRegistry& ops, const Region& region, int64_t pieces)
      : outer_(outer), region_(region), pieces_(pieces), rows_(region.rows() / pieces),
        body_(fmt::format("{}.{}", outer.name(), outer.name(region.results()[0]))), b_(body_, ops) {
  }

  Result<GraphRef> write() {
    for (const NodeId n : region_.nodes()) {
      const Node& node = outer_.node(n);
      CLEAVE_TRY(const Values made, calls_of(n));
      CLEAVE_CHECK(b_.status());
      for (size_t k = 0; k < made.size(); ++k) map_[node.out(static_cast<uint32_t>(k))] = made[k];
    }
    for (const ValueId v : region_.results())
      body_.add_return({map_.at(v), ReturnKind::result, {}});
    return std::make_shared<const Graph>(std::move(body_));
  }
  const Values& operands() const { return operands_; }
  const std::vector<int64_t>& split() const { return split_; }

 private:
  Result<Values> calls_of(NodeId n) {
    const Node& node = outer_.node(n);
    const OpView op = outer_.view(n);
    if (op.name() == "index_add")
      return rows_added(op, op.in(0), op.in(1), op.in(2), op.attr("alpha"));
    if (op.name() == "embedding_dense_backward")
      return rows_added(op, {}, op.in(1), op.in(0), AttrValue(int64_t{1}));
    Values inputs;
    for (uint32_t k = 0; k < node.inputs.size(); ++k) {
      CLEAVE_TRY(inputs.emplace_back(), handed(node.inputs[k], !region_.is_split(n, k)));
    }
    return b_.copy(node, std::move(inputs), node.attrs);
  }

  // Rows of this piece lie behind a row for the indices below it, and before one for those above.
  Result<Values> rows_added(const OpView& op, ValueId to, ValueId index, ValueId source,
                            const AttrValue& alpha) {
    const Type& t = op.out_type(0);
    CLEAVE_TRY(ValueId i, handed(index, true));
    CLEAVE_TRY(ValueId rows, handed(source, true));
    CLEAVE_TRY(const ValueId begin, begin_of_piece());
    const Dim columns = t.shape[1], all = outer_.type(index).numel();
    i = b_.convert(b_.view(i, {all}), DType::i64);
    rows = b_.view(rows, {all, columns});
    i = b_.call1("clamp", {b_.sub(b_.add(i, 1), begin), 0, AttrValue(rows_ + 1)});
    ValueId into;
    if (to.valid()) {
      CLEAVE_TRY(const ValueId from, handed(to, false));
      const ValueId spare = b_.full({Dim(1), columns}, 0, t.dtype);
      const ValueId spare2 = b_.full({Dim(1), columns}, 0, t.dtype);
      into = b_.cat({spare, from, spare2}, 0);
    } else {
      into = b_.full({Dim(rows_ + 2), columns}, 0, t.dtype);
    }
    const ValueId sum =
        b_.call1("index_add", {into, i, rows}, {{"dim", AttrValue(int64_t{0})}, {"alpha", alpha}});
    return Values{b_.slice(sum, 0, Dim(1), Dim(rows_ + 1))};
  }

  // An i64[1]: the number of rows before the piece.
  Result<ValueId> begin_of_piece() {
    if (begin_.valid()) return begin_;
    Builder b(outer_, b_.ops());
    b.insert_before(region_.nodes().back());
    const ValueId begins = b.call1("arange", {},
                                   {{"start", AttrValue(int64_t{0})},
                                    {"end", AttrValue(region_.rows())},
                                    {"step", AttrValue(rows_)},
                                    {"dtype", AttrValue(DType::i64)}});
    CLEAVE_CHECK(b.status());
    CLEAVE_TRY(begin_, placeholder(begins, true));
    return begin_;
  }

  // What a call of the body reads: a value of the body, or an operand of it.
  Result<ValueId> handed(ValueId v, bool whole) {
    if (!v.valid()) return v;
    if (const auto made = map_.find(v); made != map_.end()) return made->second;
    const auto key = std::pair(v, whole);
    if (const auto known = handed_.find(key); known != handed_.end()) return known->second;
    CLEAVE_TRY(handed_[key], placeholder(v, !whole));
    return handed_[key];
  }
  Result<ValueId> placeholder(ValueId v, bool split) {
    Type t = outer_.type(v);
    t.strides.reset();
    if (split) t.shape[0] = Dim(t.shape[0].value() / pieces_);
    operands_.push_back(v);
    split_.push_back(split);
    return body_.add_placeholder(Role::input, fmt::format("operand{}", operands_.size() - 1),
                                 std::move(t));
  }

  Graph& outer_;
  const Region& region_;
  const int64_t pieces_, rows_;  // pieces, and rows of each
  Graph body_;
  Builder b_;
  std::map<ValueId, ValueId> map_;                      // of the region's values
  std::map<std::pair<ValueId, bool>, ValueId> handed_;  // whole or split
  ValueId begin_;
  Values operands_;
  std::vector<int64_t> split_;
};

// The most equal pieces, at most `most`; 1: it has no such divisor.
int64_t pieces_of(int64_t rows, int64_t most) {
  for (int64_t pieces = std::min(most, rows / 2); pieces > 1; --pieces)
    if (rows % pieces == 0) return pieces;
  return 1;
}

Status replace(Graph& graph, const OpRegistry& ops, const Region& region, int64_t pieces) {
  PieceWriter writer(graph, ops, region, pieces);
  CLEAVE_TRY(const GraphRef body, writer.write());
  Builder b(graph, ops);
  b.insert_before(region.nodes().back());
  const Values results = region.results();
  std::vector<std::string> names;
  for (const ValueId v : results) names.push_back(graph.name(v) + ".rows");
  b.name_next(names);
  const Values made = b.call("by_rows", {CallOperand(std::vector<ValueId>(writer.operands()))},
                             {{"body", AttrValue(body)},
                              {"split", AttrValue(writer.split())},
                              {"pieces", AttrValue(pieces)}});
  CLEAVE_CHECK(b.status());
  for (size_t k = 0; k < results.size(); ++k) graph.replace_uses(results[k], made[k]);
  for (auto n = region.nodes().rbegin(); n != region.nodes().rend(); ++n) graph.erase(*n);
  return {};
}

}  // namespace

Result<int> split_updates(Graph& graph, const OpRegistry& ops, const SplitRows& options) {
  std::vector<size_t> position(graph.node_capacity());
  std::vector<NodeId> products;
  for (size_t i = 0; const NodeId n : graph.order()) {
    position[n.v] = i++;
    const std::string& name = graph.node(n).op->name;
    if ((name == "mm" || name == "embedding_dense_backward") &&
        hint_bytes_of(graph, graph.node(n).out(0)) >= std::max<int64_t>(options.least_bytes, 1))
      products.push_back(n);
  }
  int count = 0;
  for (const NodeId product : products) {
    if (graph.node(product).erased) continue;
    Region region(graph, position);
    if (!region.grow(product)) continue;
    const int64_t pieces = pieces_of(region.rows(), options.most_pieces);
    if (pieces < 2) continue;
    CLEAVE_CHECK(replace(graph, ops, region, pieces));
    ++count;
  }
  return count;
}

}  // namespace cleave
