#include "schedule/schedule.h"

#include <algorithm>

#include "loop/sum_blocks.h"
#include "schedule/column_ahead.h"
#include "schedule/column_tables.h"
#include "schedule/empty_loads.h"
#include "schedule/lane_check.h"
#include "schedule/next_variable.h"
#include "schedule/partition_loops.h"
#include "schedule/row_ahead.h"
#include "schedule/short_folds.h"
#include "schedule/split_rows.h"
#include "schedule/whole_vectors.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

// So many columns run 16 at a time, in as many passes over the rows, while those stay in a cache:
// sums of [n,17] take .11 ns an element so and .30 in 64 lanes of which 17 do something (AVX2,
// Zen 5, 2026-11-30).
constexpr int64_t max_few_columns = 3 * reduce_lanes;
constexpr int64_t max_cached_work = 128 << 10;

class Scheduler {
 public:
  Scheduler(Kernel& kernel, RunsIn in)
      : kernel_(kernel), in_(in), variables_(next_variable(kernel.body)) {}

  void run() {
    share_quotients(kernel_);
    block(kernel_.body, Inside::loop);
    kernel_.is_scheduled = true;
  }

 private:
  // columns: in a loop over columns that isn't in vectors, which runs each statement for all
  // columns; vectors_of_columns: in one that is.
  enum class Inside : uint8_t { loop, columns, vectors, vectors_of_columns };
  struct Ahead {
    For* rows;
    Expr next;
    Exprs loads;
  };

  // Whether the last vector of a loop of this extent may be partial.
  static bool has_tail(const Expr& extent, int lanes) {
    const int64_t* n = extent.as_const_int();
    return !n || *n % lanes != 0;
  }

  static Inside inside_of_block(Inside i) { return i == Inside::columns ? Inside::loop : i; }
  bool takes_apart(Inside inside) const { return in_ == RunsIn::vectors && inside == Inside::loop; }

  void block(Block& b, Inside inside) {
    for (size_t k = 0; k < b.size(); ++k) {
      if (auto* r = std::get_if<Reduce>(&b[k].node); r && takes_apart(inside))
        if (std::optional<For> first = split_short_fold(kernel_, *r, variables_))
          b.insert(b.begin() + static_cast<std::ptrdiff_t>(k), {std::move(*first)});
      Stmt& s = b[k];
      if (auto* f = std::get_if<For>(&s.node)) {
        if (std::optional<For> shared =
                takes_apart(inside) ? with_column_tables(kernel_, *f, variables_) : std::nullopt)
          *f = std::move(*shared);
        loop(*f, inside);
        if (std::optional<For> rest =
                takes_apart(inside) ? split_rest(*f, variables_) : std::nullopt)
          b.insert(b.begin() + static_cast<std::ptrdiff_t>(++k), {std::move(*rest)});
      } else if (auto* r = std::get_if<Reduce>(&s.node))
        reduce(*r, inside);
      else if (auto* i = std::get_if<If>(&s.node))
        block(i->then, inside_of_block(inside));
    }
  }

  void loop(For& f, Inside inside) {
    if (inside == Inside::loop && in_vectors(f)) {
      block(f.body, f.kind == ForKind::lanes ? Inside::vectors_of_columns : Inside::vectors);
      if (f.kind == ForKind::lanes) look_down(f);
      return;
    }
    if (inside == Inside::loop && f.kind == ForKind::lanes) inside = Inside::columns;
    if (inside == Inside::loop) look_ahead(f);
    block(f.body, inside);
  }

  bool in_vectors(For& f) {
    if (f.kind == ForKind::parallel) {
      auto rows = split_rows(f);
      const auto elements = [&] {
        const auto first = rows->body.begin() + static_cast<std::ptrdiff_t>(rows->rows.shared);
        return Block(first, rows->body.end());
      };
      if (rows && runs_in_lanes(kernel_, f.loop.var, elements())) {
        f = std::move(*rows);
        f.vectors = {reduce_lanes, true};
        return true;
      }
    }
    const bool adjacent = runs_in_lanes(kernel_, f, in_ == RunsIn::vectors);
    const bool gathered = !adjacent && in_ == RunsIn::vectors && f.kind == ForKind::lanes &&
                          runs_in_few_lanes(kernel_, f);
    if (!adjacent && !gathered) return false;
    const int64_t few = kernel_.work <= max_cached_work ? max_few_columns : reduce_lanes;
    const bool is_wide = adjacent && f.kind == ForKind::lanes && may_exceed(f.loop.extent, few);
    const int lanes = is_wide ? column_lanes : reduce_lanes;
    // A piece of a parallel loop may end anywhere.
    f.vectors = {lanes, f.kind == ForKind::parallel || has_tail(f.loop.extent, lanes)};
    if (f.kind != ForKind::parallel) f.ahead = ahead_of(&f);
    return true;
  }

  void reduce(Reduce& r, Inside inside) {
    r.ordered = inside == Inside::columns || inside == Inside::vectors_of_columns || is_short(r);
    r.blocks = sum_blocks(r, r.ordered);
    if (inside == Inside::loop && !r.ordered && runs_in_lanes(kernel_, r)) {
      r.vectors = {reduce_lanes, has_tail(r.loops.back().extent, reduce_lanes)};
      r.ahead = ahead_of(&r);
      inside = Inside::vectors;
    }
    block(r.body, inside_of_block(inside));
  }

  // ---- prefetches
  void look_down(For& columns) const {
    for (Stmt& s : columns.body)
      if (auto* r = std::get_if<Reduce>(&s.node)) r->ahead = column_ahead(kernel_, columns, *r);
  }
  void look_ahead(For& rows) {
    const Expr& p = rows.loop.var;
    const Expr next = make_var(variables_, p->name() + "_next", DType::i64);
    for (auto& [loop, loads] : row_ahead(kernel_, rows, next))
      ahead_.try_emplace(loop, Ahead{&rows, next, loads});
    ++variables_;
  }
  Exprs ahead_of(const void* loop) {
    const auto found = ahead_.find(loop);
    if (found == ahead_.end()) return {};
    found->second.rows->next = found->second.next;
    return found->second.loads;
  }

  Kernel& kernel_;
  RunsIn in_;
  int64_t variables_;  // the next variable's number
  std::unordered_map<const void*, Ahead> ahead_;
};

}  // namespace

Kernel schedule(const Kernel& kernel, RunsIn in) {
  Kernel out = kernel;
  if (kernel.is_scheduled) return out;
  drop_empty_loads(out);
  partition_loops(out, in == RunsIn::vectors);
  Scheduler(out, in).run();
  return out;
}

}  // namespace cleave::schedule
