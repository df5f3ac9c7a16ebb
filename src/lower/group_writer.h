// Writes the loops of one group: what group_kernel.h draws, a file for each way to run.
#pragma once
#include <optional>
#include <unordered_set>

#include "lower/group_kernel.h"

namespace cleave {

class GroupWriter {
 public:
  GroupWriter(const Graph& graph, const std::vector<NodeId>& nodes, GroupPlan plan,
              const std::vector<std::pair<ValueId, loop::Bound>>& operands,
              const std::vector<GroupResult>& results, loop::Kernel& kernel,
              const MakePartial& make_partial)
      : graph_(graph), nodes_(nodes), plan_(std::move(plan)), folds_(plan_.folds),
        frame_(plan_.frame), operands_(operands), results_(results), kernel_(kernel),
        make_partial_(make_partial), sheet_(kernel), builder_(sheet_, {}, {}),
        values_(graph, nodes, sheet_), last_pass_(plan_.last_pass), partials_(folds_.size()),
        totals_(folds_.size()) {}
  GroupCode write();

 private:
  using Expr = loop::Expr;
  using Exprs = loop::Exprs;
  using Bound = loop::Bound;

  // ---- indices
  // Sets what the loops' variables say about the elements: one variable for each part of the frame.
  void set_frame(const Exprs& parts);
  Exprs index_in(ValueId v) {
    const std::vector<int64_t> shape = static_shape(graph_.type(v));
    return values_.math().delinearise(is_full(v) ? number_ : row_, shape);
  }
  Exprs row_index(ValueId v) {
    return values_.math().delinearise(row_, static_shape(graph_.type(v)));
  }
  // The index of a fold's operand.
  Exprs operand_index(const FoldCall& f) {
    return values_.math().delinearise(number_, static_shape(graph_.type(f.operand)));
  }
  // Row parts of the frame from the number of the row.
  void split_rows(const Expr& p, Exprs& parts);
  Expr declared(const Expr& var, int64_t extent);

  // ---- values
  bool is_full(ValueId v) const { return plan_.is_full(graph_, v); }
  size_t pass_of(ValueId v) const { return plan_.pass_of(v); }
  const FoldCall* fold_of(ValueId v) const { return plan_.fold_of(v); }
  const loop::ReductionRule& rule(const FoldCall& f) const {
    return std::get<loop::ReductionRule>((*graph_.node(f.node).op->lower)->form);
  }
  std::optional<Bound>& partial(const FoldCall& f) {
    return partials_[static_cast<size_t>(&f - folds_.data())];
  }
  std::optional<Bound>& total(const FoldCall& f) {
    return totals_[static_cast<size_t>(&f - folds_.data())];
  }
  Expr mapped(const FoldCall& f);
  Expr finished(const FoldCall& f, Expr folded);
  DType accumulator(const FoldCall& f) const;
  void finish_fold(const FoldCall& f, const Expr& folded);
  // is_last: its pass reads nothing of the element afterwards.
  void store(const Bound& at, const Exprs& index, Expr value, bool is_last = false);
  struct Pending {
    const GroupResult* result;
    Expr value;
  };
  // All values are computed before the first is stored: it may lie over an operand.
  void store_all(std::vector<Pending> list);

  // ---- modes
  // The results of one element in a pass.
  std::vector<Pending> results_of_pass(std::optional<size_t> pass);

  void plain();  // group_plain.cpp
  // How many of the last dims every operand and result walks through as one.
  size_t inner_dims(const std::vector<int64_t>& shape);

  // ---- rows (group_rows.cpp)
  void row_passes(bool with_columns);
  // Sums of a single part lie on the stack, if they are small.
  void make_partials();
  // Rows `first` to first + step of a part, in blocks where that is what a Reduce over them does.
  void rows_of_columns(const Expr& first, const FoldForm& cut);
  // Partial sums go to those of f64, and start again.
  void add_block();
  void finish_columns();
  const GroupResult& result_of(const FoldCall& f) const;
  static Expr rows_of_part(const Expr& first, const FoldForm& cut);
  void row(const Expr& p);
  // Loops over the extents, outermost first; independent: the innermost one's iterations are.
  void nest(const Exprs& extents, bool independent, const Exprs& vars,
            const std::function<void(const Exprs&)>& body);
  bool has_work(size_t pass) const;
  // One value a row: stored between the passes, as soon as it is known.
  void row_results(size_t pass);

  // ---- values that wait for a later pass (group_kept.cpp)
  struct Kept {
    ValueId value;
    size_t pass = 0;                      // in which it is computed
    int64_t local = -1;                   // a buffer of its own, else
    const GroupResult* result = nullptr;  // where it is stored anyway
  };
  void choose_kept();
  // The passes in which it is still computed once it was decided whether to keep it.
  uint64_t keep(ValueId v, uint64_t passes);
  bool is_read_in_place(ValueId v);
  void keep_values(size_t pass);
  // In later passes they are read.
  void read_kept(size_t pass);

  // ---- sums of parts (group_columns.cpp)
  Bound local_sums(const FoldCall& f, const char* name, DType type);
  Bound sums_of_parts(const FoldCall& f, const char* name, DType type);
  void make_partial(const FoldCall& f);
  // Of this part, in partial(f) or total(f), which hold one part where they are local.
  Expr sum_index(const Bound& sums, const FoldCall& f, const Expr& column) const;
  Expr sum_at(const Bound& sums, const FoldCall& f, const Expr& column);
  void store_sum(const Bound& sums, const FoldCall& f, const Expr& column, Expr x);
  Expr partial_at(const FoldCall& f, const Expr& part, const Expr& column) const {
    return part * Expr(f.form.results) + column;
  }
  void store_partial(const FoldCall& f, const Expr& column, Expr x);
  void add_to_partial(const FoldCall& f, const Expr& column, const Expr& x);
  static Expr combined(loop::ReduceOp op, const Expr& a, const Expr& b);
  // The second loop: parts in their order, block of columns after block, in f64 what rounds.
  void add_parts();
  DType parts_type(const FoldCall& f) const;

  // ---- columns alone (group_columns.cpp)
  void column_blocks();
  Expr block_start(const Expr& block, int64_t last);
  static Expr block_size(const Expr& first, int64_t last) {
    return binary(loop::Op::min, Expr(last) - first, Expr(loop::column_lanes));
  }

  // ---- rows side by side (group_lanes.cpp)
  void lanes();
  void lane_row(const Exprs& rows);
  // Part after part, as the sums of parts are folded where the columns stand alone.
  void finish_lane_fold(const FoldCall& f, const Exprs& rows, const Exprs& only_rows,
                        const std::vector<size_t>& inner);

  // ---- chunks (group_chunks.cpp)
  void chunks();

  // ---- in place
  std::vector<GroupCode::InPlace> in_place() const;

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const GroupPlan plan_;
  const std::vector<FoldCall>& folds_;
  Frame frame_;
  const std::vector<std::pair<ValueId, Bound>>& operands_;
  const std::vector<GroupResult>& results_;
  loop::Kernel& kernel_;
  const MakePartial& make_partial_;
  loop::KernelSheet sheet_;
  loop::KernelBuilder builder_;
  GroupValues values_;
  size_t last_pass_;
  std::vector<std::optional<Bound>> partials_;  // by fold
  std::vector<std::optional<Bound>> totals_;    // by fold: of blocks of rows, in f64
  std::vector<Kept> kept_;
  std::optional<std::unordered_set<uint32_t>> read_in_place_;  // once asked for
  Expr number_, row_, inner_;  // of the element, of its row, within its row
  Expr part_;
  bool has_local_sums_ = false;
  int64_t room_ = loop::max_local_bytes;  // left for local buffers
  size_t pass_ = 0;
  std::vector<GroupValues::Read> writes_;
};

}  // namespace cleave
