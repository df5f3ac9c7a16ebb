// Fuses a sum onto a matrix product into the product.
//
//   add(mm(a, b), c)  ->  addmm(c, a, b)      c broadcasts to the product, which broadcasts to
//                                             nothing larger, and has its dtype
//
// The product has no other user. The sum is added before the only rounding to the result's dtype,
// so results may differ in the last bit. Doesn't apply where the sum is better left to its users
// (adds_apart); there unfuse_addmm splits addmm.
// Source: post_grad.py addmm, PyTorch 2.13. Here the pass runs before the cut: the sum's bits must
// not depend on what is recomputed.
#include "pass/adds_apart.h"
#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

bool fuses(const Match& m) {
  const ValueId y = m.outputs()[0];
  return has_same_type(m.graph(), m["product"], y) &&
         m.type("c").dtype == m.type("product").dtype &&
         m.type("c").device == m.type("product").device &&
         broadcasts_to(m.graph(), m.type("c").shape, m.type("product").shape) &&
         !adds_apart(m.graph(), y);
}

}  // namespace

Pass fuse_addmm() {
  const Pattern product = call("mm", {any("a"), any("b")}).named("product");
  return {.name = "fuse_addmm",
          .summary = "a sum onto a matrix product goes into the product",
          .rules = {{.name = "fuse",
                     .search = {call("add", {product, any("c")}).commutes()},
                     .when = fuses,
                     .build = [](Builder& b, const Match& m) -> Values {
                       return {b.call1("addmm", {m["c"], m["a"], m["b"]})};
                     },
                     .rounds = true}}};
}

}  // namespace cleave
