#include "schedule/lane_check.h"

#include <algorithm>
#include <map>

#include "loop/replace.h"
#include "loop/sum_blocks.h"
#include "schedule/lane_strides.h"
#include "schedule/short_folds.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

// The most iterations of serial loops inside a loop in lanes: their memory is accessed lane by
// lane.
constexpr int64_t max_inner_iterations = 64;
// Loops of fewer stay scalar: of [n,2] a tanh takes 4.8 ns an element in vectors of AVX2 and 2.1
// one by one, of [n,4] 2.4 and 2.2, and a relu .5 and 1.0 (Zen 5, 2026-11-30).
constexpr int64_t min_iterations = 4;

// The operations on bool lanes.
bool of_bool(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::min:
    case Op::max:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not:
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
    case Op::sign:
    case Op::abs:
    case Op::select:
    case Op::cast: return true;
    default: return false;
  }
}

// Whether it reads where memory says: in an arm of a select, whose lanes that don't take it read
// nothing, such elements are gathered.
bool is_found_by_reading(const Expr& e) {
  bool out = false;
  if (e->reads_memory)
    for_each_part(
        e, [&](const Expr& part) { out |= part->op == Op::load && part->args[0]->reads_memory; });
  return out;
}

// The iterations that loops over a row may have for a lane to take it whole: 15 if it is folded, 31
// if folds take functions, and 7 if other loops do, of whose vectors half would do nothing. ns an
// element, so and by the row's own loops (Zen 5, 2026-11-30):
//
//   softmax of      [n,8]         [n,17]        [n,31]        [n,40]
//   AVX2            .81 and 2.8   .99 and 1.8   .94 and 1.0   .92 and .82
//   AVX-512         .54 and 2.0   .73 and .92   .64 and .50   .65 and .54
//   log_softmax     .79           .80 and 1.6   .68 and .88   .68 and .77
int64_t longest_row(const Block& b) {
  int64_t out = 0;
  for (const Stmt& s : b) {
    auto* r = std::get_if<Reduce>(&s.node);
    if (r && takes_functions(r->body, r->folds)) return 2 * loop_lanes - 1;
    if (r && is_short(*r)) out = std::max<int64_t>(out, loop_lanes - 1);
    auto* f = std::get_if<For>(&s.node);
    if (f && takes_functions(f->body)) out = std::max<int64_t>(out, loop_lanes / 2 - 1);
  }
  return out;
}

// What runs in lanes: elements of a loop, 16 columns, or 64, which must be adjacent.
enum class LanesOf : uint8_t { loop, few_columns, columns };

class LaneCheck {
 public:
  LaneCheck(const Kernel& k, LanesOf of)
      : kernel_(k), columns_(of != LanesOf::loop), is_wide_(of == LanesOf::columns) {}

  LaneStrides strides;
  // A lane for each row, whose loops have at most so many iterations; 0: they run in lanes instead
  // where they can.
  int64_t longest_row = 0;

  bool block(const Block& b) {
    return std::ranges::all_of(b, [&](const Stmt& s) {
      return std::visit([&](const auto& n) { return stmt(n); }, s.node);
    });
  }
  bool expr(const Expr& e) const {
    const LaneStride stride = strides.of(e);
    if (stride == LaneStride(0) || e->op == Op::var || e->op == Op::constant) return true;
    if (stride) return !is_wide_ || e.type() == DType::i64;
    if (!e->args.empty() && e->args[0].type() == DType::boolean && !of_bool(e->op)) return false;
    if (e->op == Op::load) {
      const LaneStride at = strides.of(e->args[0]);
      if (strides.is_own(e->buffer())) return at == LaneStride(0);
      if (is_wide_ && at != LaneStride(1)) return false;
      return at || expr(e->args[0]);
    }
    // No vector instructions, and such a loop does little else.
    const bool divides = e->op >= Op::truncdiv && e->op <= Op::floormod;
    if (e.type() == DType::i64 && (divides || e->op == Op::div)) return false;
    if (e->op == Op::philox) {
      if (is_wide_) return false;
      for (size_t k : {0, 1, 2})
        if (strides.of(e->args[k]) != LaneStride(0)) return false;
    }
    if (e->op == Op::select && is_wide_ &&
        (is_found_by_reading(e->args[1]) || is_found_by_reading(e->args[2])))
      return false;
    return std::ranges::all_of(e->args, [&](const Expr& a) { return expr(a); });
  }

 private:
  bool stmt(const Let& s) {
    if (!expr(s.value)) return false;
    strides.set(s.var, strides.of(s.value));
    inside_.insert({s.var->id(), true});
    return true;
  }
  bool stmt(const Define& s) {
    strides.set(s.var, std::nullopt);
    inside_.insert({s.var->id(), true});
    return expr(s.value);
  }
  bool stmt(const Assign& s) { return inside_.contains(s.var->id()) && expr(s.value); }
  bool stmt(const Store& s) {
    const LaneStride at = strides.of(s.index);
    if (strides.is_own(s.buffer)) return at == LaneStride(0) && expr(s.value);
    if (at == LaneStride(0) || (is_wide_ && at != LaneStride(1))) return false;
    return (at || expr(s.index)) && expr(s.value);
  }
  bool stmt(const If& s) { return strides.of(s.condition) == LaneStride(0) && block(s.then); }
  // A failed check reports the first failing index, so only one check may differ by lane.
  bool stmt(const Check& s) {
    if (strides.of(s.condition) == LaneStride(0) && strides.of(s.value) == LaneStride(0))
      return true;
    return !columns_ && depth_ == 0 && ++checks_ == 1 && strides.of(s.bound) == LaneStride(0) &&
           expr(s.condition) && expr(s.value);
  }
  bool few(const Loop& l) {
    strides.set(l.var, 0);
    if (columns_) return strides.of(l.extent) == LaneStride(0);
    const int64_t* n = l.extent.as_const_int();
    iterations_ *= n ? std::max<int64_t>(*n, 1) : max_inner_iterations + 1;
    return iterations_ <= max_inner_iterations;
  }
  bool stmt(const For& f) {
    if (f.kind == ForKind::lanes || f.kind == ForKind::parallel) return false;
    const bool stays = columns_ || (longest_row > 0 && !may_exceed(f.loop.extent, longest_row));
    if (!stays && runs_in_lanes(kernel_, f, false)) return false;  // the inner loop runs in lanes
    const int64_t outside = iterations_;
    ++depth_;
    const bool good = few(f.loop) && block(f.body);
    --depth_;
    iterations_ = outside;
    return good;
  }
  bool stmt(const Reduce& r) {
    const int64_t* inner = r.loops.back().extent.as_const_int();
    const bool in_row = inner && r.loops.size() == 1 && *inner <= longest_row;
    if (!columns_ && !in_row && (!inner || *inner >= reduce_lanes)) return false;
    const int64_t outside = iterations_;
    ++depth_;
    bool good = std::ranges::all_of(r.loops, [&](const Loop& l) { return few(l); });
    good = good && block(r.body);
    for (const Fold& f : r.folds) {
      good = good && expr(f.value);
      strides.set(f.var, std::nullopt);
    }
    --depth_;
    iterations_ = outside;
    return good;
  }

  const Kernel& kernel_;
  const bool columns_, is_wide_;
  std::map<int64_t, bool> inside_;
  int64_t iterations_ = 1;
  int depth_ = 0, checks_ = 0;
};

// All stores and loads of a block.
struct Accesses {
  const Kernel& kernel;
  std::vector<const Store*> stores = {};
  std::vector<Expr> loads = {};
  bool simple = true;  // only lets, stores and checks

  void of(const Expr& e) {
    if (e->op == Op::load) loads.push_back(e);
    for (const Expr& a : e->args) of(a);
  }
  void of(const Block& b) {
    for (const Stmt& s : b) {
      if (auto* let = std::get_if<Let>(&s.node)) {
        of(let->value);
      } else if (auto* store = std::get_if<Store>(&s.node)) {
        stores.push_back(store);
        of(store->index);
        of(store->value);
      } else if (auto* check = std::get_if<Check>(&s.node)) {
        of(check->condition);
      } else {
        simple = false;
      }
    }
  }
  // Whether no iteration accesses what another stores: each stored buffer is accessed at a single
  // index expression, which differs in each iteration. Two buffers of a kernel are different
  // storages, or a result over an operand that is read at the same index (InPlace of the
  // KernelCall).
  bool apart(const LaneStrides& strides) const {
    return std::ranges::all_of(stores, [&](const Store* s) {
      const auto far = [&](int64_t buffer, const Expr& index) {
        return buffer != s->buffer || index == s->index;
      };
      const LaneStride at = strides.of(s->index);
      return at && *at != 0 &&
             std::ranges::all_of(stores,
                                 [&](const Store* t) { return far(t->buffer, t->index); }) &&
             std::ranges::all_of(loads,
                                 [&](const Expr& l) { return far(l->buffer(), l->args[0]); });
    });
  }
};

bool folds_in_lanes(const Reduce& r) {
  for (const Fold& f : r.folds) {
    const bool logical = f.op == ReduceOp::any || f.op == ReduceOp::all;
    const DType t = f.var.type();
    if (logical ? t != DType::boolean && t != DType::i32
                : t == DType::boolean && f.op != ReduceOp::max && f.op != ReduceOp::min)
      return false;
  }
  return true;
}

bool independent(const Kernel& k, const For& f, const LaneStrides& strides) {
  if (f.kind != ForKind::serial) return true;
  Accesses a{k};
  a.of(f.body);
  return a.simple && !a.stores.empty() && a.apart(strides);
}

}  // namespace

bool runs_in_lanes(const Kernel& k, const Expr& var, const Block& independent) {
  LaneCheck check(k, LanesOf::loop);
  check.strides.set(var, 1);
  return check.block(independent);
}

bool runs_in_lanes(const Kernel& k, const For& f, bool rows) {
  LaneCheck check(k, f.kind == ForKind::lanes ? LanesOf::columns : LanesOf::loop);
  if (f.kind == ForKind::parallel)
    check.strides.set(f.loop.var, 1);
  else
    check.strides.set_lane(f.loop.var, f.kind == ForKind::lanes ? column_lanes : loop_lanes);
  const int64_t* n = f.loop.extent.as_const_int();
  if (f.kind != ForKind::lanes && n && *n < min_iterations) return false;
  if (rows && f.kind == ForKind::parallel && local_bytes(k) * loop_lanes <= max_local_bytes) {
    check.strides.own_locals(k);
    check.longest_row = !n || *n >= loop_lanes ? longest_row(f.body) : 0;
  }
  return check.block(f.body) && independent(k, f, check.strides);
}

bool runs_in_few_lanes(const Kernel& k, const For& columns) {
  LaneCheck check(k, LanesOf::few_columns);
  check.strides.set_lane(columns.loop.var);
  return check.block(columns.body);
}

bool runs_in_lanes(const Kernel& k, const Reduce& r) {
  if (!folds_in_lanes(r)) return false;
  LaneCheck check(k, LanesOf::loop);
  check.strides.set_lane(r.loops.back().var);
  const bool plain = std::ranges::all_of(r.body, [](const Stmt& s) {
    return std::holds_alternative<Let>(s.node) || std::holds_alternative<Store>(s.node) ||
           std::holds_alternative<Check>(s.node);
  });
  if (!plain || !check.block(r.body)) return false;
  Accesses a{k};
  a.of(r.body);
  for (const Fold& f : r.folds) {
    if (!check.expr(f.value)) return false;
    a.of(f.value);
  }
  return a.apart(check.strides);
}

}  // namespace cleave::schedule
