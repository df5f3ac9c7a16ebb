// Replaces the spelled-out gradient of a softmax by one call.
//
//   w = mul(g, y);  sub(w, mul(y, sum(w; dim=[d], keepdim=true)))
//     ->  _softmax_backward_data(g, y; dim=d)
//
// PyTorch's decomposition writes this form. The call subtracts before it multiplies, so rounding
// differs.
#include "pass/passes.h"

namespace cleave {
namespace {

bool is_one_dim(const Match& m) { return m.integers("dim").size() == 1; }

Values joined(Builder& b, const Match& m) {
  return {b.call1("_softmax_backward_data", {m["g"], m["y"]},
                  {{"dim", m.integers("dim")[0]}, {"input_dtype", b.type(m["y"]).dtype}})};
}

bool is_unrounded(const Type& t) { return t.dtype == DType::f32 || t.dtype == DType::f64; }

}  // namespace

Pass join_softmax_backward() {
  const Pattern y = any("y").where(is_unrounded), g = any("g").where(is_unrounded);
  const Pattern weighted = call("mul", {g, y}).commutes();
  const Pattern total = call("sum", {weighted}, {{"dim", bind("dim")}, {"keepdim", true}});
  return {.name = "join_softmax_backward",
          .summary = "the spelled gradient of a softmax becomes one call",
          .rules = {{.name = "join",
                     .search = {call("sub", {weighted, call("mul", {y, total}).commutes()})},
                     .when =
                         [](const Match& m) {
                           return is_one_dim(m) && m.type("g").shape == m.type("y").shape;
                         },
                     .build = joined,
                     .rounds = true}}};
}

}  // namespace cleave
