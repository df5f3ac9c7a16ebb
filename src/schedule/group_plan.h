// The plan of a group of calls as one kernel: its folds, what a row is, and which pass over a row
// computes what; or the reason why it can't be one.
#pragma once
#include <optional>
#include <unordered_map>

#include "ir/graph.h"
#include "loop/index_math.h"
#include "schedule/fold_form.h"
#include "schedule/group_orders.h"

namespace cleave {

// The iteration space of a group as runs of dims: each is part of the row's number, or of the
// position in the row. The folds of a group agree on it.
struct Frame {
  struct Part {
    int64_t extent = 1;
    bool is_row = true;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts;
  friend bool operator==(const Frame&, const Frame&) = default;

  // Rows are the dims that a fold keeps; with folds_rows, those that it folds.
  static Frame of(const FoldForm& form, bool folds_rows);
  int64_t rows() const;
  int64_t row_elements() const;
  // Each row is adjacent in memory, behind the row before.
  bool has_whole_rows() const {
    return !parts.empty() && parts.size() <= 2 && !parts.back().is_row &&
           (parts.size() == 1 || parts[0].is_row);
  }
  // Rows are adjacent in the innermost dim, so that a block of them runs in lanes.
  bool has_lanes() const { return parts.size() > 1 && parts.back().is_row; }
};

struct FoldCall {
  NodeId node;
  ValueId operand, result;
  FoldForm form;
  size_t pass = 0;      // the pass over a row that runs it
  bool in_rows = true;  // its result is complete in the row; else it is folded in parts or chunks
};

enum class GroupMode : uint8_t { plain, rows, rows_and_columns, columns, lanes, chunks, own_loops };

struct GroupPlan {
  GroupMode mode = GroupMode::plain;
  std::vector<FoldCall> folds;
  Frame frame;           // one row if plain or own loops
  size_t last_pass = 0;  // 0 if there is one pass
  GroupOrders orders;    // of plain, and of whole rows

  // `nodes` are in the graph's order, and all elementwise, views or reductions; the last one may
  // write its own loops. Fails (bug), with
  // the reason, if they can't be one kernel.
  static Result<GroupPlan> make(const Graph& graph, const std::vector<NodeId>& nodes,
                                const std::vector<ValueId>& results, const FoldParts& cut = {});

  // The first pass in which the value can be computed.
  size_t pass_of(ValueId v) const;
  const FoldCall* fold_of(ValueId result) const;
  // The number of the value's element at the element of the frame with this number.
  loop::Expr number_in(loop::IndexMath& math, ValueId v, const loop::Expr& number) const;
  // Whether it has one element per element of the frame; else it has one per row, or
  bool is_full(const Graph& graph, ValueId v) const;
  // whether it has rows of another length: a row that is padded, or a part of it.
  bool has_own_length(const Graph& graph, ValueId v) const;
  // The number of elements that it has for each row.
  int64_t row_length(const Graph& graph, ValueId v) const;

 private:
  std::unordered_map<uint32_t, size_t> pass_;
};

// The form of a call with a reduction rule; nullopt for others.
std::optional<FoldForm> fold_form_of(const Graph& graph, NodeId n, const FoldParts& cut = {});

}  // namespace cleave
