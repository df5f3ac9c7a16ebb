#include "simt/narrow.h"

#include <unordered_map>

namespace cleave::simt {

using namespace cleave::loop;

namespace {

class Narrower {
 public:
  explicit Narrower(Ranges& ranges) : ranges_(ranges) {}

  Expr variable(const Expr& var) {
    if (var.type() != DType::i64 || !fits(var)) return var;
    const Expr out = make_var(var->id(), var->name(), DType::i32);
    if (narrow_.emplace(var->id(), out).second && !made_.empty()) short_.clear(), made_.clear();
    return out;
  }

  void block(simt::Block& b) {
    for (simt::Stmt& s : b) std::visit([&](auto& n) { write(n); }, s.node);
  }

 private:
  bool fits(const Expr& e) {
    const auto range = ranges_.of(e);
    return range && range->fits_i32();
  }

  void write(simt::For& f) {
    const bool is_narrow = fits(f.var) && fits(f.end) && fits(f.begin) && [&] {
      // What it is stepped to beyond the end.
      const auto end = ranges_.of(f.end);
      return end->high + f.step <= 2147483647;
    }();
    f.begin = is_narrow ? as_i32(f.begin) : expr(f.begin);
    f.end = is_narrow ? as_i32(f.end) : expr(f.end);
    if (is_narrow) f.var = variable(f.var);
    block(f.body);
  }
  void write(Let& s) {
    if (s.var.type() == DType::i64 && fits(s.value) && fits(s.var)) {
      s.value = as_i32(s.value);
      s.var = variable(s.var);
    } else {
      s.value = expr(s.value);
      // Another definition of the variable may have been narrow.
      if (narrow_.erase(s.var->id()) > 0) short_.clear(), made_.clear();
    }
  }
  void write(Define& s) { s.value = expr(s.value); }
  void write(Assign& s) { s.value = expr(s.value); }
  void write(Store& s) { s.index = index(s.index), s.value = expr(s.value); }
  void write(simt::If& s) {
    s.condition = expr(s.condition);
    block(s.then), block(s.otherwise);
  }
  void write(Check& s) {
    s.condition = expr(s.condition), s.value = expr(s.value), s.bound = expr(s.bound);
  }
  void write(Barrier&) {}
  void write(Exchange& s) { s.value = expr(s.value); }
  void write(CopyIn& s) { s.index = index(s.index); }
  void write(CopyAhead& s) { s.at = index(s.at), s.index = index(s.index); }
  void write(CopyWait&) {}
  void write(CopyOut& s) { s.index = index(s.index); }

  Expr index(const Expr& e) { return fits(e) ? as_i32(e) : expr(e); }

  // Of an i64 that fits.
  Expr as_i32(const Expr& e) {
    if (e.type() == DType::i32) return e;
    if (const auto found = short_.find(e); found != short_.end()) return found->second;
    const Expr out = as_i32_anew(e);
    short_.emplace(e, out);
    return out;
  }
  Expr as_i32_anew(const Expr& e) {
    if (e->op == Op::constant) return constant_int(DType::i32, e->integer());
    if (e->op == Op::var) {
      const auto found = narrow_.find(e->id());
      return found == narrow_.end() ? cast(e, DType::i32) : found->second;
    }
    if (e->op == Op::cast && e->args[0].type() == DType::i32) return expr(e->args[0]);
    const auto of_fitting = [&](size_t from) {
      Operands args = e->args;
      for (size_t k = from; k < args.size(); ++k) {
        if (!fits(args[k])) return Expr();
        args[k] = as_i32(args[k]);
      }
      if (from > 0) args[0] = expr(args[0]);
      return ExprNode::make(e->op, DType::i32, args);
    };
    Expr out;
    switch (e->op) {
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::min:
      case Op::max:
      case Op::neg:
      case Op::div:
      case Op::truncdiv:
      case Op::truncmod:
      case Op::floordiv:
      case Op::floormod:
      case Op::bit_and: out = of_fitting(0); break;
      case Op::select: out = of_fitting(1); break;
      default: break;
    }
    return out.defined() ? out : cast(rebuilt(e), DType::i32);
  }

  Expr expr(const Expr& e) {
    if (const auto found = made_.find(e); found != made_.end()) return found->second;
    Expr out = anew(e);
    made_.emplace(e, out);
    return out;
  }
  Expr anew(const Expr& e) {
    if (e->op == Op::var) {
      const auto found = narrow_.find(e->id());
      return found == narrow_.end() ? e : cast(found->second, e.type());
    }
    if (e->op == Op::constant) return e;
    if (e.type() == DType::i64 && e->op != Op::load && fits(e)) return cast(as_i32(e), DType::i64);
    return rebuilt(e);
  }
  // The same operation of rewritten operands.
  Expr rebuilt(const Expr& e) {
    Operands args = e->args;
    if (e->op == Op::load) {
      args[0] = index(args[0]);
      return e->with(args);
    }
    const bool compares = e.type() == DType::boolean && args.size() == 2 &&
                          args[0].type() == DType::i64 && fits(args[0]) && fits(args[1]);
    if (compares) {
      args[0] = as_i32(args[0]), args[1] = as_i32(args[1]);
      return e->with(args);
    }
    if (e->op == Op::cast && args[0].type() == DType::i64 && fits(args[0]))
      return cast(as_i32(args[0]), e.type());
    if (e->op == Op::eq && args[0].type() == DType::i64) {
      if (!fits(args[0])) std::swap(args[0], args[1]);
      if (fits(args[0]) && args[1]->op == Op::var) return equals(as_i32(args[0]), expr(args[1]));
      args = e->args;
    }
    for (Expr& a : args) a = expr(a);
    return args == e->args ? e : e->with(args);
  }

  // Of a number of 32 bits and one of 64, as in a row of which one element has a place that is
  // data: whether the latter fits is the same for all elements of the row.
  static Expr equals(const Expr& a, const Expr& wide) {
    const Expr low = cast(wide, DType::i32);
    return binary(Op::logical_and, binary(Op::eq, cast(low, DType::i64), wide),
                  binary(Op::eq, a, low));
  }

  Ranges& ranges_;
  std::unordered_map<int64_t, Expr> narrow_;  // variables
  std::unordered_map<Expr, Expr> short_, made_;
};

}  // namespace

void narrow_indices(Phase& phase, Ranges& ranges) {
  Narrower narrower(ranges);
  phase.block = narrower.variable(phase.block);
  phase.thread = narrower.variable(phase.thread);
  narrower.block(phase.body);
}

}  // namespace cleave::simt
