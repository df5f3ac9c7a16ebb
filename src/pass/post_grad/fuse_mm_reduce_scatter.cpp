// Fuses a matrix product with the reduce-scatter of its parts into one call, which sends rows as
// soon as they are computed.
//
//   wait(reduce_scatter(a @ b))                        ->  fused_matmul_reduce_scatter(a, b;
//                                                          scatter_dim=0)           first_dim
//   wait(reduce_scatter(cat(parts of a @ b along d)))  ->  the same; scatter_dim=d
//                                     chunk, split, split_with_sizes, slice: what makes the parts
//
// a @ b is mm(a, b), or view(mm(view(a), b)) for an `a` of more dims. There are as many parts as
// ranks, equal and in order, concatenated along dim 0. Only for sum and avg. The product and all
// calls in between must have no other user: the fused call doesn't return them. Each element is the
// same sum as before. PyTorch: _inductor/fx_passes/micro_pipeline_tp.py.
#include "op/dims.h"
#include "pass/passes.h"
#include "pass/piece.h"

namespace cleave {
namespace {

Pattern view_of(const Pattern& x) {
  const std::vector<std::string> views = {"view", "_unsafe_view"};
  return either(
      {call(views, {x}, {{"size", anything()}}), call("reshape", {x}, {{"shape", anything()}})});
}

Pattern product() {
  const Pattern a = any("a"), b = any("b");
  const Pattern flat = call("mm", {view_of(a), b});
  return either({view_of(flat).named("product"), call("mm", {a, b}).named("product")});
}

// The parts of the product along a dim, from a call with several results.
Pattern parts(const Pattern& whole, const char* op, const char* sizes) {
  const Pattern split = call(op, {whole}, {{sizes, anything()}, {"dim", anything()}});
  return each(result_of(split).named("part"));
}

Pattern slices(const Pattern& whole) {
  return each(
      call("slice", {whole}, {{"dim", anything()}, {"start", anything()}, {"end", anything()}})
          .named("part"));
}

Pattern scattered(const Pattern& x) {
  return call("wait_tensor", {call("reduce_scatter_tensor", {x},
                                   {{"reduce_op", bind("reduce_op")},
                                    {"group_size", bind("group_size")},
                                    {"group_name", bind("group_name")}})});
}

// Whether the product covers all of a's dims, and the reduction is sum or avg.
bool is_product(const Match& m) {
  const std::string& how = *m.attr("reduce_op").get<std::string>();
  if (how != "sum" && how != "avg") return false;
  Shape shape = m.type("a").shape;
  shape.back() = m.type("b").shape[1];
  return shape == m.type("product").shape &&
         m.graph().env().provably_equal(m.type("a").shape.back(), m.type("b").shape[0]);
}

// Returns the dim along which the parts are cut, if they are the parts of the ranks.
std::optional<int64_t> scatter_dim(const Match& m) {
  const Graph& g = m.graph();
  const Values& all = m.all("part");
  if (std::ssize(all) != m.integer("group_size") || m.integer("cat_dim") != 0) return {};
  PieceFinder finder(g, g.node(g.value(all[0]).def).tag);
  std::optional<int64_t> dim;
  Dim start = 0;
  for (const ValueId part : all) {
    const std::optional<Piece> p = finder.find(part);
    if (!p || p->drops || p->whole != m["product"] || (dim && *dim != p->dim)) return {};
    dim = p->dim;
    const Dim size = g.type(all[0]).shape[static_cast<size_t>(p->dim)];
    if (!g.env().provably_equal(p->start, start) || !g.env().provably_equal(p->stop, start + size))
      return {};
    start = start + size;
  }
  const Dim& whole = m.type("product").shape[static_cast<size_t>(*dim)];
  return g.env().provably_equal(start, whole) ? dim : std::nullopt;
}

Values fused(Builder& b, const Match& m, int64_t dim) {
  return b.call("fused_matmul_reduce_scatter", {m["a"], m["b"]},
                {{"reduce_op", m.attr("reduce_op")},
                 {"scatter_dim", dim},
                 {"group_size", m.attr("group_size")},
                 {"group_name", m.attr("group_name")}});
}

Rule along_dim(const char* name, const Pattern& parts) {
  return {.name = name,
          .search = {scattered(call("cat", {parts}, {{"dim", bind("cat_dim")}}))},
          .when = [](const Match& m) { return is_product(m) && scatter_dim(m).has_value(); },
          .build = [](Builder& b, const Match& m) { return fused(b, m, *scatter_dim(m)); }};
}

}  // namespace

Pass fuse_mm_reduce_scatter() {
  const Pattern whole = product();
  return {.name = "fuse_mm_reduce_scatter",
          .summary = "a matrix product whose parts the ranks reduce is one call",
          .rules = {along_dim("chunk", parts(whole, "chunk", "chunks")),
                    along_dim("split", parts(whole, "split", "split_size")),
                    along_dim("split_with_sizes", parts(whole, "split_with_sizes", "split_sizes")),
                    along_dim("slice", slices(whole)),
                    {.name = "first_dim",
                     .search = {scattered(whole)},
                     .when = is_product,
                     .build = [](Builder& b, const Match& m) { return fused(b, m, 0); }}}};
}

}  // namespace cleave
