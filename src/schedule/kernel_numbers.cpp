#include "schedule/kernel_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <unordered_map>

#include "schedule/lane_strides.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

bool has_loop(const Stmt& s) {
  if (auto* i = std::get_if<If>(&s.node)) return std::ranges::any_of(i->then, has_loop);
  return std::holds_alternative<For>(s.node) || std::holds_alternative<Reduce>(s.node);
}

class Replacement {
 public:
  Replacement(Kernel& kernel, const ReplaceNumber& replace, const KernelConstants& constants)
      : kernel_(kernel), replace_(replace), constants_(constants), least_(constants.least_factor) {}

  std::string run() {
    for (const Buffer& b : kernel_.buffers) {
      put(b.dtype, b.access);
      if (b.access == Access::local) put(b.elements);
    }
    for (const Scalar& s : kernel_.scalars) put('s', s.type);
    block(kernel_.body);
    return std::move(key_);
  }

 private:
  // ---- the key
  template <class... T>
  void put(T... values) {
    ((key_ += std::to_string(static_cast<int64_t>(values)), key_ += ' '), ...);
  }
  void bind(const Expr& var) {
    number_of_[var->id()] = std::ssize(number_of_);
    put('v', var.type());
  }

  // ---- statements
  void block(std::span<Stmt> b) {
    put('{', b.size());
    for (size_t i = 0; i < b.size(); ++i) {
      const bool loops = std::ranges::any_of(b.subspan(i + 1), has_loop);
      const bool outer = std::exchange(loops_follow_, loops);
      statement(b[i]);
      loops_follow_ = outer;
    }
  }
  void statement(Stmt& s) {
    put('S', s.node.index());
    std::visit([&](auto& n) { write(n); }, s.node);
  }
  void write(Let& s) { define(s.var, s.value, strides_.of(s.value)); }
  void write(Define& s) { define(s.var, s.value, std::nullopt); }
  void define(const Expr& var, Expr& value, LaneStride stride) {
    expr(value);
    if (in_vectors_) strides_.set(var, stride);
    bind(var);
  }
  void write(Assign& s) {
    expr(s.var);
    expr(s.value);
  }
  void write(Store& s) {
    put(s.buffer);
    expr(s.index, false);  // an element's own number
    expr(s.value);
  }
  void write(If& s) {
    expr(s.condition);
    ++depth_;
    block(s.then);
    --depth_;
  }
  void write(Check& s) {
    put(s.from_zero, s.message.size());
    key_ += s.message;
    expr(s.condition);
    expr(s.value);
    expr(s.bound);
  }

  // ---- loops
  void extent(Loop& l) {
    least_ = constants_.least_extent;
    expr(l.extent);
    least_ = constants_.least_factor;
  }
  void way(const Vectors& v, Exprs& ahead) {
    put(v.lanes, v.has_tail, ahead.size());
    for (Expr& e : ahead) expr(e);
  }
  void begin_vectors(const Vectors& v, const Expr& lane) {
    in_vectors_ = in_vectors_ || v.any();
    if (in_vectors_) strides_.set(lane, v.any() ? 1 : 0);
  }
  void end_vectors(bool outside) {
    in_vectors_ = outside;
    if (!outside) strides_ = {};
  }
  void write(For& f) {
    const bool outside = in_vectors_, is_rows = f.rows.length.defined();
    const auto shared = static_cast<std::ptrdiff_t>(f.rows.shared);
    put(f.kind, is_rows, f.next.defined(), shared);
    if (f.kind != ForKind::parallel) extent(f.loop);
    bind(f.loop.var);
    ++depth_;
    if (is_rows) {
      expr(f.rows.length);
      for (std::ptrdiff_t i = 0; i < shared; ++i) {
        loops_follow_ = true;
        statement(f.body[static_cast<size_t>(i)]);
      }
      ++depth_;
    }
    begin_vectors(f.vectors, f.loop.var);
    way(f.vectors, f.ahead);
    if (f.next.defined()) bind(f.next);
    block(std::span(f.body).subspan(static_cast<size_t>(shared)));
    depth_ -= is_rows ? 2 : 1;
    end_vectors(outside);
  }
  void write(Reduce& r) {
    const bool outside = in_vectors_;
    put(r.loops.size(), r.ordered, r.blocks ? r.blocks->iterations : 0,
        r.blocks ? r.blocks->loop : 0, r.folds.size());
    for (size_t d = 0; d < r.loops.size(); ++d) {
      extent(r.loops[d]);
      begin_vectors(d + 1 == r.loops.size() ? r.vectors : Vectors(), r.loops[d].var);
      bind(r.loops[d].var);
    }
    const int inside = static_cast<int>(r.loops.size()) + (r.blocks ? 1 : 0);
    depth_ += inside;
    way(r.vectors, r.ahead);
    block(r.body);
    for (Fold& f : r.folds) {
      put(f.op);
      expr(f.value);
    }
    depth_ -= inside;
    end_vectors(outside);
    for (const Fold& f : r.folds) {
      if (in_vectors_) strides_.set(f.var, std::nullopt);
      bind(f.var);
    }
  }

  // ---- expressions
  void expr(Expr& e, bool may_vary = true) { e = replaced(e, may_vary); }

  Expr replaced(const Expr& e, bool may_vary) {
    put(e->op, e->type);
    if (e->op == Op::var) {
      put(e->id() < 0 ? e->id() : number_of_.at(e->id()));
      return e;
    }
    if (e->op == Op::constant) {
      if (may_vary && varies(*e)) {
        put(e->type == DType::i64 && e->integer() < 0 ? '-' : 'n');
        return replace_(e);
      }
      put(is_floating(e->type) ? std::bit_cast<int64_t>(e->real()) : e->integer());
      return e;
    }
    if (e->op == Op::load) put(e->buffer());
    if (e->op == Op::round_to) put(e->stored());
    Operands args = e->args;
    for (size_t k = 0; k < args.size(); ++k) args[k] = replaced(args[k], operand_may_vary(*e, k));
    return args == e->args ? e : e->with(std::move(args));
  }

  bool varies(const ExprNode& e) const {
    if (e.type == DType::i64) return e.integer() >= least_ || e.integer() <= -least_;
    if (e.type != DType::f32 || !std::isfinite(e.real())) return false;
    const double size = std::abs(e.real());
    return size != 0 && size != 0.5 && size != 1 && size != 2;
  }
  bool operand_may_vary(const ExprNode& e, size_t k) const {
    switch (e.op) {
      case Op::load: return false;
      case Op::mul: return strides_.of(e.args[1 - k]).value_or(0) == 0;
      case Op::truncdiv:
      case Op::truncmod:
        return k == 1 && (!constants_.divisors || (depth_ == row_depth && loops_follow_));
      // A division by a constant power of two is compiled as a product.
      case Op::div: return e.type == DType::f32 && (k == 0 || depth_ <= row_depth);
      case Op::floordiv:
      case Op::floormod: return k == 1 && !constants_.divisors;
      // What says that vectors begin there (whole_vectors.h).
      case Op::bit_and: return e.args[k]->op != Op::constant || e.args[k]->integer() != -loop_lanes;
      case Op::shl:
      case Op::shr:
      case Op::philox: return false;
      case Op::pow: return e.type == DType::f32;
      default: return true;
    }
  }

  static constexpr int row_depth = 1;  // in a parallel loop, and in no other
  Kernel& kernel_;
  const ReplaceNumber& replace_;
  const KernelConstants constants_;
  int64_t least_;
  std::string key_;
  std::unordered_map<int64_t, int64_t> number_of_;  // of variables, by where they are bound
  LaneStrides strides_;                             // in vectors
  bool in_vectors_ = false;
  bool loops_follow_ = false;  // in the block
  int depth_ = 0;
};

}  // namespace

std::string replace_numbers(Kernel& kernel, const ReplaceNumber& replace,
                            const KernelConstants& constants) {
  return Replacement(kernel, replace, constants).run();
}

}  // namespace cleave::schedule
