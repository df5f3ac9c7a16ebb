// Replaces consecutive pieces of a value that are joined again by a slice of it.
//
//   cat([z, x[:,2:4], x[:,4:6]]; dim=1)  ->  cat([z, x[:,2:6]]; dim=1)             cat_along
//   cat([x[0:2], x[2:4]]; dim=1)         ->  view(permute(view(x[0:4])))           cat_across
//   stack([x[:,0], x[:,1]]; dim=0)       ->  permute(x[:,0:2]; 1,0)                stack
//
// Pieces are results of split, chunk and unbind, slices, selects, and squeezes and unsqueezes of
// these (piece.h). cat_along merges every run of two or more pieces without a copy, so it pays for
// any length. The others require that all items are pieces of one size: the result is then the
// whole value with a dim moved, at most one copy instead of the join. Pieces in another order, with
// different tags, or of several values are left alone.
#include "op/dims.h"
#include "pass/passes.h"
#include "pass/piece.h"

namespace cleave {
namespace {

// A join's item after merging: a value, or a piece that replaces several items.
struct Item {
  ValueId value;
  std::optional<Piece> piece;
  size_t count = 1;
};

std::vector<Item> merged_items(const Match& m, int64_t dim) {
  const Graph& g = m.graph();
  PieceFinder finder(g, g.node(m.node("join")).tag);
  std::vector<Item> out;
  for (const ValueId v : m.all("item")) {
    std::optional<Piece> p = finder.find(v);
    if (p && (p->drops || p->dim != dim)) p.reset();
    if (p && !out.empty() && out.back().piece && is_followed(g.env(), *out.back().piece, *p)) {
      out.back().piece->stop = p->stop;
      ++out.back().count;
      continue;
    }
    out.push_back({v, p});
  }
  return out;
}

int64_t join_dim(const Match& m) { return from_front(m.integer("dim"), m.type("join").rank()); }

bool merges_along(const Match& m) {
  return merged_items(m, join_dim(m)).size() < m.all("item").size();
}

Values build_along(Builder& b, const Match& m) {
  const int64_t dim = join_dim(m);
  Values values;
  for (const Item& item : merged_items(m, dim))
    values.push_back(item.count > 1 ? narrowed(b, *item.piece) : item.value);
  return {values.size() == 1 ? values[0] : b.cat(values, dim)};
}

// The run that consists of all items, if they are pieces of one size.
std::optional<Piece> run_of_all(const Match& m) {
  const Graph& g = m.graph();
  PieceFinder finder(g, g.node(m.node("join")).tag);
  std::optional<Piece> run;
  Dim size;
  for (const ValueId v : m.all("item")) {
    const std::optional<Piece> p = finder.find(v);
    if (!p) return {};
    if (!run) {
      run = p;
      size = p->stop - p->start;
      continue;
    }
    if (!is_followed(g.env(), *run, *p) || !g.env().provably_equal(p->stop - p->start, size))
      return {};
    run->stop = p->stop;
  }
  return run;
}

// Makes the pieces a dim of their own, at position `to`.
ValueId with_moved_dim(Builder& b, const Piece& run, int64_t count, int64_t to) {
  ValueId v = narrowed(b, run);
  Shape shape = b.type(v).shape;
  if (!run.drops) {
    const Dim size = Dim::floordiv(shape[run.dim], count);
    shape[run.dim] = size;
    shape.insert(shape.begin() + run.dim, Dim(count));
    v = b.view(v, shape);
  }
  if (run.dim == to) return v;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < std::ssize(shape); ++d)
    if (d != run.dim) dims.push_back(d);
  dims.insert(dims.begin() + to, run.dim);
  return b.permute(v, dims);
}

bool merges_all(const Match& m) { return m.all("item").size() > 1 && run_of_all(m).has_value(); }

Values build_stack(Builder& b, const Match& m) {
  return {with_moved_dim(b, *run_of_all(m), std::ssize(m.all("item")), join_dim(m))};
}

Values build_across(Builder& b, const Match& m) {
  const ValueId v = with_moved_dim(b, *run_of_all(m), std::ssize(m.all("item")), join_dim(m));
  return {b.view(v, m.type("join").shape)};
}

Pattern joined(const char* op) {
  return call(op, {each(any("item"))}, {{"dim", bind("dim")}}).named("join");
}

}  // namespace

Pass merge_pieces() {
  return {.name = "merge_pieces",
          .summary = "consecutive pieces of a value that are joined again are a slice of it",
          .rules = {{.name = "cat_along",
                     .search = {joined("cat")},
                     .when = merges_along,
                     .build = build_along},
                    {.name = "cat_across",
                     .search = {joined("cat")},
                     .when = merges_all,
                     .build = build_across},
                    {.name = "stack",
                     .search = {joined("stack")},
                     .when = merges_all,
                     .build = build_stack}}};
}

}  // namespace cleave
