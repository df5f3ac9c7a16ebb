// Text and checks of a kernel's loop nest.
#include "loop/kernel.h"

#include <limits>
#include <set>

#include "base/alignment.h"
#include "ir/attr.h"

namespace cleave::loop {

std::string_view name_of(ReduceOp op) {
  constexpr std::string_view names[] = {"sum", "prod", "max", "min", "any", "all"};
  return names[static_cast<int>(op)];
}

Expr identity_of(ReduceOp op, DType type) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const bool floating = is_floating(type);
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::any: return constant_int(type, 0);
    case ReduceOp::prod:
    case ReduceOp::all: return constant_int(type, 1);
    case ReduceOp::max:
      if (floating) return constant(type, -inf);
      if (type == DType::boolean) return constant_int(type, 0);
      return constant_int(type, type == DType::i32 ? std::numeric_limits<int32_t>::min()
                                                   : std::numeric_limits<int64_t>::min());
    case ReduceOp::min:
      if (floating) return constant(type, inf);
      if (type == DType::boolean) return constant_int(type, 1);
      return constant_int(type, type == DType::i32 ? std::numeric_limits<int32_t>::max()
                                                   : std::numeric_limits<int64_t>::max());
  }
  return constant_int(type, 0);
}

namespace {

std::string text(const Expr& e, const Kernel& k) {
  switch (e->op) {
    case Op::constant:
      if (is_floating(e.type())) return double_text(e->f);
      return e.type() == DType::boolean ? (e->i ? "true" : "false") : std::to_string(e->i);
    case Op::var: return e->var;
    case Op::load: return fmt::format("{}[{}]", k.buffers[e->i].name, text(e->args[0], k));
    case Op::add: return fmt::format("({} + {})", text(e->args[0], k), text(e->args[1], k));
    case Op::sub: return fmt::format("({} - {})", text(e->args[0], k), text(e->args[1], k));
    case Op::mul: return fmt::format("{}*{}", text(e->args[0], k), text(e->args[1], k));
    default: break;
  }
  std::string out(e->op == Op::cast ? cleave::name_of(e.type()) : name_of(e->op));
  if (e->op == Op::cast && e->i)
    out = fmt::format("round_{}", cleave::name_of(static_cast<DType>(e->i - 1)));
  out += '(';
  for (size_t i = 0; i < e->args.size(); ++i) out += (i ? ", " : "") + text(e->args[i], k);
  return out + ')';
}

struct Printer {
  const Kernel& k;
  std::string out;

  void line(int depth, const std::string& s) { out += std::string(2 * depth, ' ') + s + '\n'; }
  void block(const Block& b, int depth) {
    for (const Stmt& s : b) std::visit([&](const auto& n) { stmt(n, depth); }, s.node);
  }
  void stmt(const For& f, int d) {
    line(d, fmt::format("for {} in {}{} {{", f.loop.var->var, text(f.loop.extent, k),
                        f.kind == ForKind::parallel      ? " parallel"
                        : f.kind == ForKind::lanes       ? " lanes"
                        : f.kind == ForKind::independent ? " independent"
                                                         : ""));
    block(f.body, d + 1);
    line(d, "}");
  }
  void stmt(const Let& s, int d) {
    line(d, fmt::format("let {} = {}", s.var->var, text(s.value, k)));
  }
  void stmt(const Define& s, int d) {
    line(d, fmt::format("var {} = {}", s.var->var, text(s.value, k)));
  }
  void stmt(const Assign& s, int d) {
    line(d, fmt::format("{} = {}", s.var->var, text(s.value, k)));
  }
  void stmt(const Reduce& r, int d) {
    std::string head = "fold over";
    for (const Loop& l : r.loops) head += fmt::format(" {} in {}", l.var->var, text(l.extent, k));
    line(d, head + " {");
    block(r.body, d + 1);
    for (const Fold& f : r.folds)
      line(d + 1, fmt::format("{} = {} {}", f.var->var, name_of(f.op), text(f.value, k)));
    line(d, "}");
  }
  void stmt(const Store& s, int d) {
    line(d,
         fmt::format("{}[{}] = {}", k.buffers[s.buffer].name, text(s.index, k), text(s.value, k)));
  }
  void stmt(const If& s, int d) {
    line(d, fmt::format("if {} {{", text(s.condition, k)));
    block(s.then, d + 1);
    line(d, "}");
  }
  void stmt(const Check& s, int d) {
    line(d, fmt::format("check {} \"{}\" {} bound {}{}", text(s.condition, k), s.message,
                        text(s.value, k), text(s.bound, k), s.from_zero ? " from 0" : ""));
  }
};

// Walks a kernel with the set of variables in scope.
struct Verifier {
  const Kernel& k;
  std::set<int64_t> scope = {};
  Status status = {};

  void fail(Failure f) {
    if (status.ok()) status = Status(std::move(f).within("kernel " + k.name));
  }
  void expr(const Expr& e) {
    if (!e.defined()) return fail(bug("an expression is missing"));
    if (e->op == Op::var && !scope.contains(e->i)) fail(bug("{} is not in scope", e->var));
    if (e->op == Op::load) {
      if (e->i < 0 || e->i >= std::ssize(k.buffers)) return fail(bug("a load of buffer {}", e->i));
      if (k.buffers[e->i].access == Access::write)
        fail(bug("a load of {}, which is only written", k.buffers[e->i].name));
    }
    for (const Expr& a : e->args) expr(a);
  }
  void block(const Block& b, bool outermost) {
    auto saved = scope;
    for (const Stmt& s : b) std::visit([&](const auto& n) { stmt(n, outermost); }, s.node);
    scope = std::move(saved);
  }
  void open(const Loop& l) {
    expr(l.extent);
    scope.insert(l.var->i);
  }
  void stmt(const For& f, bool outermost) {
    if (f.kind == ForKind::parallel && !outermost) fail(bug("a parallel loop inside another loop"));
    open(f.loop);
    block(f.body, false);
  }
  void stmt(const Let& s, bool) {
    expr(s.value);
    scope.insert(s.var->i);
  }
  void stmt(const Define& s, bool) {
    expr(s.value);
    scope.insert(s.var->i);
  }
  void stmt(const Assign& s, bool) {
    expr(s.var);
    expr(s.value);
    if (s.var.type() != s.value.type()) fail(bug("{} gets a value of another type", s.var->var));
  }
  void stmt(const Reduce& r, bool) {
    auto saved = scope;
    for (const Loop& l : r.loops) open(l);
    for (const Stmt& s : r.body) std::visit([&](const auto& n) { stmt(n, false); }, s.node);
    for (const Fold& f : r.folds) expr(f.value);
    scope = std::move(saved);
    for (const Fold& f : r.folds) scope.insert(f.var->i);
  }
  void stmt(const Store& s, bool) {
    expr(s.index);
    expr(s.value);
    if (s.buffer < 0 || s.buffer >= std::ssize(k.buffers))
      return fail(bug("a store to buffer {}", s.buffer));
    const Buffer& b = k.buffers[s.buffer];
    if (b.access == Access::read) fail(bug("a store to {}, which is only read", b.name));
    if (s.value.defined() && s.value.type() != compute_type(b.dtype))
      fail(bug("a store of {} to {} {}", cleave::name_of(s.value.type()), b.name,
               cleave::name_of(b.dtype)));
  }
  void stmt(const If& s, bool) {
    expr(s.condition);
    block(s.then, false);
  }
  void stmt(const Check& s, bool) {
    expr(s.condition);
    expr(s.value);
    expr(s.bound);
  }
};

}  // namespace

std::string print(const Kernel& k) {
  Printer p{k, {}};
  std::string head = fmt::format("kernel {}(", k.name);
  constexpr std::string_view access[] = {"read", "write", "update", "local"};
  for (size_t i = 0; i < k.buffers.size(); ++i)
    head += fmt::format("{}{}: {}[{}] {}", i ? ", " : "", k.buffers[i].name,
                        cleave::name_of(k.buffers[i].dtype), k.buffers[i].elements,
                        access[static_cast<int>(k.buffers[i].access)]);
  for (const std::string& s : k.scalars) head += fmt::format(", {}: scalar", s);
  p.line(0, head + ") {");
  p.block(k.body, 1);
  p.line(0, "}");
  return p.out;
}

Status verify(const Kernel& k) {
  Verifier v{k};
  for (size_t s = 0; s < k.scalars.size(); ++s) v.scope.insert(-1 - static_cast<int64_t>(s));
  int64_t local_bytes = 0;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    if (k.buffers[i].access != Access::local) continue;
    local_bytes += rounded(k.buffers[i].elements * size_of(k.buffers[i].dtype));
    if (i + 1 < k.buffers.size() && k.buffers[i + 1].access != Access::local)
      v.fail(bug("the local buffer {} stands before {}", k.buffers[i].name, k.buffers[i + 1].name));
  }
  if (local_bytes > most_local_bytes)
    v.fail(bug("local buffers of {} bytes, expected at most {}", local_bytes, most_local_bytes));
  v.block(k.body, true);
  return v.status;
}

}  // namespace cleave::loop
