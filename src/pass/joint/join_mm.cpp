// Merges the sum of two matrix products into one product, or into one that adds to the other.
//
//   add(mm(a, b), mm(c, d))  ->  mm(cat([a, c], 1), cat([b, d], 0))    concatenate
//   add(mm(a, b), mm(c, d))  ->  addmm(mm(a, b), c, d)                 accumulate
//
// Both products have the shape of the sum and no other user. With p = inner(a, b) + inner(c, d) and
// a result of m x n, the first form copies p * (m + n) elements into the concatenated operands; the
// second writes and reads m * n elements once more. The first is used if p * (m + n) < m * n, as
// for factors of low rank. Both avoid the elementwise sum, which reads 2 m n and writes m n.
// Inner sizes 4 and 8, 1024 x 1024: 653 us separate, 393 merged (a core of a Zen 5, 2026-11-23);
// large ones take as long either way, without the elementwise kernel.
// The order of additions changes, and there are fewer roundings. Doesn't apply where the sum is
// better left to its users (adds_apart).
// Source: post_grad.py mm_plus_mm, PyTorch 2.13, which has a kernel for it.
#include "pass/adds_apart.h"
#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

bool joins(const Match& m) {
  const ValueId y = m.outputs()[0];
  return m["p"] != m["q"] && has_same_type(m.graph(), m["p"], y) &&
         has_same_type(m.graph(), m["q"], y);
}

bool is_thin(const Match& m) {
  const Type &y = m.type("p"), &a = m.type("a"), &c = m.type("c");
  if (!joins(m) || !y.is_static() || !a.is_static() || !c.is_static()) return false;
  const int64_t rows = y.shape[0].value(), columns = y.shape[1].value();
  const int64_t inner = a.shape[1].value() + c.shape[1].value();
  return static_cast<double>(inner) * static_cast<double>(rows + columns) <
         static_cast<double>(rows) * static_cast<double>(columns);
}

Values concatenated(Builder& b, const Match& m) {
  const ValueId left = b.cat({m["a"], m["c"]}, 1), right = b.cat({m["b"], m["d"]}, 0);
  return {b.mm(left, right)};
}

Values accumulated(Builder& b, const Match& m) {
  return {b.call1("addmm", {b.mm(m["a"], m["b"]), m["c"], m["d"]})};
}

}  // namespace

Pass join_mm() {
  const Pattern sum = call("add", {call("mm", {any("a"), any("b")}).named("p"),
                                   call("mm", {any("c"), any("d")}).named("q")});
  return {.name = "join_mm",
          .summary = "the sum of two products becomes one, or one that adds to the other",
          .rules = {{.name = "concatenate",
                     .search = {sum},
                     .when = is_thin,
                     .build = concatenated,
                     .rounds = true},
                    {.name = "accumulate",
                     .search = {sum},
                     .when =
                         [](const Match& m) {
                           return joins(m) && !adds_apart(m.graph(), m.outputs()[0]);
                         },
                     .build = accumulated,
                     .rounds = true}}};
}

}  // namespace cleave
