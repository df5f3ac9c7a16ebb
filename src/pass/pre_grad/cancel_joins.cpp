// Replaces pieces taken out of a join by the join's operands.
//
//   split(cat([a, b, c]; d); [a's, b's and c's], d)  ->  a, cat([b, c]; d)     split_cat
//   unbind(stack([a, b]; d); d)                      ->  a, b                  unbind_stack
//   unbind(tanh(stack([a, b]; d)); d)                ->  tanh(a), tanh(b)      unbind_pointwise
//   select(stack([a, b]; d); d, 1)                   ->  b                     select_stack
//   slice(cat([a, b]; d); d, inside b)               ->  slice(b)              slice_cat
//
// split_cat: each part must consist of whole items, or each item of whole parts, which then become
// a split of it; it and unbind_pointwise need a join with no other user. Items must have the join's
// dtype. Time is linear in items and cuts.
#include <algorithm>
#include <unordered_map>

#include "op/window.h"
#include "pass/passes.h"

namespace cleave {
namespace {

int64_t dim_of(const Match& m, std::string_view join) {
  return from_front(m.call(join).int_attr("dim"), m.type(join).rank());
}

bool keeps_dtype(const Match& m) {
  return std::ranges::all_of(
      m.all("item"), [&](ValueId v) { return m.graph().type(v).dtype == m.type("join").dtype; });
}

// ---- split of a cat

// Items and parts that cover the same range; there is one item or one part.
struct Stretch {
  size_t item, items, part, parts;
};

std::vector<Stretch> common_stretches(const Match& m) {
  const Graph& g = m.graph();
  const int64_t dim = dim_of(m, "join");
  const Values &items = m.all("item"), &parts = m.outputs();
  const auto size = [&](ValueId v) { return g.type(v).shape[dim]; };
  std::vector<Stretch> out;
  for (size_t i = 0, p = 0; i < items.size() || p < parts.size();) {
    if (i == items.size() || p == parts.size()) return {};
    Stretch s{i, 1, p, 1};
    Dim ahead = size(items[i++]) - size(parts[p++]);  // size of items minus size of parts so far
    while (!g.env().provably_equal(ahead, 0)) {
      const DimRange range = g.env().range_of(ahead);
      if (range.lo > 0 && p < parts.size()) {
        ++s.parts;
        ahead = ahead - size(parts[p++]);
      } else if (range.hi < 0 && i < items.size()) {
        ++s.items;
        ahead = ahead + size(items[i++]);
      } else {
        return {};
      }
      if (s.items > 1 && s.parts > 1) return {};
    }
    out.push_back(s);
  }
  return out;
}

bool cancels_split(const Match& m) {
  const int64_t rank = m.type("join").rank();
  return keeps_dtype(m) && dim_of(m, "join") == from_front(m.integer("dim"), rank) &&
         std::ranges::all_of(m.all("item"),
                             [&](ValueId v) { return m.graph().type(v).rank() == rank; }) &&
         !common_stretches(m).empty();
}

Values build_stretches(Builder& b, const Match& m) {
  const int64_t dim = dim_of(m, "join");
  const Values &items = m.all("item"), &parts = m.outputs();
  Values out;
  for (const Stretch& s : common_stretches(m)) {
    const auto first = items.begin() + static_cast<int64_t>(s.item);
    if (s.parts == 1) {
      const Values one(first, first + static_cast<int64_t>(s.items));
      out.push_back(one.size() == 1 ? one[0] : b.cat(one, dim));
      continue;
    }
    Shape sizes;
    for (size_t p = s.part; p < s.part + s.parts; ++p) sizes.push_back(b.type(parts[p]).shape[dim]);
    const Values cut = b.call("split_with_sizes", {*first}, {{"split_sizes", sizes}, {"dim", dim}});
    out.insert(out.end(), cut.begin(), cut.end());
  }
  return out;
}

// ---- unbind and select of a stack

bool takes_stacked_dim(const Match& m) {
  return keeps_dtype(m) && dim_of(m, "join") == from_front(m.integer("dim"), m.type("join").rank());
}

Values build_pointwise(Builder& b, const Match& m) {
  const std::string op = m.call("pointwise").name();
  Values out;
  for (const ValueId v : m.all("item")) out.push_back(b.call1(op, {v}));
  return out;
}

// The call of `op` that makes the value which is cut, under the cut's tag. Its items aren't
// matched: there may be thousands, for each of thousands of cuts.
const Node* cut_join(const Match& m, std::string_view op) {
  const Graph& g = m.graph();
  const NodeId n = g.value(m["join"]).def;
  if (!n.valid() || g.node(n).op->name != op || !(g.node(n).tag == g.node(m.node("cut")).tag))
    return nullptr;
  return &g.node(n);
}

int64_t joined_dim(const Match& m, const Node& join) {
  const AttrValue* given = join.attrs.find(static_cast<uint16_t>(join.op->schema.find("dim")));
  return from_front(given ? given->get<Dim>()->value() : 0, m.type("join").rank());
}

std::optional<ValueId> selected_item(const Match& m) {
  const Node* join = cut_join(m, "stack");
  if (!join) return {};
  const Position at = position_at(m.call("cut"));
  if (at.dim != joined_dim(m, *join) || !at.index.is_const()) return {};
  const ValueId item = join->inputs[static_cast<size_t>(at.index.value())];
  return m.graph().type(item).dtype == m.type("join").dtype ? std::optional(item) : std::nullopt;
}

// ---- slice of a cat

struct Inside {
  ValueId item;
  Dim start;
};

// Where the items of a cat end, up to the first whose size is unknown or that has another rank.
using ItemEnds = std::unordered_map<uint32_t, std::vector<int64_t>>;

const std::vector<int64_t>& item_ends(const Match& m, const Node& join, int64_t dim) {
  if (!m.memo().has_value()) m.memo() = ItemEnds();
  const auto [it, is_new] =
      std::any_cast<ItemEnds&>(m.memo()).try_emplace(m.node("join").v, std::vector<int64_t>());
  if (!is_new) return it->second;
  int64_t end = 0;
  for (const ValueId item : join.inputs) {
    const Type& t = m.graph().type(item);
    if (t.rank() != m.type("join").rank() || !t.shape[static_cast<size_t>(dim)].is_const()) break;
    it->second.push_back(end += t.shape[static_cast<size_t>(dim)].value());
  }
  return it->second;
}

std::optional<Inside> inside_symbolic(const Match& m, const Node& join, const Window& w) {
  const Graph& g = m.graph();
  Dim start = w.start;
  for (const ValueId item : join.inputs) {
    const Type& t = g.type(item);
    if (t.rank() != m.type("join").rank() || g.env().range_of(start).lo < 0) return {};
    const Dim& size = t.shape[static_cast<size_t>(w.dim)];
    if (g.env().range_of(size - start - w.size).lo >= 0) return Inside{item, start};
    start = start - size;
  }
  return {};
}

// Returns the item that contains the slice, and the position in it.
std::optional<Inside> inside_item(const Match& m) {
  const Node* join = cut_join(m, "cat");
  if (!join) return {};
  const Window w = window_of(m.call("cut"));
  if (w.dim != joined_dim(m, *join) || w.step != 1) return {};
  std::optional<Inside> found;
  const std::vector<int64_t>& ends = item_ends(m, *join, w.dim);
  if (w.start.is_const() && w.size.is_const()) {
    const int64_t start = w.start.value();
    const auto end = std::ranges::lower_bound(ends, start + w.size.value());
    if (end == ends.end() && ends.size() == join->inputs.size()) return {};
    const int64_t begin = end == ends.begin() ? 0 : *std::prev(end);
    if (end != ends.end() && start < begin) return {};
    if (end != ends.end())
      found = Inside{join->inputs[static_cast<size_t>(end - ends.begin())], Dim(start - begin)};
  }
  if (!found) found = inside_symbolic(m, *join, w);
  const bool keeps = found && m.graph().type(found->item).dtype == m.type("join").dtype;
  return keeps ? found : std::nullopt;
}

Values build_slice(Builder& b, const Match& m) {
  const Inside in = *inside_item(m);
  const Window w = window_of(m.call("cut"));
  if (b.graph().env().provably_equal(b.type(in.item).shape[static_cast<size_t>(w.dim)], w.size))
    return {in.item};
  return {b.slice(in.item, w.dim, in.start, in.start + w.size)};
}

}  // namespace

Pass cancel_joins() {
  const auto join = [](const char* op) {
    return call(op, {each(any("item"))}, {{"dim", anything()}}).named("join");
  };
  const AttrTests dim = {{"dim", bind("dim")}};
  const Pattern pointwise =
      call({"tanh", "relu", "sigmoid", "exp", "neg"}, {join("stack")}).named("pointwise");
  return {
      .name = "cancel_joins",
      .summary = "what is taken out of a join is what went into it",
      .rules = {
          {.name = "split_cat",
           .search = {results(call("split_with_sizes", {join("cat")},
                                   {{"split_sizes", anything()}, {"dim", bind("dim")}}))},
           .when = cancels_split,
           .build = build_stretches},
          {.name = "unbind_stack",
           .search = {results(call("unbind", {join("stack").shared()}, dim))},
           .when = takes_stacked_dim,
           .build = [](Builder&, const Match& m) -> Values { return m.all("item"); }},
          {.name = "unbind_pointwise",
           .search = {results(call("unbind", {pointwise}, dim))},
           .when = takes_stacked_dim,
           .build = build_pointwise},
          {.name = "select_stack",
           .search = {call("select", {any("join")}, {{"dim", anything()}, {"index", anything()}})
                          .named("cut")},
           .when = [](const Match& m) { return selected_item(m).has_value(); },
           .build = [](Builder&, const Match& m) -> Values { return {*selected_item(m)}; }},
          {.name = "slice_cat",
           .search = {call("slice", {any("join")},
                           {{"dim", anything()},
                            {"start", anything()},
                            {"end", anything()},
                            {"step", anything()}})
                          .named("cut")},
           .when = [](const Match& m) { return inside_item(m).has_value(); },
           .build = build_slice}}};
}

}  // namespace cleave
