#include "schedule/split_rows.h"

#include "schedule/lane_strides.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

// In shorter rows most lanes would be inactive.
constexpr int64_t min_row = 16;

// The statement if it is a let of `op`, a division of `var` by a number or its remainder.
const Let* divided(const Stmt& s, Op op, const Expr& var) {
  auto* let = std::get_if<Let>(&s.node);
  const bool is = let && let->value->op == op && let->value->args[0]->op == Op::var &&
                  let->value->args[0]->i == var->i && let->value->args[1].as_const_int();
  return is ? let : nullptr;
}

}  // namespace

std::optional<For> split_rows(const For& f) {
  const Expr& p = f.loop.var;
  if (f.kind != ForKind::parallel || f.body.size() < 2) return std::nullopt;
  const Let *rest = divided(f.body[0], Op::truncmod, p), *row = divided(f.body[1], Op::truncdiv, p);
  if (!rest || !row) return std::nullopt;
  const Expr length = row->value->args[1];
  if (*length.as_const_int() != *rest->value->args[1].as_const_int()) return std::nullopt;
  if (*length.as_const_int() < min_row) return std::nullopt;

  For out{f.loop, f.kind, {f.body[1]}};
  Block elements = {{Let{rest->var, p - row->var * length}}};
  LaneStrides strides;
  strides.set(p, 1);
  strides.set(rest->var, 1);
  bool leading = true;  // no earlier statement may guard a later one
  for (size_t s = 2; s < f.body.size(); ++s) {
    bool shared = false;
    if (auto* let = std::get_if<Let>(&f.body[s].node)) {
      shared = leading && strides.of(let->value) == LaneStride(0);
      if (!shared) strides.set(let->var, strides.of(let->value));
    } else if (auto* check = std::get_if<Check>(&f.body[s].node)) {
      shared = leading && strides.of(check->condition) == LaneStride(0) &&
               strides.of(check->value) == LaneStride(0);
      leading = leading && shared;
    } else {
      leading = false;
    }
    (shared ? out.body : elements).push_back(f.body[s]);
  }
  out.rows = {length, out.body.size()};
  out.body.insert(out.body.end(), std::make_move_iterator(elements.begin()),
                  std::make_move_iterator(elements.end()));
  return out;
}

}  // namespace cleave::schedule
