// Merges products with the same left operand that are concatenated into one product.
//
//   cat([mm(x, u), mm(x, v), ...], 1)              ->  mm(x, cat([u, v, ...], 1))
//   cat([addmm(c, x, u), addmm(d, x, v), ...], 1)  ->  addmm(cat([c, d, ...], 0), x,
//                                                            cat([u, v, ...], 1))
//
// The merged form reads x once and copies the k * n elements of u, v, ...; apart, each product
// writes its columns of the result where they lie, so products of different left operands need no
// rule. It requires k < m, as proven: more rows than the inner size, such as a batch of tokens
// against a layer's width. The terms c, d must have one entry for each column. No product has
// another user.
// Two products of 2048 x 384 x 384: 12.4 to 13.5 ms separate, 11.1 merged (a core of a Zen 5,
// 2026-11-23); with fewer rows than the inner size, both ways take as long.
// Products of other sizes may be summed in other pieces, so results may differ in the last bit.
// (Concatenation along rows leaves nothing to save: such parts are written in place.)
#include <algorithm>

#include "pass/passes.h"

namespace cleave {
namespace {

bool has_one_left_side(const Match& m) {
  const Values& xs = m.all("x");
  if (xs.size() < 2 || !std::ranges::all_of(xs, [&](ValueId v) { return v == xs[0]; }))
    return false;
  if (const int64_t dim = m.integer("dim"); dim != 1 && dim != -1) return false;
  const SymEnv& env = m.graph().env();
  const Shape& x = m.graph().type(xs[0]).shape;
  return env.range_of(x[0] - x[1]).lo > 0;
}

bool has_terms_by_column(const Match& m) {
  const Values &terms = m.all("c"), &factors = m.all("w");
  for (size_t k = 0; k < terms.size(); ++k) {
    const Type& c = m.graph().type(terms[k]);
    if (c.rank() != 1 ||
        !m.graph().env().provably_equal(c.shape[0], m.graph().type(factors[k]).shape[1]))
      return false;
  }
  return has_one_left_side(m);
}

}  // namespace

Pass cat_mm() {
  const Pattern product = call("mm", {any("x"), any("w")}),
                added = call("addmm", {any("c"), any("x"), any("w")});
  const auto cat_of = [](const Pattern& p) {
    return call("cat", {each(p)}, {{"dim", bind("dim")}});
  };
  return {
      .name = "cat_mm",
      .summary = "products of one matrix that are put side by side become one product",
      .rules = {{.name = "products",
                 .search = {cat_of(product)},
                 .when = has_one_left_side,
                 .build = [](Builder& b, const Match& m) -> Values {
                   return {b.mm(m["x"], b.cat(m.all("w"), 1))};
                 },
                 .rounds = true},
                {.name = "sums",
                 .search = {cat_of(added)},
                 .when = has_terms_by_column,
                 .build = [](Builder& b, const Match& m) -> Values {
                   return {b.call1("addmm", {b.cat(m.all("c"), 0), m["x"], b.cat(m.all("w"), 1)})};
                 },
                 .rounds = true}}};
}

}  // namespace cleave
