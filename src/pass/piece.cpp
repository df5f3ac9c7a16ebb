#include "pass/piece.h"

#include <algorithm>

#include "op/window.h"

namespace cleave {
namespace {

bool is_split(const std::string& name) {
  return name == "split_with_sizes" || name == "split" || name == "chunk";
}

Dim size_of(const Piece& p) { return p.stop - p.start; }

// Whether the call is a squeeze that removes the piece's own dim and no other.
bool takes_dim(const OpView& call, const Piece& p) {
  if (p.drops || !(size_of(p) == Dim(1))) return false;
  const Type& x = call.in_type(0);
  if (call.out_type(0).rank() + 1 != x.rank()) return false;
  if (!call.given("dim")) return true;
  const std::vector<int64_t> dims = from_front(call.ints_attr("dim"), x.rank());
  return std::ranges::find(dims, p.dim) != dims.end();
}

}  // namespace

// Avoids OpView, which lists all results: there may be many.
Piece PieceFinder::part_of_split(NodeId n, uint32_t index, bool drops) {
  const Node& node = graph_.node(n);
  const AttrValue* given = node.attrs.find(static_cast<uint16_t>(node.op->schema.find("dim")));
  const int64_t dim =
      from_front(given ? given->get<Dim>()->value() : 0, graph_.type(node.inputs[0]).rank());
  Piece p{node.inputs[0], dim, Dim(index), Dim(index) + Dim(1), drops};
  if (drops) return p;
  const auto size = [&](uint32_t k) { return graph_.type(node.out(k)).shape[dim]; };
  p.start = 0;
  if (n == last_ && last_index_ + 1 == index)
    p.start = last_stop_;
  else
    for (uint32_t k = 0; k < index; ++k) p.start = p.start + size(k);
  p.stop = p.start + size(index);
  last_ = n;
  last_index_ = index;
  last_stop_ = p.stop;
  return p;
}

std::optional<Piece> PieceFinder::find(ValueId v) {
  if (!v.valid()) return {};
  const ValueInfo& info = graph_.value(v);
  if (!info.def.valid() || !(graph_.node(info.def).tag == tag_)) return {};
  const std::string& name = graph_.node(info.def).op->name;
  if (is_split(name) || name == "unbind")
    return part_of_split(info.def, info.index, name == "unbind");
  const bool is_view = name == "slice" || name == "select" || name == "squeeze";
  if (!is_view && name != "unsqueeze") return {};
  const OpView call = graph_.view(info.def);
  if (name == "slice") {
    const Window w = window_of(call);
    if (w.step != 1) return {};
    return Piece{call.in(0), w.dim, w.start, w.start + w.size, false};
  }
  if (name == "select") {
    const Position at = position_at(call);
    return Piece{call.in(0), at.dim, at.index, at.index + Dim(1), true};
  }
  std::optional<Piece> p = find(call.in(0));
  if (!p) return {};
  if (name == "squeeze") {
    if (!takes_dim(call, *p)) return {};
    p->drops = true;
    return p;
  }
  if (!p->drops || from_front(call.int_attr("dim"), call.out_type(0).rank()) != p->dim) return {};
  p->drops = false;
  return p;
}

bool is_followed(const SymEnv& env, const Piece& p, const Piece& next) {
  return p.whole == next.whole && p.dim == next.dim && p.drops == next.drops &&
         env.provably_equal(p.stop, next.start);
}

ValueId narrowed(Builder& b, const Piece& p) {
  const SymEnv& env = b.graph().env();
  const Dim& size = b.type(p.whole).shape[p.dim];
  if (env.provably_equal(p.start, 0) && env.provably_equal(p.stop, size)) return p.whole;
  return b.slice(p.whole, p.dim, p.start, p.stop);
}

}  // namespace cleave
