#include "schedule/one_term.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace cleave {

using namespace cleave::loop;

namespace {

class OneTerm {
 public:
  explicit OneTerm(const Reduce& r) : reduce_(r) {}

  // What replaces the Reduce; nullopt if it has more terms.
  std::optional<Block> written() {
    const int64_t* n = reduce_.loops.back().extent.as_const_int();
    if (reduce_.loops.size() != 1 || !n || *n < 1) return std::nullopt;
    Block out;
    for (const Stmt& s : reduce_.body) {
      if (auto* let = std::get_if<Let>(&s.node)) {
        if (changes(let->value))
          lets_[let->var->i] = let->value;
        else
          out.push_back(s);
      } else if (auto* check = std::get_if<Check>(&s.node);
                 check && !changes(check->condition) && !changes(check->value)) {
        out.push_back(s);
      } else {
        return std::nullopt;
      }
    }
    for (const Fold& f : reduce_.folds) {
      const auto sum = f.op == ReduceOp::sum ? term(f.value, *n) : std::nullopt;
      if (!sum) return std::nullopt;
      out.push_back({Let{f.var, *sum}});
    }
    return out;
  }

 private:
  const Expr& meant(const Expr& e) const {
    if (e->op != Op::var) return e;
    const auto it = lets_.find(e->i);
    return it == lets_.end() ? e : it->second;
  }
  bool changes(const Expr& e) const {
    if (e->op == Op::var) return e->i == reduce_.loops[0].var->i || lets_.contains(e->i);
    return std::ranges::any_of(e->args, [&](const Expr& a) { return changes(a); });
  }
  bool is_number(const Expr& e) const {
    return e->op == Op::var && e->i == reduce_.loops[0].var->i;
  }

  static Expr both(const Expr& a, const Expr& b) {
    if (a->op == Op::constant) return a->i ? b : a;
    return b->op == Op::constant ? both(b, a) : binary(Op::logical_and, a, b);
  }

  std::optional<Expr> term(const Expr& value, int64_t n) const {
    const Expr& e = meant(value);
    if (e->op != Op::select || e.type() != DType::f32) return std::nullopt;
    const Expr &then = e->args[1], &zero = e->args[2];
    if (changes(then) || zero->op != Op::constant || zero->f != 0 || std::signbit(zero->f))
      return std::nullopt;
    Expr at;
    const auto condition = fixed(meant(e->args[0]), at);
    if (!condition || !at.defined()) return std::nullopt;
    const Expr inside = both(binary(Op::ge, at, Expr(0)), binary(Op::lt, at, Expr(n)));
    return select(both(*condition, inside), zero + then, zero);
  }

  // The condition without its only comparison of the loop's variable, with `at`.
  std::optional<Expr> fixed(const Expr& e, Expr& at) const {
    if (!changes(e)) return e;
    if (e->op == Op::logical_and) {
      const auto a = fixed(meant(e->args[0]), at), b = fixed(meant(e->args[1]), at);
      if (!a || !b) return std::nullopt;
      return both(*a, *b);
    }
    if (e->op != Op::eq || at.defined()) return std::nullopt;
    for (size_t k : {0, 1})
      if (is_number(e->args[k]) && !changes(e->args[1 - k])) {
        at = e->args[1 - k];
        return constant_int(DType::boolean, 1);
      }
    return std::nullopt;
  }

  const Reduce& reduce_;
  std::unordered_map<int64_t, Expr> lets_;  // those that differ by iteration
};

}  // namespace

void write_one_term(Block& block) {
  const auto* r = block.empty() ? nullptr : std::get_if<Reduce>(&block.back().node);
  if (!r) return;
  std::optional<Block> out = OneTerm(*r).written();
  if (!out) return;
  block.pop_back();
  block.insert(block.end(), out->begin(), out->end());
}

}  // namespace cleave
