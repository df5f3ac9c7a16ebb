#include "loop/difference.h"

#include <cmath>
#include <unordered_map>

#include "loop/print.h"

namespace cleave::loop {
namespace {

class Comparison {
 public:
  Comparison(const Kernel& a, const Kernel& b) : a_(a), b_(b) {}

  std::string run() {
    if (a_.name != b_.name) return fmt::format("the kernel %{} against %{}", a_.name, b_.name);
    std::string why = arguments();
    if (why.empty()) why = block(a_.body, b_.body);
    return why.empty() ? why : fmt::format("kernel %{}: {}", a_.name, why);
  }

 private:
  std::string arguments() {
    if (a_.work != b_.work) return fmt::format("work of {} against {}", a_.work, b_.work);
    if (a_.buffers.size() != b_.buffers.size())
      return fmt::format("{} buffers against {}", a_.buffers.size(), b_.buffers.size());
    for (size_t i = 0; i < a_.buffers.size(); ++i) {
      const Buffer &x = a_.buffers[i], &y = b_.buffers[i];
      if (x.name != y.name) return fmt::format("the buffer %{} against %{}", x.name, y.name);
      if (x.dtype != y.dtype || x.elements != y.elements)
        return fmt::format("%{} is {}[{}] against {}[{}]", x.name, cleave::name_of(x.dtype),
                           x.elements, cleave::name_of(y.dtype), y.elements);
      if (x.access != y.access) return fmt::format("the access of %{}", x.name);
    }
    if (a_.is_scheduled != b_.is_scheduled) return "whether it is scheduled";
    if (a_.scalars.size() != b_.scalars.size()) return "the number of scalars";
    for (size_t s = 0; s < a_.scalars.size(); ++s) {
      const Scalar &x = a_.scalars[s], &y = b_.scalars[s];
      if (x.name != y.name || x.type != y.type || !exprs(x.values, y.values).empty())
        return fmt::format("the scalar {}", x.name);
      const int64_t id = -1 - static_cast<int64_t>(s);
      to_b_[id] = id;
    }
    return "";
  }

  std::string block(const Block& x, const Block& y) {
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (std::string why = statement(x[i], y[i]); !why.empty()) return why;
    if (x.size() == y.size()) return "";
    const bool is_longer = x.size() > y.size();
    return fmt::format("'{}' against the end of a block",
                       is_longer ? first_line(x[y.size()], a_) : first_line(y[x.size()], b_));
  }

  std::string statement(const Stmt& x, const Stmt& y) {
    std::string why = "another statement";
    if (x.node.index() == y.node.index())
      why = std::visit(
          [&](const auto& n) { return same(n, std::get<std::decay_t<decltype(n)>>(y.node)); },
          x.node);
    if (why.empty() || why.starts_with('\'')) return why;  // an inner statement's difference
    return fmt::format("'{}' against '{}': {}", first_line(x, a_), first_line(y, b_), why);
  }

  // ---- statements: what differs, or an inner statement's difference
  std::string same(const For& x, const For& y) {
    if (x.kind != y.kind) return "the kind of loop";
    std::string why = loop(x.loop, y.loop);
    if (why.empty()) why = way(x, y);
    if (why.empty() && x.next.defined()) why = bind(x.next, y.next);
    return why.empty() ? block(x.body, y.body) : why;
  }
  std::string way(const For& x, const For& y) {
    if (x.vectors != y.vectors) return "the vectors";
    if (x.rows.shared != y.rows.shared || x.rows.length.defined() != y.rows.length.defined())
      return "the rows";
    if (x.next.defined() != y.next.defined()) return "the next row";
    std::string why = exprs(x.ahead, y.ahead);
    if (why.empty() && x.rows.length.defined()) why = expr(x.rows.length, y.rows.length);
    return why;
  }
  std::string same(const Let& x, const Let& y) { return definition(x, y); }
  std::string same(const Define& x, const Define& y) { return definition(x, y); }
  template <class S>
  std::string definition(const S& x, const S& y) {
    std::string why = expr(x.value, y.value);
    return why.empty() ? bind(x.var, y.var) : why;
  }
  std::string same(const Assign& x, const Assign& y) {
    std::string why = expr(x.var, y.var);
    return why.empty() ? expr(x.value, y.value) : why;
  }
  std::string same(const Reduce& x, const Reduce& y) {
    if (x.loops.size() != y.loops.size()) return "the number of loops";
    std::string why;
    for (size_t i = 0; why.empty() && i < x.loops.size(); ++i) why = loop(x.loops[i], y.loops[i]);
    if (x.ordered != y.ordered || x.vectors != y.vectors) return "the order";
    if (x.blocks != y.blocks) return "the blocks";
    if (why.empty()) why = exprs(x.ahead, y.ahead);
    if (why.empty()) why = block(x.body, y.body);
    if (why.empty() && x.folds.size() != y.folds.size()) why = "the number of folds";
    for (size_t i = 0; why.empty() && i < x.folds.size(); ++i) {
      const Fold &f = x.folds[i], &g = y.folds[i];
      if (f.op != g.op)
        return fmt::format("{} is a {} against a {}", f.var->var, name_of(f.op), name_of(g.op));
      why = expr(f.value, g.value);
    }
    for (size_t i = 0; why.empty() && i < x.folds.size(); ++i)
      why = bind(x.folds[i].var, y.folds[i].var);
    return why;
  }
  std::string same(const Store& x, const Store& y) {
    if (x.buffer != y.buffer) return "the buffer";
    std::string why = expr(x.index, y.index);
    return why.empty() ? expr(x.value, y.value) : why;
  }
  std::string same(const If& x, const If& y) {
    std::string why = expr(x.condition, y.condition);
    return why.empty() ? block(x.then, y.then) : why;
  }
  std::string same(const Check& x, const Check& y) {
    if (x.message != y.message) return "the message";
    if (x.from_zero != y.from_zero) return "the range";
    std::string why = expr(x.condition, y.condition);
    if (why.empty()) why = expr(x.value, y.value);
    return why.empty() ? expr(x.bound, y.bound) : why;
  }

  // ---- variables and expressions
  std::string loop(const Loop& x, const Loop& y) {
    std::string why = expr(x.extent, y.extent);
    return why.empty() ? bind(x.var, y.var) : why;
  }
  // From here on the two are the same variable.
  std::string bind(const Expr& x, const Expr& y) {
    to_b_[x->i] = y->i;
    if (x->var != y->var) return fmt::format("the variable {} against {}", x->var, y->var);
    if (x.type() == y.type()) return "";
    return fmt::format("{} is {} against {}", x->var, cleave::name_of(x.type()),
                       cleave::name_of(y.type()));
  }
  bool same_variable(const ExprNode& x, const ExprNode& y) const {
    const auto found = to_b_.find(x.i);
    return found != to_b_.end() && found->second == y.i && x.var == y.var;
  }
  static bool same_number(double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  }
  std::string exprs(const Exprs& x, const Exprs& y) {
    if (x.size() != y.size()) return "the number of expressions";
    for (size_t i = 0; i < x.size(); ++i)
      if (std::string why = expr(x[i], y[i]); !why.empty()) return why;
    return "";
  }
  std::string expr(const Expr& x, const Expr& y) {
    const auto texts = [&](const char* more) {
      return fmt::format("{} against {}{}", print(x, a_), print(y, b_), more);
    };
    if (x->op != y->op || x->args.size() != y->args.size()) return texts("");
    if (x.type() != y.type())
      return texts(
          fmt::format(", {} against {}", cleave::name_of(x.type()), cleave::name_of(y.type()))
              .c_str());
    if (x->op == Op::var) return same_variable(*x, *y) ? "" : texts(", another variable");
    if (x->i != y->i || !same_number(x->f, y->f)) return texts("");
    for (size_t i = 0; i < x->args.size(); ++i)
      if (std::string why = expr(x->args[i], y->args[i]); !why.empty()) return why;
    return "";
  }

  const Kernel& a_;
  const Kernel& b_;
  std::unordered_map<int64_t, int64_t> to_b_;  // variables of a, by number
};

}  // namespace

std::string difference(const Kernel& a, const Kernel& b) { return Comparison(a, b).run(); }

}  // namespace cleave::loop
