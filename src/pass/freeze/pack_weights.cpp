// Puts frozen matrices in the order in which a product reads them; the copy is made once, by what
// fold_frozen takes out of the program.
//
//   mm(x, w)        ->  packed_addmm(x, panels; columns)          w f32[k,n]: a view of a param,
//   addmm(b, x, w)  ->  packed_addmm(x, panels, b; columns)       buffer or const, or made of them
//
//   panels f32[n/32,k,32] = clone(permute(view(constant_pad_nd(w)); dims=[1,0,2]))
//
// Bits are the same. What a product saves is the share of its time in which it would pack w itself:
// 10 cycles for each row of a panel, beside one for each row of x (runtime/gemm_cut.cpp), and more
// where w is transposed or k is a power of two. Measured on a Zen 4 core, times of the product
// without by with (2026-11-25):
//
//   rows of x    1     4     8    16    64   128   256   512  1024
//              3.7   1.6   2.2   1.4   1.1  1.02 to 1.25  1.02  1.01  1.01
//
// Against the memory of a second w, more than most_rows don't pay.
#include <map>

#include "pass/freeze/frozen_values.h"
#include "pass/passes.h"

namespace cleave {
namespace {

constexpr int64_t most_rows = 256;
constexpr int64_t panel = 32;  // packed_addmm

// The operands of a product to pack; x is invalid for any other call.
struct Product {
  ValueId x, w, added;
};

Product product_of(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  Product p;
  if (node.op->name == "mm")
    p = {node.inputs[0], node.inputs[1], {}};
  else if (node.op->name == "addmm")
    p = {node.inputs[1], node.inputs[2], node.inputs[0]};
  else
    return {};
  const Type &x = g.type(p.x), &w = g.type(p.w);
  if (w.dtype != DType::f32 || !x.is_static() || !w.is_static()) return {};
  const bool is_empty =
      x.shape[0].value() == 0 || x.shape[1].value() == 0 || w.numel().value() == 0;
  return is_empty || x.shape[0].value() > most_rows ? Product{} : p;
}

ValueId packed(Builder& b, ValueId w, const Type& t) {
  const int64_t k = t.shape[0].value(), n = t.shape[1].value(), rest = n % panel;
  if (rest > 0)
    w = b.call1("constant_pad_nd", {w}, {{"pad", AttrList{0, panel - rest}}, {"value", 0.0}});
  const ValueId apart = b.view(w, {Dim(k), Dim((n + panel - 1) / panel), Dim(panel)});
  return b.call1("clone", {b.permute(apart, {1, 0, 2})});
}

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  PassCount count;
  const std::vector<bool> frozen = frozen_values(g);
  std::map<ValueId, ValueId> panels;  // by matrix
  for (const NodeId n : g.order()) {
    const Product p = product_of(g, n);
    if (!p.x.valid() || !frozen[p.w.v] || frozen[p.x.v]) continue;
    Builder b(g, ops);
    b.insert_before(n);
    b.set_loc(g.node(n).loc);
    b.set_tag(g.node(n).tag);
    const Type w = g.type(p.w);
    if (!panels.contains(p.w)) panels[p.w] = packed(b, p.w, w);
    const OpView call = g.view(n);
    const bool adds = p.added.valid();
    const ValueId made = b.call1("packed_addmm", {p.x, panels[p.w], p.added},
                                 {{"columns", w.shape[1].value()},
                                  {"beta", adds ? call.float_attr("beta") : 1.0},
                                  {"alpha", adds ? call.float_attr("alpha") : 1.0}});
    CLEAVE_CHECK(b.status());
    const ValueId old = g.node(n).out(0);
    const std::string name = g.name(old);
    g.replace_uses(old, made);
    g.erase(n);
    CLEAVE_CHECK(g.rename(made, name));
    ++count.matches;
    ++count.nodes;
  }
  return count;
}

}  // namespace

Pass pack_weights() {
  return {.name = "pack_weights",
          .summary = "products of few rows read frozen matrices in the order of their sums",
          .run = run};
}

}  // namespace cleave
