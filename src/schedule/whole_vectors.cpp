#include "schedule/whole_vectors.h"

#include <unordered_map>
#include <unordered_set>

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

class ShareQuotients {
 public:
  void block(Block& b, const Expr& lane) {
    for (Stmt& s : b) {
      if (auto* f = std::get_if<For>(&s.node))
        loop(*f);
      else if (auto* r = std::get_if<Reduce>(&s.node))
        reduce(*r);
      else if (auto* i = std::get_if<If>(&s.node))
        expr(i->condition, lane), block(i->then, lane);
      else if (auto* let = std::get_if<Let>(&s.node))
        define(*let, lane);
      else if (auto* store = std::get_if<Store>(&s.node))
        expr(store->index, lane), expr(store->value, lane);
      else if (auto* d = std::get_if<Define>(&s.node))
        expr(d->value, lane);
      else if (auto* a = std::get_if<Assign>(&s.node))
        expr(a->value, lane);
    }
  }

 private:
  void define(Let& let, const Expr& lane) {
    expr(let.value, lane);
    if (is_multiple(let.value)) multiples_.insert(let.var->id());
  }
  void loop(For& f) {
    block(f.body,
          f.kind == ForKind::serial || f.kind == ForKind::independent ? f.loop.var : Expr());
  }
  void reduce(Reduce& r) {
    const Expr& lane = r.loops.back().var;
    block(r.body, lane);
    for (Fold& f : r.folds) expr(f.value, lane);
  }

  // Whether it is a multiple of the lanes in all iterations.
  bool is_multiple(const Expr& e) const {
    if (e.type() != DType::i64) return false;
    switch (e->op) {
      case Op::constant: return e->integer() % reduce_lanes == 0;
      case Op::var: return multiples_.contains(e->id());
      case Op::add:
      case Op::sub: return is_multiple(e->args[0]) && is_multiple(e->args[1]);
      case Op::mul: return is_multiple(e->args[0]) || is_multiple(e->args[1]);
      default: return false;
    }
  }
  // Whether it is the lane's variable and multiples.
  bool is_lane(const Expr& e, const Expr& lane) const {
    if (e == lane) return true;
    return e->op == Op::add && ((is_lane(e->args[0], lane) && is_multiple(e->args[1])) ||
                                (is_multiple(e->args[0]) && is_lane(e->args[1], lane)));
  }
  // The lane's variable replaced by `first`.
  static Expr at_first(const Expr& e, const Expr& lane, const Expr& first) {
    if (e == lane) return first;
    if (e->op != Op::add) return e;
    return at_first(e->args[0], lane, first) + at_first(e->args[1], lane, first);
  }

  void expr(Expr& e, const Expr& lane) {
    if (lane.defined()) e = shared(e, lane);
  }
  Expr shared(const Expr& e, const Expr& lane) {
    if (e->args.empty()) return e;
    const bool quotient = e->op == Op::truncdiv || e->op == Op::floordiv;
    const bool remainder = e->op == Op::truncmod || e->op == Op::floormod;
    if ((quotient || remainder) && e.type() == DType::i64 && e->args[1]->op == Op::constant &&
        is_multiple(e->args[1]) && is_lane(e->args[0], lane)) {
      const Expr first = binary(Op::bit_and, lane, Expr(-reduce_lanes));
      const Expr of_first = binary(e->op, at_first(e->args[0], lane, first), e->args[1]);
      return quotient ? of_first : of_first + (lane - first);
    }
    if (const auto known = known_.find({e, lane}); known != known_.end()) return known->second;
    Operands args = e->args;
    for (Expr& a : args) a = shared(a, lane);
    const Expr out = args == e->args ? e : e->with(std::move(args));
    known_.emplace(std::pair(e, lane), out);
    return out;
  }

  struct Hash {
    size_t operator()(const std::pair<Expr, Expr>& p) const {
      return std::hash<Expr>()(p.first) * 31 + std::hash<Expr>()(p.second);
    }
  };
  std::unordered_set<int64_t> multiples_;  // variables
  std::unordered_map<std::pair<Expr, Expr>, Expr, Hash> known_;
};

}  // namespace

void share_quotients(Kernel& kernel) { ShareQuotients().block(kernel.body, Expr()); }

}  // namespace cleave::schedule
