// A batched product of one batch is a product.
//
//   bmm(x [1,m,k], y [1,k,n])  ->  unsqueeze(mm(squeeze(x), squeeze(y)); dim=0)
//
// A product of two dims joins with what is added to it, and is the form that other rules know. The
// sums are the same.
#include "pass/passes.h"

namespace cleave {
namespace {

bool is_one_batch(const Type& t) { return t.shape[0] == Dim(1); }

}  // namespace

Pass bmm_to_mm() {
  return {
      .name = "bmm_to_mm",
      .summary = "a batched product of one batch is a product",
      .rules = {{.name = "one_batch",
                 .search = {call("bmm", {any("x").where(is_one_batch), any("y")})},
                 .build = [](Builder& b, const Match& m) -> Values {
                   return {b.unsqueeze(b.mm(b.squeeze(m["x"], {0}), b.squeeze(m["y"], {0})), 0)};
                 }}}};
}

}  // namespace cleave
