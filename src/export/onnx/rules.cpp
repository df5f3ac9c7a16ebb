#include "export/onnx/rules.h"

#include <algorithm>
#include <unordered_map>

namespace cleave::to_onnx {
namespace {

using Table = std::unordered_map<std::string, Rule>;

Table all_rules() {
  Table table;
  for (const auto family :
       {unary_rules(),    arithmetic_rules(), quotient_rules(),    compare_rules(),
        convert_rules(),  shape_rules(),      constructor_rules(), index_rules(),
        view_rules(),     scatter_rules(),    put_rules(),         reduce_rules(),
        sort_rules(),     product_rules(),    convolution_rules(), mean_pool_rules(),
        max_pool_rules(), resize_rules(),     pad_rules(),         norm_rules(),
        control_rules()})
    for (const RuleEntry& entry : family) table.emplace(entry.op, entry.rule);
  return table;
}

}  // namespace

Rule find_rule(const std::string& op) {
  static const Table table = all_rules();
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

std::string reason_without_rule(const OpDef& op) {
  if (has(op.traits, Trait::random) || op.name.starts_with("rng_")) return "draws random numbers";
  if (has(op.traits, Trait::collective)) return "meets the other ranks of a group";
  if (op.name == "_functional_assert_async") return "a check of the run";
  return "no operators of ONNX are known for it";
}

V nan_flags(Call& c, const V& x) { return c.cast(c.is_nan(x), DType::f32); }

V with_nan(Call& c, const V& flags, const V& y) {
  const V any = c.compare("Greater", flags, c.number(0, flags.dtype));
  return c.where(any, c.nan_of(y.dtype), y);
}

V truncated(Call& c, const V& x) {
  const V below = c.compare("Less", x, c.number(0, x.dtype));
  return c.where(below, c.node("Ceil", {x}), c.node("Floor", {x}));
}

V floor_quotient(Call& c, const V& a, const V& b) {
  // a - mod(a, b) is a multiple of b, so Div, which truncates, is exact. A b of -1 is left to Neg:
  // the processor's division would trap on the least integer.
  const V minus_one = c.compare("Equal", b, c.number(-1, b.dtype));
  const V divisor = c.where(minus_one, c.number(1, b.dtype), b);
  const V whole = c.node("Sub", {a, c.node("Mod", {a, divisor})});
  return c.where(minus_one, c.node("Neg", {a}), c.node("Div", {whole, divisor}));
}

Ints all_axes(int64_t rank) {
  Ints out;
  for (int64_t d = 0; d < rank; ++d) out.push_back(d);
  return out;
}

Ints moved_last(int64_t dim, int64_t rank) {
  Ints out;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim) out.push_back(d);
  out.push_back(dim);
  return out;
}

Ints moved_first(int64_t dim, int64_t rank) {
  Ints out = {dim};
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim) out.push_back(d);
  return out;
}

Ints inverse(const Ints& perm) {
  Ints out(perm.size());
  for (size_t k = 0; k < perm.size(); ++k)
    out[static_cast<size_t>(perm[k])] = static_cast<int64_t>(k);
  return out;
}

bool is_empty(const Shape& s) { return std::ranges::find(s, Dim(0)) != s.end(); }

}  // namespace cleave::to_onnx
