// Computes a full maximum or minimum from one along a dim.
//
//   amax(x; dim=d)   amax(x)      ->   %p = amax(x; dim=d)   amax(%p)
//   amin(x; dim=d)   amin(x)      ->   %p = amin(x; dim=d)   amin(%p)
//
// x is then read once. It must have 4096 elements or more: for fewer, the added ordering constraint
// isn't worthwhile. The users of both are unchanged. Extrema don't round, and NaN propagates either
// way.
// Source: post_grad.py register_partial_reduction_pattern, PyTorch 2.13.
#include "pass/passes.h"

namespace cleave {
namespace {

constexpr int64_t min_elements = 4096;

bool is_large(const Match& m) {
  const AttrList* dims = m.attr("dim").get<AttrList>();
  const bool is_partial = dims && !dims->empty() && std::ssize(*dims) < m.type("x").rank();
  return is_partial && m.graph().env().range_of(m.type("x").numel()).lo >= min_elements;
}

Rule reuse(const char* op) {
  const Pattern x = any("x");
  return {.name = op,
          .search = {call(op, {x}, {{"dim", bind("dim")}, {"keepdim", bind("keepdim")}}),
                     call(op, {x}, {{"keepdim", false}})},
          .when = is_large,
          .build = [op](Builder& b, const Match& m) -> Values {
            const ValueId partial =
                b.call1(op, {m["x"]}, {{"dim", m.attr("dim")}, {"keepdim", m.attr("keepdim")}});
            return {partial, b.call1(op, {partial})};
          }};
}

}  // namespace

Pass reuse_extremum() {
  return {.name = "reuse_extremum",
          .summary = "the largest element of all is looked for among those of each line",
          .rules = {reuse("amax"), reuse("amin")}};
}

}  // namespace cleave
