// What is added to a product goes into it.
//
//   add(mm(a, b), c)         ->  addmm(c, a, b)      addmm
//   add(mm(a, b), mm(c, d))  ->  addmm(mm(c, d), a, b)     of products of equal shapes: join_products
//
// The product starts from what is added, in registers: a pass over the result less. c has two dims;
// a bias of one is left to the readers of the product, with which it joins. Products of float64 and float32 alone: half is rounded between the two.
#include "pass/passes.h"

namespace cleave {
namespace {

bool is_unrounded(const Type& t) { return t.dtype == DType::f32 || t.dtype == DType::f64; }

bool has_the_products_type(const Match& m) {
  const Type &c = m.type("c"), &y = m.type("y");
  return c.dtype == y.dtype && c.shape == y.shape && y.rank() == 2;
}

// A number for each row or for all, or the product's shape.
bool goes_into(const Match& m) {
  const Type &c = m.type("c"), &y = m.type("y"), &a = m.type("a"), &b = m.type("b");
  const bool is_whole = y.shape == Shape{a.shape[0], b.shape[1]};
  if (!is_whole || c.dtype != y.dtype || c.rank() != 2) return false;
  return (c.shape[0] == y.shape[0] || c.shape[0] == Dim(1)) &&
         (c.shape[1] == y.shape[1] || c.shape[1] == Dim(1));
}

}  // namespace

Pass fuse_addmm() {
  const Pattern a = any("a").where(is_unrounded), b = any("b");
  const Pattern product = call("mm", {a, b}), other = call("mm", {any("p"), any("q")});
  const auto started = [](Builder& build, const Match& m) -> Values {
    return {build.call1("addmm", {m["c"], m["a"], m["b"]})};
  };
  return {.name = "fuse_addmm",
          .summary = "what is added to a product goes into it",
          .rules = {{.name = "join_products",
                     .search = {call("add", {product, other.named("c")}).named("y")},
                     .when = has_the_products_type,
                     .build = [](Builder& build, const Match& m) -> Values {
                       const ValueId first = build.mm(m["p"], m["q"]);
                       return {build.call1("addmm", {first, m["a"], m["b"]})};
                     },
                     .rounds = true},
                    {.name = "addmm",
                     .search = {call("add", {product, any("c")}).commutes().named("y")},
                     .when = goes_into,
                     .build = started,
                     .rounds = true}}};
}

}  // namespace cleave
