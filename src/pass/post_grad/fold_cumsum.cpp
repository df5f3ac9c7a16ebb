// Running sums of one number are its multiples.
//
//   cumsum(full(size, c); dim=d)  ->  expand(view(arange(1, n + 1) * c))       n = size[d]
//
// Only where every multiple is exact: integers, and whole numbers whose n-th multiple the dtype
// holds. No matter what else reads the constant.
#include <cmath>

#include "pass/passes.h"

namespace cleave {
namespace {

// Whole numbers up to this are exact.
double largest_whole(DType t) {
  switch (t) {
    case DType::f64: return 0x1p53;
    case DType::f32: return 0x1p24;
    case DType::f16: return 0x1p11;
    case DType::bf16: return 0x1p8;
    default: return 0x1p62;
  }
}

int64_t dim_of(const Match& m) {
  const int64_t d = m.integer("dim");
  return d < 0 ? d + m.type("y").rank() : d;
}

bool is_exact(const Match& m) {
  const Type& t = m.type("y");
  if (t.rank() == 0) return false;
  const Dim n = t.shape[static_cast<size_t>(dim_of(m))];
  const double c = m.scalar("c");
  return n.is_const() && c == std::floor(c) &&
         std::fabs(c) * static_cast<double>(n.value()) <= largest_whole(t.dtype) &&
         t.dtype != DType::boolean && t.dtype != DType::i8 && t.dtype != DType::u8 &&
         t.dtype != DType::i16 && t.dtype != DType::i32;
}

Values multiples(Builder& b, const Match& m) {
  const Type t = m.type("y");
  const int64_t d = dim_of(m);
  const int64_t n = t.shape[static_cast<size_t>(d)].value(),
                c = static_cast<int64_t>(m.scalar("c"));
  ValueId line = b.call1("arange", {}, {{"start", 1}, {"end", n + 1}, {"dtype", t.dtype}});
  if (c != 1)
    line = is_floating(t.dtype) ? b.mul(line, static_cast<double>(c)) : b.mul(line, AttrValue(c));
  Shape beside(static_cast<size_t>(t.rank()), Dim(1));
  beside[static_cast<size_t>(d)] = n;
  return {b.expand(b.view(line, beside), t.shape)};
}

}  // namespace

Pass fold_cumsum() {
  const Pattern constant =
      call("full", {}, {{"size", anything()}, {"fill_value", bind("c")}, {"dtype", anything()}})
          .shared();
  return {.name = "fold_cumsum",
          .summary = "running sums of one number are its multiples",
          .rules = {
              {.name = "full",
               .search = {call("cumsum", {constant}, {{"dim", bind("dim")}, {"dtype", anything()}})
                              .named("y")},
               .when = is_exact,
               .build = multiples}}};
}

}  // namespace cleave
