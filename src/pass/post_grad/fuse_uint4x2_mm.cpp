// Fuses the unpacking of 4-bit numbers into the product that uses them.
//
//   low = bitwise_and(b; other=15)     high = __rshift__(b; other=4)
//   mm(a, sub(_to_copy(view(cat([low, high]; dim=1))); other=8))    ->  uint4x2_mm(a, b)   cat
//   mm(a, sub(_to_copy(view(stack([low, high]; dim=1))); other=8))  ->  uint4x2_mm(a, b)   stack
//
// b is u8 [k / 2, n], a f32, bf16 or f16; the view is [k, n], so that low and high bits alternate.
// The unpacked values have no other user. Numbers from -8 to 7 are exact in each dtype: the result
// has the same bits, and b isn't copied, which would be four times as large in bf16, eight times in
// f32.
// Source: post_grad.py uint4x2_mixed_mm, PyTorch 2.1.
#include "pass/passes.h"

namespace cleave {
namespace {

bool unpacks(const Match& m) {
  const Type &a = m.type("a"), &b = m.type("b"), &rows = m.type("rows");
  const SymEnv& env = m.graph().env();
  const int64_t dim = m.integer("dim"), rank = m.type("joined").rank();
  return (dim == 1 || dim == 1 - rank) && b.dtype == DType::u8 && b.rank() == 2 &&
         is_floating(a.dtype) && a.dtype != DType::f64 && rows.rank() == 2 &&
         env.provably_equal(rows.shape[0], b.shape[0] * Dim(2)) &&
         env.provably_equal(rows.shape[1], b.shape[1]);
}

Rule rule_of(const char* join) {
  const Pattern b = any("b");
  const Pattern low = call("bitwise_and", {b, number(15.0)});
  const Pattern high = call("__rshift__", {b, number(4.0)});
  const Pattern joined = call(join, {list({low, high})}, {{"dim", bind("dim")}}).named("joined");
  const auto seen = [](Pattern of) {
    const std::vector<std::string> views = {"view", "_unsafe_view"};
    return call(views, {std::move(of)}, {{"size", anything()}});
  };
  const Pattern rows = either({seen(joined).named("rows"), seen(seen(joined)).named("rows"),
                               call("reshape", {joined}, {{"shape", anything()}}).named("rows")});
  const Pattern converted = call("_to_copy", {rows}, {{"dtype", anything()}});
  return {.name = join,
          .search = {call("mm", {any("a"), call("sub", {converted, number(8.0)})})},
          .when = unpacks,
          .build = [](Builder& g, const Match& m) -> Values {
            return {g.call1("uint4x2_mm", {m["a"], m["b"]})};
          }};
}

}  // namespace

Pass fuse_uint4x2_mm() {
  return {.name = "fuse_uint4x2_mm",
          .summary = "a product with numbers of four bits unpacks them while it reads them",
          .rules = {rule_of("cat"), rule_of("stack")}};
}

}  // namespace cleave
