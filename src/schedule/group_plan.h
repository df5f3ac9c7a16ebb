// How a group of calls runs as one kernel: its folds, what a row is, and which pass over a row
// computes what; or why it can't.
#pragma once
#include <optional>
#include <unordered_map>

#include "ir/graph.h"
#include "schedule/fold_form.h"

namespace cleave {

// Runs of dims that are rows, or lie within a row: what the folds of one group have in common.
struct Frame {
  struct Part {
    int64_t extent = 1;
    bool is_row = true;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts;
  friend bool operator==(const Frame&, const Frame&) = default;

  // Rows are what a fold keeps; `folds_rows`: what it folds.
  static Frame of(const FoldForm& form, bool folds_rows);
  int64_t rows() const;
  int64_t row_elements() const;
  // Rows lie side by side in the innermost part, so that a block of them runs in lanes.
  bool has_lanes() const { return parts.size() > 1 && parts.back().is_row; }
};

struct FoldCall {
  NodeId node;
  ValueId operand, result;
  FoldForm form;
  size_t pass = 0;      // over a row, in which it runs
  bool in_rows = true;  // its result is known in the kernel; else it is one of parts or chunks
};

enum class GroupMode : uint8_t { plain, rows, rows_and_columns, columns, lanes, chunks };

struct GroupPlan {
  GroupMode mode = GroupMode::plain;
  std::vector<FoldCall> folds;
  Frame frame;           // plain: one row
  size_t last_pass = 0;  // 0: one pass

  // `nodes` in the graph's order; all of them are elementwise, views or folds. Fails (bug), saying
  // why, where they are no single kernel.
  static Result<GroupPlan> make(const Graph& graph, const std::vector<NodeId>& nodes,
                                const std::vector<ValueId>& results);

  // The first pass in which the value is known.
  size_t pass_of(ValueId v) const;
  const FoldCall* fold_of(ValueId result) const;
  // Whether it has an element for each of the frame, else one for each row.
  bool is_full(const Graph& graph, ValueId v) const;

 private:
  std::unordered_map<uint32_t, size_t> pass_;
};

// The form of a call with a reduction rule; nullopt for others.
std::optional<FoldForm> fold_form_of(const Graph& graph, NodeId n);

}  // namespace cleave
