// Moves a sum out of a matrix product if its users can compute it themselves.
//
//   addmm(c, a, b; beta, alpha)  ->  add(alpha * mm(a, b), beta * c)
//
// Applies if all users are elementwise, on a GPU, in f32 or f64 (adds_apart): their kernel adds at
// no cost, and the product needn't read c. Factors of 1 are omitted, and so is c if beta is 0. The
// product is rounded before c is added, so results may differ in the last bit.
// Source: post_grad.py unfuse_bias_add_to_pointwise, PyTorch 2.13; before the cut, like fuse_addmm.
#include "pass/adds_apart.h"
#include "pass/passes.h"

namespace cleave {
namespace {

ValueId scaled(Builder& b, ValueId v, double by) { return by == 1 ? v : b.mul(v, by); }

Values apart(Builder& b, const Match& m) {
  const ValueId product = scaled(b, b.mm(m["a"], m["b"]), m.scalar("alpha"));
  if (m.scalar("beta") == 0) return {product};
  return {b.add(product, scaled(b, m["c"], m.scalar("beta")))};
}

}  // namespace

Pass unfuse_addmm() {
  return {.name = "unfuse_addmm",
          .summary = "a sum goes out of a product where its readers compute it on the way",
          .rules = {{.name = "unfuse",
                     .search = {call("addmm", {any("c"), any("a"), any("b")},
                                     {{"beta", bind("beta")}, {"alpha", bind("alpha")}})},
                     .when = [](const Match& m) { return adds_apart(m.graph(), m.outputs()[0]); },
                     .build = apart,
                     .rounds = true}}};
}

}  // namespace cleave
