#include "pass/frozen.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr int max_calls = 32;

// The operators that pre_grad rules apply to weights, and those that programs write next to them.
bool is_passed(const std::string& op) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"add",     "sub",   "mul",       "div",  "neg",   "rsqrt",     "sqrt",    "reciprocal",
       "permute", "t",     "transpose", "view", "full",  "unsqueeze", "squeeze", "reshape",
       "expand",  "alias", "detach",    "ones", "zeros", "_to_copy",  "clone"});
  return std::ranges::find(names, op) != names.end();
}

MadeOf walk(const Graph& g, ValueId v, int& left) {
  const NodeId def = g.value(v).def;
  if (!def.valid()) {
    if (!is_frozen(g, v)) return MadeOf::none;
    return g.placeholder_of(v)->role == Role::constant ? MadeOf::constants : MadeOf::state;
  }
  if (--left < 0 || !is_passed(g.node(def).op->name)) return MadeOf::none;
  MadeOf all = MadeOf::constants;
  for (const ValueId operand : g.node(def).inputs)
    if (operand.valid()) all = std::min(all, walk(g, operand, left));
  return all;
}

}  // namespace

bool is_frozen(const Graph& g, ValueId v) {
  const Placeholder* p = g.placeholder_of(v);
  return p && !p->wants_grad &&
         (p->role == Role::param || p->role == Role::buffer || p->role == Role::constant);
}

MadeOf made_of_frozen(const Graph& g, ValueId v) {
  int left = max_calls;
  return walk(g, v, left);
}

}  // namespace cleave
