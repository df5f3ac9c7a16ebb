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
// dtype.
#include <algorithm>

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

bool selects_item(const Match& m) {
  return takes_stacked_dim(m) && position_at(m.call("cut")).index.is_const();
}

// ---- slice of a cat

struct Inside {
  size_t item = 0;
  Dim start;
};

struct Stripe {
  int64_t start, size;
};

// For items of static size, without symbolic arithmetic: there may be thousands, for each of
// thousands of slices. nullopt: an item of unknown size precedes the slice.
std::optional<std::optional<Inside>> inside_static(const Graph& g, const Values& items,
                                                   int64_t rank, int64_t dim, Stripe at) {
  for (size_t k = 0; k < items.size(); ++k) {
    const Type& t = g.type(items[k]);
    if (t.rank() != rank) return std::optional<Inside>();
    const Dim& size = t.shape[static_cast<size_t>(dim)];
    if (!size.is_const()) return std::nullopt;
    if (at.start < 0) return std::optional<Inside>();
    if (at.start + at.size <= size.value()) return std::optional(Inside{k, Dim(at.start)});
    at.start -= size.value();
  }
  return std::optional<Inside>();
}

// Returns the item that contains the slice, and the position in it.
std::optional<Inside> inside_item(const Match& m) {
  const Graph& g = m.graph();
  const int64_t dim = dim_of(m, "join"), rank = m.type("join").rank();
  const Window w = window_of(m.call("cut"));
  if (w.dim != dim || w.step != 1) return {};
  const Values& items = m.all("item");
  if (w.start.is_const() && w.size.is_const())
    if (const auto found = inside_static(g, items, rank, dim, {w.start.value(), w.size.value()}))
      return *found;
  Dim start = w.start;
  for (size_t k = 0; k < items.size(); ++k) {
    const Type& t = g.type(items[k]);
    if (t.rank() != rank || g.env().range_of(start).lo < 0) return {};
    const Dim& size = t.shape[dim];
    if (g.env().range_of(size - start - w.size).lo >= 0) return Inside{k, start};
    start = start - size;
  }
  return {};
}

Values build_slice(Builder& b, const Match& m) {
  const Inside in = *inside_item(m);
  const Window w = window_of(m.call("cut"));
  const ValueId item = m.all("item")[in.item];
  if (b.graph().env().provably_equal(b.type(item).shape[w.dim], w.size)) return {item};
  return {b.slice(item, w.dim, in.start, in.start + w.size)};
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
           .search = {call("select", {join("stack").shared()},
                           {{"dim", bind("dim")}, {"index", anything()}})
                          .named("cut")},
           .when = selects_item,
           .build = [](Builder&, const Match& m) -> Values {
             return {m.all("item")[static_cast<size_t>(position_at(m.call("cut")).index.value())]};
           }},
          {.name = "slice_cat",
           .search = {call("slice", {join("cat").shared()},
                           {{"dim", anything()},
                            {"start", anything()},
                            {"end", anything()},
                            {"step", anything()}})
                          .named("cut")},
           .when = [](const Match& m) { return keeps_dtype(m) && inside_item(m).has_value(); },
           .build = build_slice}}};
}

}  // namespace cleave
