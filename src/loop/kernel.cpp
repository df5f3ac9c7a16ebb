// Checks of a kernel's loop nest.
#include "loop/kernel.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/alignment.h"

namespace cleave::loop {

Stmt::Stmt() = default;
Stmt::Stmt(Node n) : node(std::move(n)) {}
Stmt::Stmt(const Stmt& from) = default;
Stmt::Stmt(Stmt&& from) noexcept = default;
Stmt& Stmt::operator=(const Stmt& from) = default;
Stmt& Stmt::operator=(Stmt&& from) noexcept = default;
Stmt::~Stmt() = default;

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

Expr scalar_var(const Kernel& k, size_t scalar) {
  return make_var(-1 - static_cast<int64_t>(scalar), k.scalars[scalar].name,
                  k.scalars[scalar].type);
}

namespace {

// Walks a kernel with the set of variables in scope.
struct Verifier {
  const Kernel& k;
  std::set<int64_t> scope = {};
  std::vector<int64_t> entered = {};  // the variables in scope, in order
  Status status = {};

  void enter(int64_t variable) {
    if (scope.insert(variable).second) entered.push_back(variable);
  }
  // Ends the scope that began when `before` variables were entered.
  void leave(size_t before) {
    for (; entered.size() > before; entered.pop_back()) scope.erase(entered.back());
  }

  void fail(Failure f) {
    if (status.ok()) status = Status(std::move(f).within("kernel " + k.name));
  }
  bool has_buffer(const Expr& e) {
    const bool has = e->buffer() >= 0 && e->buffer() < std::ssize(k.buffers);
    if (!has) fail(bug("a load of buffer {}", e->buffer()));
    return has;
  }
  void expr(const Expr& e) {
    if (!e.defined()) return fail(bug("an expression is missing"));
    if (e->op == Op::var && !scope.contains(e->id())) fail(bug("{} is not in scope", e->name()));
    if (e->op == Op::load) {
      if (!has_buffer(e)) return;
      const Buffer& b = k.buffers[static_cast<size_t>(e->buffer())];
      if (b.access == Access::write) fail(bug("a load of {}, which is only written", b.name));
    }
    for (const Expr& a : e->args) expr(a);
  }
  void block(const Block& b, bool outermost) {
    const size_t before = entered.size();
    for (const Stmt& s : b) std::visit([&](const auto& n) { stmt(n, outermost); }, s.node);
    leave(before);
  }
  void open(const Loop& l) {
    expr(l.extent);
    enter(l.var->id());
  }
  void stmt(const For& f, bool outermost) {
    if (f.kind == ForKind::parallel && !outermost) fail(bug("a parallel loop inside another loop"));
    const size_t before = entered.size();
    open(f.loop);
    if (f.rows.length.defined()) {
      expr(f.rows.length);
      if (f.kind != ForKind::parallel || f.rows.shared == 0 || f.rows.shared > f.body.size() ||
          !std::holds_alternative<Let>(f.body[0].node))
        fail(bug("{} is no loop over rows", f.loop.var->name()));
    }
    vectors(f.vectors, f.kind == ForKind::lanes ? column_lanes : reduce_lanes);
    // An extent that kernels share is a scalar, of which this isn't known.
    const int64_t* n = f.loop.extent.as_const_int();
    if (f.kind == ForKind::lanes && f.vectors.any() && n && *n > column_lanes)
      fail(bug("{} columns in a loop of at most {}", *n, column_lanes));
    for (const Expr& e : f.ahead) ahead(e);
    if (f.next.defined()) enter(f.next->id());
    block(f.body, false);
    leave(before);
  }
  void vectors(const Vectors& v, int lanes) {
    if (v.lanes != 1 && v.lanes != reduce_lanes && v.lanes != lanes)
      fail(bug("vectors of {}", v.lanes));
  }
  // A prefetch reads nothing, so the buffer may be one that is only written.
  void ahead(const Expr& e) {
    if (!e.defined() || e->op != Op::load) return fail(bug("what is prefetched is no load"));
    if (has_buffer(e)) expr(e->args[0]);
  }
  void stmt(const Let& s, bool) {
    expr(s.value);
    enter(s.var->id());
  }
  void stmt(const Define& s, bool) {
    expr(s.value);
    enter(s.var->id());
  }
  void stmt(const Assign& s, bool) {
    expr(s.var);
    expr(s.value);
    if (s.var.type() != s.value.type()) fail(bug("{} gets a value of another type", s.var->name()));
  }
  void stmt(const Reduce& r, bool) {
    const size_t before = entered.size();
    for (const Loop& l : r.loops) open(l);
    vectors(r.vectors, reduce_lanes);
    for (const Expr& e : r.ahead) ahead(e);
    if (r.blocks && (r.blocks->loop >= r.loops.size() || r.blocks->iterations < 1))
      fail(bug("blocks of {} iterations", r.blocks->iterations));
    for (const Stmt& s : r.body) std::visit([&](const auto& n) { stmt(n, false); }, s.node);
    for (const Fold& f : r.folds) expr(f.value);
    leave(before);
    for (const Fold& f : r.folds) enter(f.var->id());
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

bool may_exceed(const Expr& extent, int64_t iterations) {
  const auto is_less = [&](const Expr& e) {
    const int64_t* n = e.as_const_int();
    return n && *n <= iterations;
  };
  if (extent->op == Op::min) return std::ranges::none_of(extent->args, is_less);
  return !is_less(extent);
}

int64_t local_bytes(const Kernel& k) {
  int64_t out = 0;
  for (const Buffer& b : k.buffers)
    if (b.access == Access::local) out += rounded(b.elements * size_of(b.dtype));
  return out;
}

Status verify(const Kernel& k) {
  Verifier v{k};
  for (size_t s = 0; s < k.scalars.size(); ++s) v.enter(-1 - static_cast<int64_t>(s));
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    if (k.buffers[i].access != Access::local) continue;
    if (i + 1 < k.buffers.size() && k.buffers[i + 1].access != Access::local)
      v.fail(bug("the local buffer {} stands before {}", k.buffers[i].name, k.buffers[i + 1].name));
  }
  if (local_bytes(k) > max_local_bytes)
    v.fail(bug("local buffers of {} bytes, expected at most {}", local_bytes(k), max_local_bytes));
  v.block(k.body, true);
  return v.status;
}

}  // namespace cleave::loop
