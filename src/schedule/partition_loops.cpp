#include "schedule/partition_loops.h"

#include <algorithm>

#include "loop/replace.h"
#include "schedule/lane_strides.h"
#include "schedule/next_variable.h"
#include "schedule/range_tests.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

// Of the iterations that lose their tests, and where that makes neighbours of gathered elements.
constexpr int64_t min_part = reduce_lanes, min_gathered_part = 2;
constexpr size_t max_parts = 5;
constexpr int64_t max_vectors = 16;        // of a loop whose rest is a part of its own
constexpr uint32_t max_operations = 4000;  // of all parts, written out

// Iterations [begin, end).
struct LoopRange {
  int64_t begin = 0, end = 0;
};

// The body of a loop for a part of its iterations.
class Part {
 public:
  Part(const For& f, const LoopRange& range, int64_t& next)
      : iterations_(range.end - range.begin), next_(next), part_(f), tests_(fresh(f.loop.var)) {
    part_.loop = {tests_.var(), Expr(iterations_)};
    variables_[f.loop.var->id()] = tests_.var() + Expr(range.begin);
    block(part_.body);
  }
  For take() && { return std::move(part_); }

 private:
  Expr fresh(const Expr& var) { return make_var(next_++, var->name(), var.type()); }
  void bind(Expr& var) {
    const Expr made = fresh(var);
    variables_[var->id()] = made;
    var = made;
  }

  void block(Block& b) {
    for (Stmt& s : b) {
      if (auto* let = std::get_if<Let>(&s.node))
        let->value = expr(let->value), bind(let->var), tests_.define(let->var, let->value);
      else if (auto* define = std::get_if<Define>(&s.node))
        define->value = expr(define->value), bind(define->var);
      else if (auto* a = std::get_if<Assign>(&s.node))
        a->var = expr(a->var), a->value = expr(a->value);
      else if (auto* store = std::get_if<Store>(&s.node))
        store->index = expr(store->index), store->value = expr(store->value);
      else if (auto* check = std::get_if<Check>(&s.node))
        check->condition = expr(check->condition), check->value = expr(check->value),
        check->bound = expr(check->bound);
      else if (auto* i = std::get_if<If>(&s.node))
        i->condition = expr(i->condition), block(i->then);
    }
  }

  Expr expr(const Expr& e) {
    if (const auto found = made_.find(e); found != made_.end()) return found->second;
    const Expr out = rewritten(e);
    made_.emplace(e, out);
    return out;
  }
  Expr rewritten(const Expr& e) {
    if (e->op == Op::var) {
      const auto found = variables_.find(e->id());
      return found == variables_.end() ? e : found->second;
    }
    if (e->args.empty()) return e;
    Operands args = e->args;
    for (Expr& a : args) a = expr(a);
    if (const Expr folded = fold(*e, args); folded.defined()) return folded;
    const bool adds = e->op == Op::add || e->op == Op::sub || e->op == Op::mul;
    const Expr out = args == e->args                  ? e
                     : adds && e.type() == DType::i64 ? binary(e->op, args[0], args[1])
                                                      : e->with(args);
    const std::optional<bool> result = tests_.result_in_first(out, iterations_);
    if (!result) return out;
    return e.type() == DType::boolean ? truth(*result) : args[*result ? 0 : 1];
  }

  static Expr truth(bool is) { return constant_int(DType::boolean, is ? 1 : 0); }
  static std::optional<bool> known(const Expr& e) {
    if (e->op != Op::constant || e.type() != DType::boolean) return std::nullopt;
    return e->integer() != 0;
  }
  static Expr fold(const ExprNode& e, const Operands& args) {
    const std::optional<bool> first =
        args[0].type() == DType::boolean ? known(args[0]) : std::nullopt;
    if (e.op == Op::select) return first ? args[*first ? 1 : 2] : Expr();
    if (e.op == Op::logical_not && first) return truth(!*first);
    if (e.op != Op::logical_and && e.op != Op::logical_or) return {};
    if (args[0].type() != DType::boolean) return {};
    const std::optional<bool> second = known(args[1]);
    const bool decides = e.op == Op::logical_or;  // the result if an operand is the same
    if (first == decides || second == decides) return truth(decides);
    if (first) return args[1];
    return second ? args[0] : Expr();
  }

  const int64_t iterations_;
  int64_t& next_;
  For part_;
  RangeTests tests_;
  std::unordered_map<int64_t, Expr> variables_;
  std::unordered_map<Expr, Expr> made_;
};

// Whether it has no loops.
bool is_plain(const Block& b) {
  return std::ranges::all_of(b, [](const Stmt& s) {
    if (auto* i = std::get_if<If>(&s.node)) return is_plain(i->then);
    return !std::holds_alternative<For>(s.node) && !std::holds_alternative<Reduce>(s.node);
  });
}

class Partition {
 public:
  Partition(const Kernel& k, bool in_vectors)
      : next_(next_variable(k.body)), in_vectors_(in_vectors) {}

  void block(Block& b) {
    Block out;
    for (Stmt& s : b) {
      if (auto* f = std::get_if<For>(&s.node)) {
        if (std::optional<std::vector<For>> parts = parts_of(*f)) {
          for (For& part : *parts) out.emplace_back(std::move(part));
          continue;
        }
        block(f->body);
      }
      out.push_back(std::move(s));
    }
    b = std::move(out);
  }

 private:
  // What the expressions of a body read, if it has no loops: else nothing.
  struct Survey {
    explicit Survey(const For& f) : tests(f.loop.var), iterations(*f.loop.extent.as_const_int()) {
      lanes.set_lane(f.loop.var);
    }

    RangeTests tests;
    int64_t iterations;
    LaneStrides lanes;
    std::set<int64_t> changes = {};
    uint64_t operations = 0;
    bool gathers = false;

    void of(const Expr& e) {
      operations += e->operations;
      tests.changes_of(e, iterations, changes);
      if (!e->reads_memory) return;
      for_each_part(e, [&](const Expr& part) {
        gathers |= part->op == Op::load && !part->args[0]->reads_memory && !lanes.of(part->args[0]);
      });
    }
    bool of(const Block& b) {
      return std::ranges::all_of(b, [&](const Stmt& s) {
        if (auto* let = std::get_if<Let>(&s.node)) {
          of(let->value);
          tests.define(let->var, let->value);
          lanes.set(let->var, lanes.of(let->value));
        } else if (auto* define = std::get_if<Define>(&s.node)) {
          of(define->value);
        } else if (auto* a = std::get_if<Assign>(&s.node)) {
          of(a->value);
        } else if (auto* store = std::get_if<Store>(&s.node)) {
          of(store->index), of(store->value);
        } else if (auto* check = std::get_if<Check>(&s.node)) {
          of(check->condition), of(check->value);
        } else if (auto* i = std::get_if<If>(&s.node)) {
          of(i->condition);
          return of(i->then);
        } else {
          return false;
        }
        return true;
      });
    }
  };

  std::optional<std::vector<For>> parts_of(const For& f) {
    const int64_t* n = f.loop.extent.as_const_int();
    if (f.kind != ForKind::serial && f.kind != ForKind::independent) return std::nullopt;
    if (!n || *n <= min_gathered_part) return std::nullopt;
    Survey survey(f);
    if (!survey.of(f.body) || survey.changes.empty()) return std::nullopt;
    const std::vector<LoopRange> ranges =
        ranges_of(survey.changes, *n, survey.gathers && in_vectors_ ? min_gathered_part : min_part);
    if (ranges.size() < 2 || ranges.size() > max_parts) return std::nullopt;
    if (survey.operations * ranges.size() > max_operations) return std::nullopt;
    std::vector<For> out;
    for (const LoopRange& range : ranges) out.push_back(Part(f, range, next_).take());
    return out;
  }

  // Neighbouring short parts are one, with their tests. Empty: all parts are short.
  static std::vector<LoopRange> ranges_of(const std::set<int64_t>& changes, int64_t n,
                                          int64_t least) {
    std::vector<LoopRange> out;
    bool after_short = false, any_long = false;
    int64_t begin = 0;
    const auto add = [&](int64_t end) {
      const bool is_short = end - begin < least;
      any_long = any_long || !is_short;
      if (is_short && after_short)
        out.back().end = end;
      else
        out.push_back({begin, end});
      after_short = is_short;
      begin = end;
    };
    for (const int64_t change : changes) add(change);
    add(n);
    if (!any_long) out.clear();
    return out;
  }

  int64_t next_;
  const bool in_vectors_;
};

}  // namespace

void partition_loops(Kernel& kernel, bool in_vectors) {
  Partition(kernel, in_vectors).block(kernel.body);
}

std::optional<For> split_rest(For& f, int64_t& variable) {
  const int64_t* n = f.loop.extent.as_const_int();
  if (f.kind != ForKind::independent || !f.vectors.has_tail || !f.ahead.empty() || !n)
    return std::nullopt;
  const int64_t whole = *n - *n % reduce_lanes;
  if (whole == 0 || *n > max_vectors * reduce_lanes || !is_plain(f.body)) return std::nullopt;
  For rest = Part(f, {whole, *n}, variable).take();
  f.loop.extent = Expr(whole);
  f.vectors.has_tail = false;
  return rest;
}

}  // namespace cleave::schedule
