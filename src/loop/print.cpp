// The text of a kernel's loop nest; its grammar is in parse.h.
#include "loop/print.h"

#include <cmath>

#include "ir/attr.h"
#include "loop/signature.h"

namespace cleave::loop {
namespace {

// The type that a number beside or inside gets without saying so.
using Wanted = std::optional<DType>;

bool is_number(const Expr& e) { return e->op == Op::constant && e.type() != DType::boolean; }

// Binding strength: sums, products, the rest.
int strength_of(Op op) {
  if (op == Op::add || op == Op::sub) return 1;
  return op == Op::mul ? 2 : 3;
}

std::string number_text(const ExprNode& e) {
  if (!is_floating(e.type)) return std::to_string(e.integer());
  const double value = e.real();
  const auto single = static_cast<float>(value);
  if (e.type != DType::f32 || std::isnan(value) || std::isinf(value) || single != value)
    return double_text(value);
  std::string s = fmt::format("{}", single);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

class Printer {
 public:
  explicit Printer(const Kernel& k) : k_(k) {}
  std::string out;

  void kernel() {
    out += fmt::format("kernel %{}(", k_.name);
    constexpr std::string_view access[] = {"read", "write", "update", "local"};
    for (size_t i = 0; i < k_.buffers.size(); ++i) {
      const Buffer& b = k_.buffers[i];
      out += fmt::format("{}%{}: {}[{}] {}", i ? ", " : "", b.name, cleave::name_of(b.dtype),
                         b.elements, access[static_cast<int>(b.access)]);
    }
    for (size_t s = 0; s < k_.scalars.size(); ++s) {
      if (s || !k_.buffers.empty()) out += ", ";
      scalar(k_.scalars[s]);
    }
    out += ')';
    if (k_.work) out += fmt::format(" work {}", k_.work);
    if (k_.is_scheduled) out += " scheduled";
    out += " {\n";
    block(k_.body, 1);
    out += "}\n";
  }
  // The statement's first line, without indentation and newline.
  void head(const Stmt& s) {
    std::visit([&](const auto& n) { head(n); }, s.node);
  }
  void expr(const Expr& e, Wanted wanted, int strength = 1) {
    switch (e->op) {
      case Op::constant: return constant(*e, wanted);
      case Op::var: out += e->name(); return;
      case Op::load: return element(e->buffer(), e->args[0]);
      case Op::add:
      case Op::sub:
      case Op::mul: return infix(*e, wanted, strength);
      default: return call(*e, wanted);
    }
  }

 private:
  void block(const Block& b, size_t depth) {
    for (const Stmt& s : b) {
      indent(depth);
      head(s);
      out += '\n';
      bool is_block = true;
      if (auto* f = std::get_if<For>(&s.node)) {
        block(f->body, depth + 1);
      } else if (auto* i = std::get_if<If>(&s.node)) {
        block(i->then, depth + 1);
      } else if (auto* r = std::get_if<Reduce>(&s.node)) {
        block(r->body, depth + 1);
        for (const Fold& f : r->folds) fold(f, depth + 1);
      } else {
        is_block = false;
      }
      if (is_block) {
        indent(depth);
        out += "}\n";
      }
    }
  }
  void indent(size_t depth) { out.append(2 * depth, ' '); }

  void scalar(const Scalar& s) {
    out += fmt::format("{}: {}scalar", s.name, s.type == DType::f32 ? "f32 " : "");
    for (size_t k = 0; k < s.values.size(); ++k) {
      out += k ? ", " : " (";
      expr(s.values[k], s.type);
    }
    if (!s.values.empty()) out += ')';
  }

  // ---- statements
  void loop(const Loop& l) {
    out += l.var->name() + " in ";
    expr(l.extent, DType::i64);
  }
  void head(const For& f) {
    constexpr std::string_view kinds[] = {"", " parallel", " lanes", " independent"};
    out += "for ";
    loop(f.loop);
    out += kinds[static_cast<int>(f.kind)];
    if (f.rows.length.defined()) {
      out += " rows ";
      expr(f.rows.length, DType::i64);
      out += fmt::format(" shared {}", f.rows.shared);
    }
    vectors(f.vectors, f.ahead);
    if (f.next.defined()) out += " next " + f.next->name();
    out += " {";
  }
  void vectors(const Vectors& v, const Exprs& ahead) {
    if (v.any()) out += fmt::format(" by {}{}", v.lanes, v.has_tail ? " tail" : "");
    for (size_t k = 0; k < ahead.size(); ++k) {
      out += k ? ", " : " ahead ";
      expr(ahead[k], {});
    }
  }
  void head(const Let& s) { define("let ", s.var, s.value); }
  void head(const Define& s) { define("var ", s.var, s.value); }
  void define(const char* word, const Expr& var, const Expr& value) {
    out += word + var->name() + " = ";
    expr(value, {});
  }
  void head(const Assign& s) {
    out += s.var->name() + " = ";
    expr(s.value, s.var.type());
  }
  void head(const Reduce& r) {
    out += "fold over ";
    for (size_t i = 0; i < r.loops.size(); ++i) {
      if (i) out += ", ";
      loop(r.loops[i]);
      if (r.blocks && r.blocks->loop == i) out += fmt::format(" blocks {}", r.blocks->iterations);
    }
    if (r.ordered) out += " ordered";
    vectors(r.vectors, r.ahead);
    out += " {";
  }
  void fold(const Fold& f, size_t depth) {
    indent(depth);
    out += fmt::format("{} = {} of ", f.var->name(), name_of(f.op));
    expr(f.value, {});
    out += '\n';
  }
  void head(const Store& s) {
    element(s.buffer, s.index);
    out += " = ";
    expr(s.value, compute_type(k_.buffers[static_cast<size_t>(s.buffer)].dtype));
  }
  void head(const If& s) {
    out += "if ";
    expr(s.condition, {});
    out += " {";
  }
  void head(const Check& s) {
    out += "check ";
    expr(s.condition, {});
    out += ' ' + quoted(s.message);
    if (is_index(s)) {
      out += " index ";
      expr(s.value, DType::i64);
      out += " bound ";
      expr(s.bound, DType::i64);
    }
    if (s.from_zero) out += " from 0";
  }
  // Whether the message names an index.
  static bool is_index(const Check& s) {
    const auto is = [](const Expr& e, int64_t v) {
      return e->op == Op::constant && e.type() == DType::i64 && e->integer() == v;
    };
    return s.from_zero || !is(s.value, 0) || !is(s.bound, -1);
  }

  // ---- expressions
  void constant(const ExprNode& e, Wanted wanted) {
    if (e.type == DType::boolean) {
      out += e.integer() ? "true" : "false";
      return;
    }
    const DType usual = is_floating(e.type) ? DType::f32 : DType::i64;
    if (e.type == wanted.value_or(usual))
      out += number_text(e);
    else
      out += fmt::format("{}({})", cleave::name_of(e.type), number_text(e));
  }
  void element(int64_t buffer, const Expr& index) {
    out += '%' + k_.buffers[static_cast<size_t>(buffer)].name + '[';
    expr(index, DType::i64);
    out += ']';
  }
  // A number beside an expression has its type.
  static Wanted beside(const Expr& e, const Expr& other, Wanted wanted) {
    return is_number(e) && !is_number(other) ? other.type() : wanted;
  }
  void infix(const ExprNode& e, Wanted wanted, int strength) {
    const int own = strength_of(e.op);
    const Expr &a = e.args[0], &b = e.args[1];
    if (own < strength) out += '(';
    expr(a, beside(a, b, wanted), own);
    out += e.op == Op::add ? " + " : e.op == Op::sub ? " - " : "*";
    expr(b, beside(b, a, wanted), own + 1);
    if (own < strength) out += ')';
  }
  void call(const ExprNode& e, Wanted wanted) {
    if (e.op == Op::round_to)
      out += fmt::format("round_{}(", cleave::name_of(e.stored()));
    else
      out += fmt::format("{}(", e.op == Op::cast ? cleave::name_of(e.type) : name_of(e.op));
    for (size_t i = 0; i < e.args.size(); ++i) {
      if (i) out += ", ";
      expr(e.args[i], wanted_by_call(e, i, wanted));
    }
    out += ')';
  }
  static Wanted wanted_by_call(const ExprNode& e, size_t i, Wanted wanted) {
    const Expr& a = e.args[i];
    if (e.op == Op::round_to) return e.type;
    if (e.op != Op::cast) {
      const auto partner = partner_of(e.op, i);
      wanted = wanted_by(e.op, i, wanted);
      return partner ? beside(a, e.args[*partner], wanted) : wanted;
    }
    // T(1) is a number of type T, so one that is converted says its own.
    return is_number(a) ? Wanted(DType::boolean) : Wanted();
  }

  const Kernel& k_;
};

}  // namespace

std::string print(const Kernel& k) {
  Printer p(k);
  p.kernel();
  return std::move(p.out);
}

std::string first_line(const Stmt& s, const Kernel& k) {
  Printer p(k);
  p.head(s);
  return std::move(p.out);
}

std::string print(const Expr& e, const Kernel& k) {
  Printer p(k);
  p.expr(e, {});
  return std::move(p.out);
}

}  // namespace cleave::loop
