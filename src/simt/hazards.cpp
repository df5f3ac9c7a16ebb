#include "simt/hazards.h"

#include <algorithm>
#include <unordered_set>

#include "loop/replace.h"
#include "simt/affine.h"
#include "simt/team.h"

namespace cleave::simt {

using loop::for_each_part;
using loop::Op;
using loop::replaced;
using loop::VariableValues;

const Expr& shared_variable() {
  static const Expr var = loop::make_var(int64_t{-1} << 40, "j", DType::i64);
  return var;
}

namespace {

class Collector {
 public:
  explicit Collector(int64_t loop_chunk) : loop_chunk_(loop_chunk) {}
  BufferAccesses out;

  void block(const loop::Block& b) {
    for (const loop::Stmt& s : b) stmt(s);
  }
  void stmt(const loop::Stmt& s) {
    std::visit([&](const auto& n) { write(n); }, s.node);
  }
  void iterations(const loop::For& f) { nest(f.loop.var, f.body); }

 private:
  void write(const loop::Let& s) {
    reads(s.value);
    values_[s.var->id()] = replaced(s.value, values_);
  }
  void write(const loop::Define& s) { reads(s.value), mutables_.insert(s.var->id()); }
  void write(const loop::Assign& s) { reads(s.value), mutables_.insert(s.var->id()); }
  void write(const loop::Store& s) {
    reads(s.index), reads(s.value);
    access(s.buffer, s.index, true);
  }
  void write(const loop::Check& s) { reads(s.condition), reads(s.value), reads(s.bound); }
  void write(const loop::If& s) { reads(s.condition), block(s.then); }
  void write(const loop::For& f) {
    reads(f.loop.extent);
    if (loop_.defined() || !is_spread(f)) return nest(f.loop.var, f.body);
    const int64_t chunk = f.kind == loop::ForKind::lanes ? 1 : loop_chunk_;
    spread(f.loop.var, f.loop.extent, chunk, [&] { block(f.body); });
  }
  void write(const loop::Reduce& r) {
    for (const loop::Loop& l : r.loops) reads(l.extent);
    const auto body = [&] {
      block(r.body);
      for (const loop::Fold& f : r.folds) reads(f.value);
    };
    if (loop_.defined() || !is_spread(r)) {
      for (const loop::Loop& l : r.loops) changing_.insert(l.var->id());
      return body();
    }
    if (r.loops.size() == 1) return spread(r.loops[0].var, r.loops[0].extent, fold_chunk, body);
    for (const loop::Loop& l : r.loops) changing_.insert(l.var->id());
    spread(r.loops.back().var, Expr(), fold_chunk, body);
  }
  template <class F>
  void spread(const Expr& var, const Expr& extent, int64_t chunk, const F& body) {
    loop_ = var, share_ = extent, chunk_ = chunk;
    values_[var->id()] = shared_variable();
    body();
    loop_ = {};
  }
  void nest(const Expr& var, const loop::Block& body) {
    changing_.insert(var->id());
    block(body);
  }

  void reads(const Expr& e) {
    for_each_part(e, [&](const Expr& part) {
      if (part->op == Op::load) access(part->buffer(), part->args[0], false);
    });
  }
  void access(int64_t buffer, const Expr& index, bool is_write) {
    using Who = BufferAccess::Who;
    BufferAccess a{buffer, is_write};
    const Expr at = replaced(index, values_);
    bool is_simple = !at->reads_memory, is_fixed = is_simple;
    for_each_part(at, [&](const Expr& part) {
      if (part->op != Op::var) return;
      is_fixed &= !changing_.contains(part->id()) && !mutables_.contains(part->id());
      is_simple &= !mutables_.contains(part->id());
    });
    a.is_fixed = is_fixed;
    if (loop_.defined()) {
      a.who = Who::spread, a.share = share_, a.chunk = chunk_;
      Affines affine;
      affine.set_loop(shared_variable());
      const auto steps = affine.of(at);
      if (is_simple && share_.defined() && steps && steps->factor == 1) a.index = at;
    } else {
      a.who = is_write ? Who::one : Who::all;
    }
    out.push_back(std::move(a));
  }

  const int64_t loop_chunk_;
  VariableValues values_;
  std::unordered_set<int64_t> mutables_, changing_;
  Expr loop_, share_;
  int64_t chunk_ = 0;
};

bool is_same_thread(const BufferAccess& a, const BufferAccess& b) {
  using Who = BufferAccess::Who;
  if (a.who != b.who) return false;
  if (a.who == Who::one) return true;
  return a.who == Who::spread && a.index.defined() && b.index.defined() && a.index == b.index &&
         a.share == b.share && a.chunk == b.chunk;
}

}  // namespace

BufferAccesses accesses_of(const loop::Stmt& s, int64_t loop_chunk) {
  Collector c(loop_chunk);
  c.stmt(s);
  return std::move(c.out);
}

BufferAccesses accesses_of(const loop::Block& b, int64_t loop_chunk) {
  Collector c(loop_chunk);
  c.block(b);
  return std::move(c.out);
}

bool conflict(const BufferAccesses& before, const BufferAccesses& after) {
  for (const BufferAccess& a : before)
    for (const BufferAccess& b : after)
      if (a.buffer == b.buffer && (a.is_write || b.is_write) && !is_same_thread(a, b)) return true;
  return false;
}

bool conflict_in_loop(const loop::For& f, int64_t loop_chunk) {
  Collector c(loop_chunk);
  c.iterations(f);
  for (const BufferAccess& a : c.out)
    for (const BufferAccess& b : c.out) {
      if (a.buffer != b.buffer || !(a.is_write || b.is_write)) continue;
      if (!is_same_thread(a, b)) return true;
      const bool one = a.who == BufferAccess::Who::one;
      if (!one && !(a.is_fixed && b.is_fixed)) return true;
    }
  return false;
}

}  // namespace cleave::simt
