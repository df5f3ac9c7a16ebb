// A fold whose operand is computed from memory in another order, and what lies around it, is
// computed in the order of memory:
//
//   %x f32[2,20,12]                                    %x.turned = view(%x; size=[2,20,6,2])
//   %p = permute(%x; dims=[0,2,1])
//   %v = view(%p; size=[2,6,2,20])               ->
//   %m = mean(%v; dim=[2,3], keepdim=true)             %m.turned = mean(%x.turned; dim=[1,3], ...)
//   %d = sub(%v, %m)                                   %d.turned = sub(%x.turned, %m.turned)
//   %y = view(%d; size=[2,12,20])                      %y = view(permute(%d.turned; ...); ...)
//
// as the group norm of an image whose channels lie last. The threads of a GPU read neighbours of
// what they fold: neighbours that lie far apart are a line of memory each. Pointwise calls, folds
// and expands of the same shape go along, forwards and backwards, as far as they reach; what others
// read is seen through views.
//
// Not where more memory would be read and written across its order than along it, nor where
// neighbours are neighbours in memory, for 16 elements. Sums are added up in another order.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "loop/read_orders.h"
#include "op/dims.h"
#include "pass/decomposed/by_element.h"
#include "pass/decomposed/ordered_values.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"

namespace cleave {
namespace {

constexpr int64_t line_elements = 16;  // neighbours that are read as well in pieces
constexpr size_t most_readers = 256;   // that are looked at

bool is_fold(const OpView& op) {
  constexpr std::string_view names[] = {"sum", "mean", "amax", "amin"};
  return std::ranges::find(names, op.name()) != std::end(names);
}

int64_t bytes_of(const Graph& g, ValueId v) {
  return g.type(v).numel().value() * size_of(g.type(v).dtype);
}

bool has_elements(const Type& t) { return !t.is_none && t.is_static() && t.numel().value() > 0; }

// Whether neighbours by number are neighbours in memory.
bool is_along(const Reorder& order) {
  if (order.is_same()) return true;
  const Reorder::Digit& last = order.digits().back();
  return last.to == 1 && last.extent >= line_elements;
}

// The order in which most bytes lie that the fold's operand is computed from, if it is far from
// that of its elements.
std::optional<DimOrder> far_order(const Graph& g, NodeId fold, int64_t least_elements) {
  const OpView op = g.view(fold);
  if (!is_fold(op) || !has_elements(op.in_type(0)) ||
      op.in_type(0).numel().value() < least_elements)
    return std::nullopt;
  std::vector<std::pair<Reorder, int64_t>> bytes;
  for (const MemoryRead& read : memory_reads(g, op.in(0))) {
    const auto known = std::ranges::find(bytes, read.order, &std::pair<Reorder, int64_t>::first);
    if (known != bytes.end())
      known->second += bytes_of(g, read.value);
    else
      bytes.emplace_back(read.order, bytes_of(g, read.value));
  }
  int64_t along = 0, most = 0;
  const Reorder* order = nullptr;
  for (const auto& [read, n] : bytes)
    if (is_along(read))
      along += n;
    else if (n > most)
      most = n, order = &read;
  if (most <= along) return std::nullopt;
  return DimOrder::of(static_shape(op.in_type(0)), *order);
}

// The calls around a fold that are computed in one order.
class Region {
 public:
  Region(const Graph& g, NodeId fold, const DimOrder& order) : g_(g), order_(order) {
    add(fold);
    while (!open_.empty()) {
      const ValueId v = open_.back();
      open_.pop_back();
      if (const NodeId n = g.value(v).def; n.valid()) add(n);
      for (const Use& use : g.uses(v)) add(use.node);
    }
  }
  bool has(NodeId n) const { return calls_.contains(n.v); }

  // Whether at least as many bytes are read and written along the order as across it.
  bool pays() const {
    int64_t along = 0, across = 0;
    const auto count = [&](bool is_along, ValueId v) {
      (is_along ? along : across) += bytes_of(g_, v);
    };
    std::unordered_set<uint32_t> seen;
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n)) {
      if (!has(n)) continue;
      for (const ValueId v : g_.node(n).inputs) {
        if (!is_border(v) || !seen.insert(v.v).second) continue;
        for (const MemoryRead& read : memory_reads(g_, v))
          count(read.order == order_.memory(), read.value);
      }
      for (uint32_t k = 0; k < g_.node(n).output_count; ++k)
        if (order_.is_whole(g_.type(g_.node(n).out(k)))) count_readers(g_.node(n).out(k), count);
    }
    return along >= across;
  }

 private:
  bool is_border(ValueId v) const {
    return v.valid() && order_.is_whole(g_.type(v)) &&
           !(g_.value(v).def.valid() && has(g_.value(v).def));
  }

  // Those outside, through views and what is computed element by element.
  template <class F>
  void count_readers(ValueId result, const F& count) const {
    std::vector<MemoryRead> open = {{result, Reorder(g_.type(result).numel().value())}};
    std::unordered_set<uint32_t> seen = {result.v};
    std::vector<Reorder> known;  // a value is written once for all that read it in one order
    const auto add = [&](const MemoryRead& at) {
      if (std::ranges::find(known, at.order) != known.end()) return;
      known.push_back(at.order);
      count(at.order.inverse() == order_.memory(), at.value);
    };
    for (size_t k = 0; k < open.size(); ++k) {
      const MemoryRead at = open[k];
      if (is_returned(at.value)) add(at);
      for (const Use& use : g_.uses(at.value)) {
        if (has(use.node)) continue;
        const Node& reader = g_.node(use.node);
        const ValueId y = reader.out(0);
        std::optional<Reorder> order = at.order;
        if (is_static_view(g_, use.node)) {
          const std::optional<Reorder> view = order_of_view(g_, use.node);
          order = view ? view->then(at.order) : std::nullopt;
        } else if (reader.op->name == "clone" || !is_by_element(g_.view(use.node)) ||
                   !has_elements(g_.type(y)) || g_.type(y).numel() != g_.type(at.value).numel() ||
                   open.size() >= most_readers) {
          add(at);
          continue;
        }
        if (order && seen.insert(y.v).second) open.push_back({y, *order});
      }
    }
  }
  bool is_returned(ValueId v) const {
    return std::ranges::any_of(g_.returns(), [&](const Return& r) { return r.value == v; });
  }

  // A clone is there to lie in memory.
  bool goes_along(NodeId n) const {
    const Node& node = g_.node(n);
    const OpView op = g_.view(n);
    const bool folds = is_fold(op);
    if (!folds && op.name() != "expand" && (op.name() == "clone" || !is_by_element(op)))
      return false;
    const int64_t rank = std::ssize(order_.shape());
    const auto fits = [&](ValueId v) {
      return has_elements(g_.type(v)) && order_.fits(g_.type(v));
    };
    for (const ValueId v : node.inputs)
      if (v.valid() && !fits(v)) return false;
    if (folds) return g_.type(node.inputs[0]).rank() == rank;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (!fits(node.out(k)) || g_.type(node.out(k)).rank() != rank) return false;
    return true;
  }

  void add(NodeId n) {
    if (calls_.contains(n.v) || !goes_along(n)) return;
    calls_.insert(n.v);
    const Node& node = g_.node(n);
    for (const ValueId v : node.inputs)
      if (v.valid() && order_.is_whole(g_.type(v)) && reached_.insert(v.v).second)
        open_.push_back(v);
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (const ValueId v = node.out(k);
          g_.type(v).rank() == std::ssize(order_.shape()) && reached_.insert(v.v).second)
        open_.push_back(v);
  }

  const Graph& g_;
  const DimOrder& order_;
  std::unordered_set<uint32_t> calls_, reached_;
  Values open_;
};

Values turned_call(Builder& b, NodeId n, const DimOrder& order, OrderedValues& values) {
  const Node& node = b.graph().node(n);
  const OpView op = b.graph().view(n);
  if (is_fold(op)) {
    NamedAttrs attrs = {{"dim", order.dims_in_memory(reduction_dims(op))}, {"keepdim", true}};
    if (op.def().schema.find("dtype") >= 0 && op.given("dtype"))
      attrs.emplace_back("dtype", op.attr("dtype"));
    return {b.call1(op.name(), {values.turned(op.in(0))}, std::move(attrs))};
  }
  if (op.name() == "expand")
    return {b.expand(values.turned(op.in(0)), order.in_memory(op.out_type(0).shape))};
  Values inputs;
  for (const ValueId v : node.inputs) inputs.push_back(values.turned(v));
  if (!b.status().ok()) return {};
  Attrs attrs = node.attrs;
  if (const int format = op.def().schema.find("memory_format"); format >= 0)
    attrs.erase(static_cast<uint16_t>(format));
  return b.copy(node, std::move(inputs), std::move(attrs));
}

Status turn(Builder& b, NodeId n, const DimOrder& order, OrderedValues& values) {
  Graph& g = b.graph();
  b.insert_before(n);
  b.set_loc(g.node(n).loc);
  b.set_tag(g.node(n).tag);
  const Values made = turned_call(b, n, order, values);
  CLEAVE_CHECK(b.status());
  std::vector<std::pair<ValueId, std::string>> named;
  for (uint32_t k = 0; k < g.node(n).output_count; ++k) {
    const ValueId v = g.node(n).out(k);
    const std::string name = g.name(v);
    CLEAVE_CHECK(g.rename(made[k], g.fresh_name(name + ".turned")));
    named.emplace_back(values.put(v, made[k]), name);
    CLEAVE_CHECK(b.status());
  }
  g.erase(n);
  for (const auto& [v, name] : named) CLEAVE_CHECK(g.rename(v, name));
  return {};
}

Result<PassCount> turn_all(Graph& g, const OpRegistry& ops, int64_t least_elements) {
  PassCount count;
  for (const NodeId fold : g.order()) {
    if (g.node(fold).erased) continue;
    const std::optional<DimOrder> order = far_order(g, fold, least_elements);
    if (!order) continue;
    const Region region(g, fold, *order);
    if (!region.pays()) continue;
    Builder b(g, ops);
    OrderedValues values(b, *order);
    for (const NodeId n : g.order()) {
      if (!region.has(n)) continue;
      CLEAVE_CHECK(turn(b, n, *order, values));
      ++count.nodes;
    }
    ++count.matches;
  }
  return count;
}

}  // namespace

Pass turn_folds() {
  Pass pass{.name = "turn_folds",
            .summary = "folds, and what lies around them, in the order of memory",
            .rounds = true};
  pass.settings = {{"least_elements", 1 << 15, 1, "of what is folded"}};
  pass.make_run = [](const std::vector<PassSetting>& settings) -> Pass::Run {
    return [least = setting(settings, "least_elements")](Graph& g, const OpRegistry& ops) {
      return turn_all(g, ops, least);
    };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

}  // namespace cleave
