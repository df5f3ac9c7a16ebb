#include "schedule/column_ahead.h"

#include <algorithm>
#include <cstdlib>

#include "loop/replace.h"
#include "schedule/lane_strides.h"

namespace cleave::schedule {

using namespace cleave::loop;

namespace {

constexpr int64_t rows_ahead = 4;
constexpr int64_t min_row_bytes = 1 << 10;  // shorter ones the processor prefetches itself

class Finder {
 public:
  Finder(const Kernel& kernel, const For& columns, const Reduce& rows)
      : kernel_(kernel), row_(rows.loops.back().var) {
    columns_.set(columns.loop.var, 1);
    for (const Loop& l : rows.loops) columns_.set(l.var, 0);
    step_.set(row_, 1);
  }

  void of(const Block& body) {
    for (const Stmt& s : body) {
      if (auto* let = std::get_if<Let>(&s.node)) {
        of(let->value);
        columns_.set(let->var, std::nullopt);
        step_.set(let->var, std::nullopt);
      } else if (auto* store = std::get_if<Store>(&s.node)) {
        of(store->value);
        element(store->buffer, store->index);
      }
    }
  }
  void of(const Expr& e) {
    for_each_part(e, [&](const Expr& part) {
      if (part->op == Op::load) element(part->buffer(), part->args[0]);
    });
  }
  Exprs take() { return std::move(found_); }

 private:
  void element(int64_t buffer, const Expr& index) {
    const DType dtype = kernel_.buffers[static_cast<size_t>(buffer)].dtype;
    const LaneStride column = columns_.of(index), row = step_.of(index);
    if (column != LaneStride(1) || !row || std::abs(*row) * size_of(dtype) < min_row_bytes) return;
    const Expr next = row_ + Expr(rows_ahead);
    Expr ahead = load(buffer, dtype, replaced(index, VariableValues{{row_->id(), next}}));
    if (std::ranges::find(found_, ahead) == found_.end()) found_.push_back(std::move(ahead));
  }

  const Kernel& kernel_;
  const Expr& row_;
  LaneStrides columns_, step_;  // from one column, and from one row, to the next
  Exprs found_;
};

}  // namespace

Exprs column_ahead(const Kernel& kernel, const For& columns, const Reduce& rows) {
  Finder finder(kernel, columns, rows);
  finder.of(rows.body);
  for (const Fold& f : rows.folds) finder.of(f.value);
  return finder.take();
}

}  // namespace cleave::schedule
