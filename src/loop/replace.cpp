#include "loop/replace.h"

#include <unordered_set>

namespace cleave::loop {

namespace {

class Replacer {
 public:
  explicit Replacer(const ReplaceRule& rule) : rule_(rule) {}

  Expr expr(const Expr& e) {
    if (const auto found = made_.find(e); found != made_.end()) return found->second;
    Expr out = anew(e);
    made_.emplace(e, out);
    return out;
  }

 private:
  Expr anew(const Expr& e) {
    Expr out = e;
    if (!e->args.empty()) {
      Operands args = e->args;
      for (Expr& a : args) a = expr(a);
      if (args != e->args) out = made(*e, args);
    }
    if (out->op == Op::var || out->op == Op::load)
      if (Expr other = rule_(out); other.defined()) return other;
    return out;
  }
  static Expr made(const ExprNode& e, const Operands& args) {
    const bool folds = e.args.size() == 2 && e.type == DType::i64 && args[0].type() == DType::i64 &&
                       args[1].type() == DType::i64;
    return folds ? binary(e.op, args[0], args[1]) : e.with(args);
  }

  const ReplaceRule& rule_;
  std::unordered_map<Expr, Expr> made_;
};

void visit(const Expr& e, std::unordered_set<const ExprNode*>& seen,
           const std::function<void(const Expr&)>& f) {
  if (!seen.insert(&*e).second) return;
  f(e);
  for (const Expr& a : e->args) visit(a, seen, f);
}

}  // namespace

Expr replaced(const Expr& e, const ReplaceRule& rule) { return Replacer(rule).expr(e); }

Expr replaced(const Expr& e, const VariableValues& values) {
  return replaced(e, [&](const Expr& leaf) {
    if (leaf->op != Op::var) return Expr();
    const auto found = values.find(leaf->id());
    return found == values.end() ? Expr() : found->second;
  });
}

void for_each_part(const Expr& e, const std::function<void(const Expr&)>& f) {
  std::unordered_set<const ExprNode*> seen;
  visit(e, seen, f);
}

bool has_variable(const Expr& e, const Expr& var) {
  bool has = false;
  for_each_part(e,
                [&](const Expr& part) { has |= part->op == Op::var && part->id() == var->id(); });
  return has;
}

}  // namespace cleave::loop
