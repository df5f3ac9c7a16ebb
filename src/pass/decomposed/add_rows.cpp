// Adds the gradient of a table that has other users into the gradient from those users.
//
//   add(a, embedding_dense_backward(g, i))  ->  index_add(a, i, g; dim=0)
//
// Saves a table of zeros and two passes over it. The order of additions changes. Only for f32 and
// f64, whose partial sums aren't rounded further, for a gradient with no other user, and without
// padding and frequencies.
#include "pass/passes.h"

namespace cleave {
namespace {

bool is_wide(const Type& t) { return t.dtype == DType::f32 || t.dtype == DType::f64; }

bool adds_equal_tables(const Match& m) {
  const Type &y = m.graph().type(m.outputs()[0]), &a = m.type("a"), &t = m.type("t");
  return is_wide(y) && a.dtype == y.dtype && t.dtype == y.dtype && a.shape == y.shape &&
         t.shape == y.shape && m.integer("padding") < 0;
}

Values in_place(Builder& b, const Match& m) {
  const Dim reads = m.type("i").numel(), width = m.type("t").shape[1];
  const ValueId places = b.view(m["i"], {reads}), rows = b.view(m["g"], {reads, width});
  return {b.call1("index_add", {m["a"], places, rows}, {{"dim", 0}})};
}

}  // namespace

Pass add_rows() {
  const Pattern table = call("embedding_dense_backward", {any("g"), any("i")},
                             {{"num_weights", anything()},
                              {"padding_idx", bind("padding")},
                              {"scale_grad_by_freq", false}})
                            .named("t");
  return {.name = "add_rows",
          .summary = "the gradient of a table is added to another row by row",
          .rules = {{.name = "add",
                     .search = {call("add", {any("a"), table}).commutes()},
                     .when = adds_equal_tables,
                     .build = in_place,
                     .rounds = true}}};
}

}  // namespace cleave
