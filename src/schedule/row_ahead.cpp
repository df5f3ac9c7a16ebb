#include "schedule/row_ahead.h"

#include <algorithm>
#include <unordered_set>

#include "loop/replace.h"
#include "schedule/lane_strides.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

constexpr int64_t min_row_bytes = 8 << 10;  // shorter ones the processor prefetches itself

class Finder {
 public:
  Finder(const Kernel& kernel, const Expr& row, const Expr& next)
      : kernel_(kernel), row_(row), next_(next) {}

  void block(const Block& b) {
    for (const Stmt& s : b) {
      if (auto* f = std::get_if<For>(&s.node)) {
        loops_.push_back(f->loop);
        if (f->kind == ForKind::independent)
          innermost(f, f->body, {});
        else
          block(f->body);
        loops_.pop_back();
      } else if (auto* r = std::get_if<Reduce>(&s.node)) {
        loops_.insert(loops_.end(), r->loops.begin(), r->loops.end());
        innermost(r, r->body, r->folds);
        loops_.resize(loops_.size() - r->loops.size());
      }
    }
  }

  RowAhead found() {
    RowAhead out;
    for (Read& read : reads_)
      if (read.loops > 1 && !storing_.contains(read.last))
        out[read.last].push_back(replaced(read.load, VariableValues{{row_->id(), next_}}));
    return out;
  }

 private:
  struct Read {
    Expr load, key;
    const void* last;
    int loops = 1;
  };

  void innermost(const void* loop, const Block& body, const std::vector<Fold>& folds) {
    strides_ = {};
    strides_.set(loops_.back().var, 1);
    for (const Stmt& s : body) {
      if (auto* let = std::get_if<Let>(&s.node)) {
        expr(loop, let->value);
        strides_.set(let->var, std::nullopt);
      } else if (auto* store = std::get_if<Store>(&s.node)) {
        expr(loop, store->value);
        if (kernel_.buffers[static_cast<size_t>(store->buffer)].access != Access::local)
          storing_.insert(loop);
      }
    }
    for (const Fold& f : folds) expr(loop, f.value);
  }

  void expr(const void* loop, const Expr& e) {
    if (e->op == Op::load && kernel_.buffers[e->buffer()].access == Access::read &&
        strides_.of(e->args[0]) == LaneStride(1) && has_variable(e->args[0], row_) &&
        row_elements() * size_of(kernel_.buffers[e->buffer()].dtype) >= min_row_bytes)
      load(loop, e);
    for (const Expr& a : e->args) expr(loop, a);
  }

  int64_t row_elements() const {
    int64_t out = 1;
    for (const Loop& l : loops_) {
      const int64_t* n = l.extent.as_const_int();
      out *= n ? *n : 1;
    }
    return out;
  }

  void load(const void* loop, const Expr& e) {
    VariableValues places;
    for (size_t d = 0; d < loops_.size(); ++d)
      places.emplace(loops_[d].var->id(),
                     make_var(-1000 - static_cast<int64_t>(d), "", DType::i64));
    const Expr key = replaced(e, places);
    const auto it = std::ranges::find(reads_, key, &Read::key);
    if (it == reads_.end())
      reads_.push_back({e, key, loop});
    else if (it->last != loop)
      it->load = e, it->last = loop, ++it->loops;
  }

  const Kernel& kernel_;
  const Expr &row_, &next_;
  std::vector<Loop> loops_;  // open loops inside the row
  std::unordered_set<const void*> storing_;
  LaneStrides strides_;
  std::vector<Read> reads_;
};

}  // namespace

RowAhead row_ahead(const Kernel& kernel, const For& rows, const Expr& next) {
  Finder finder(kernel, rows.loop.var, next);
  finder.block(rows.body);
  return finder.found();
}

}  // namespace cleave::schedule
