// Turns a batched product with a batch of 1 into a plain product.
//
//   bmm(a, b)                          ->  unsqueeze(mm(squeeze(a), squeeze(b)), 0)
//   baddbmm(c, a, b; beta, alpha)      ->  unsqueeze(addmm(squeeze(c), ...; beta, alpha), 0)
//
// The batch must be proven to be 1; c may lack the batch dim. The views cost nothing, and the rules
// for products then apply. Rounding doesn't change: it is the same product of the same sizes.
// Source: joint_graph.py bmm_to_mm, PyTorch 2.13.
#include "pass/passes.h"

namespace cleave {
namespace {

bool has_batch_of_one(const Match& m) {
  const SymEnv& env = m.graph().env();
  return env.provably_equal(m.type("a").shape[0], Dim(1)) &&
         env.provably_equal(m.type("b").shape[0], Dim(1));
}

Values product(Builder& b, const Match& m) {
  const ValueId x = b.squeeze(m["a"], {0}), y = b.squeeze(m["b"], {0});
  return {b.unsqueeze(b.mm(x, y), 0)};
}

Values added(Builder& b, const Match& m) {
  const ValueId c = m.type("c").rank() == 3 ? b.squeeze(m["c"], {0}) : m["c"],
                x = b.squeeze(m["a"], {0}), y = b.squeeze(m["b"], {0});
  const ValueId sum =
      b.call1("addmm", {c, x, y}, {{"beta", m.attr("beta")}, {"alpha", m.attr("alpha")}});
  return {b.unsqueeze(sum, 0)};
}

}  // namespace

Pass bmm_to_mm() {
  const Pattern a = any("a"), b = any("b");
  return {.name = "bmm_to_mm",
          .summary = "a batch of one product becomes a product",
          .rules = {{.name = "product",
                     .search = {call("bmm", {a, b})},
                     .when = has_batch_of_one,
                     .build = product},
                    {.name = "sum",
                     .search = {call("baddbmm", {any("c"), a, b},
                                     {{"beta", bind("beta")}, {"alpha", bind("alpha")}})},
                     .when = has_batch_of_one,
                     .build = added}}};
}

}  // namespace cleave
