// Removes the copy of a product's permuted operand or permuted result.
//
//   permute(mm(a, b); 1,0)                      ->  mm(permute(b), permute(a))       mm
//   permute(bmm(a, b); 0,2,1)                   ->  bmm(permute(b), permute(a))      bmm
//   permute(addmm(c[n], a, b); 1,0)             ->  addmm(c[n,1], permute(b), permute(a))   addmm
//   mm(view(permute(x; 0,2,1); b*m,k), w)       ->  view(bmm(permute(x), w for each b))  flattened
//   addmm(c[n], view(permute(x; 0,2,1)), w)     ->  view(bmm(...)) + c             flattened_biased
//   permute(view(mm(view(x; b*m,k), w); b,m,n); 0,2,1)  ->  bmm(permute(w) for each b, permute(x))
//                                                                                    linear
//
// Products read operands by their strides, while a permuted result, or a permuted value that is
// viewed with fewer dims, is copied. Only products with no other user; other library calls add in
// another order, so results are rounded differently. Runs only on request, as in PyTorch: it pays
// if the copy is large relative to the product.
#include "pass/passes.h"

namespace cleave {
namespace {

std::vector<int64_t> swapped(int64_t rank) {
  return rank == 2 ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 2, 1};
}

bool swaps_last(const Match& m, std::string_view dims, int64_t rank) {
  std::vector<int64_t> given = m.integers(dims);
  for (int64_t& d : given)
    if (d < 0) d += rank;
  return given == swapped(rank);
}

ValueId turned(Builder& b, ValueId v) { return b.permute(v, swapped(b.type(v).rank())); }

// Expands w along the batch, to the rank of the first operand.
ValueId for_each(Builder& b, ValueId w, const Dim& batch) {
  const Shape& s = b.type(w).shape;
  return b.expand(b.unsqueeze(w, 0), {batch, s[0], s[1]});
}

// Returns the addend of an addmm; none for mm.
ValueId bias_of(const Match& m) {
  const OpView product = m.call("product");
  return product.name() == "addmm" ? product.in(0) : ValueId::none();
}

// Whether the bias has one entry for each column, or there is none.
bool adds_to_columns(const Match& m) {
  const ValueId bias = bias_of(m);
  return !bias.valid() || m.graph().type(bias).rank() == 1;
}

bool swaps_result(const Match& m) { return swaps_last(m, "dims", m.type("product").rank()); }

// Whether [b, k, m], permuted, is viewed as [b*m, k].
bool flattens_permuted(const Match& m) {
  const Type& x = m.type("x");
  if (x.rank() != 3 || !swaps_last(m, "dims", 3)) return false;
  const Type& flat = m.type("flat");
  const SymEnv& env = m.graph().env();
  return flat.rank() == 2 && env.provably_equal(flat.shape[1], x.shape[1]) &&
         env.provably_equal(flat.shape[0], x.shape[0] * x.shape[2]) && adds_to_columns(m);
}

Values build_flattened(Builder& b, const Match& m) {
  const ValueId left = turned(b, m["x"]);
  const ValueId y = b.bmm(left, for_each(b, m["w"], b.type(m["x"]).shape[0]));
  const ValueId flat = b.view(y, m.type("product").shape);
  return {bias_of(m).valid() ? b.add(flat, bias_of(m)) : flat};
}

// Whether [b, m, k] is viewed as [b*m, k], and the product as [b, m, n].
bool is_linear(const Match& m) {
  const Type &x = m.type("x"), &y = m.type("y");
  const SymEnv& env = m.graph().env();
  return x.rank() == 3 && y.rank() == 3 && swaps_last(m, "dims", 3) &&
         env.provably_equal(x.shape[0], y.shape[0]) && env.provably_equal(x.shape[1], y.shape[1]) &&
         env.provably_equal(x.shape[2], m.type("w").shape[0]) &&
         env.provably_equal(y.shape[2], m.type("w").shape[1]) && adds_to_columns(m);
}

Values build_linear(Builder& b, const Match& m) {
  const ValueId w = for_each(b, turned(b, m["w"]), b.type(m["x"]).shape[0]);
  const ValueId y = b.bmm(w, turned(b, m["x"]));
  return {bias_of(m).valid() ? b.add(y, b.unsqueeze(bias_of(m), 1)) : y};
}

Rule rounding(const char* name, Pattern search, std::function<bool(const Match&)> when,
              std::function<Values(Builder&, const Match&)> build) {
  return {.name = name,
          .search = {std::move(search)},
          .when = std::move(when),
          .build = std::move(build),
          .rounds = true};
}

Values build_turned(Builder& b, const Match& m) {
  const ValueId left = turned(b, m["q"]), right = turned(b, m["p"]);
  return {b.call1(m.call("product").name(), {left, right})};
}

Values build_turned_biased(Builder& b, const Match& m) {
  const ValueId left = turned(b, m["q"]), right = turned(b, m["p"]);
  return {b.call1("addmm", {b.unsqueeze(bias_of(m), 1), left, right})};
}

}  // namespace

Pass permute_linear() {
  const Pattern p = any("p"), q = any("q"), x = any("x"), w = any("w");
  const AttrTests dims = {{"dims", bind("dims")}}, size = {{"size", anything()}};
  const auto permuted = [&](Pattern of) { return call("permute", {std::move(of)}, dims); };
  const Pattern flat = call("view", {permuted(x)}, size).named("flat");
  const Pattern rows = call("view", {x}, size);
  const auto seen = [&](Pattern of) {
    return permuted(call("view", {std::move(of)}, size).named("y"));
  };
  return {
      .name = "permute_linear",
      .summary = "a product takes or gives a permuted value without a copy of it",
      .rules = {
          rounding("mm", permuted(call("mm", {p, q}).named("product")), swaps_result, build_turned),
          rounding("bmm", permuted(call("bmm", {p, q}).named("product")), swaps_result,
                   build_turned),
          rounding(
              "addmm", permuted(call("addmm", {any(), p, q}).named("product")),
              [](const Match& m) { return swaps_result(m) && adds_to_columns(m); },
              build_turned_biased),
          rounding("flattened", call("mm", {flat, w}).named("product"), flattens_permuted,
                   build_flattened),
          rounding("flattened_biased", call("addmm", {any(), flat, w}).named("product"),
                   flattens_permuted, build_flattened),
          rounding("linear", seen(call("mm", {rows, w}).named("product")), is_linear, build_linear),
          rounding("linear_biased", seen(call("addmm", {any(), rows, w}).named("product")),
                   is_linear, build_linear)}};
}

}  // namespace cleave
