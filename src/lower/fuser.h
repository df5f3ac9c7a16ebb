// Fuses the calls of one graph: what fuse.h says, in three parts.
//
//   describe   what each call is, and which materialised values it reads
//   place      calls join groups, groups join one another
//   rewrite    a call `fused` in the place of each group
#pragma once
#include <map>
#include <set>
#include <unordered_map>

#include "ir/graph.h"
#include "ir/op_def.h"
#include "lower/fuse_cost.h"
#include "schedule/fold_form.h"

namespace cleave {

class Fuser {
 public:
  Fuser(Graph& graph, const FuseCosts& costs, std::set<std::string>& taken)
      : g_(graph), costs_(costs), calls_(graph.node_capacity()), taken_(taken) {}

  Status run(const OpRegistry& ops);

 private:
  // cheap: computed in every group that reads it. waiting: read by one call, into whose group it
  // goes.
  enum class Kind : uint8_t { other, view, cheap, waiting, elementwise, fold };

  struct Call {
    Kind kind = Kind::other;
    int64_t elements = 0;        // of the first result; of a fold, of the operand
    int64_t position = 0;        // in the graph's order
    int64_t kernels_before = 0;  // kernels that aren't fused, up to here
    int32_t group = -1;          // cheap calls and views have none
    // Materialised values that it reads, through cheap calls and views; those of them that it
    // reads in another order than its elements'.
    std::vector<ValueId> materialized_reads, reordered_reads;
    int64_t flops = 0;   // an element, of the calls without a group in front of it too
    size_t through = 1;  // how many those are
  };

  struct Group {
    std::vector<NodeId> nodes;  // in the graph's order
    NodeId at;                  // runs where this one stood
    int64_t elements = 0;       // of a full value
    size_t calls = 0;           // that it computes, those without a group of their own too
    std::vector<FoldForm> forms;
    std::vector<ValueId> reads;            // leaves, each once
    std::vector<ValueId> reordered_reads;  // some call reads them in another order
    std::vector<int32_t> readers;          // other groups that read it, some of them twice
    int64_t first_kernel = 0, last_kernel = 0;
    bool merged = false;
  };

  Call& call(NodeId n) { return calls_[n.v]; }

  // ---- what each call is (fuse_calls.cpp, fuse_joins.cpp)
  Kind kind_of(NodeId n);
  bool is_fusible(NodeId n);
  // What single calls are, but for the joins that stay apart.
  void describe_calls();
  // Finds more of them; false: there are none.
  bool find_joins();
  bool is_worth_placing(NodeId join);
  // Whether a kernel that writes the operand anyway does so in its place: else it is computed where
  // the join is.
  bool is_made_apart(NodeId join, size_t operand);
  // Has no group of its own.
  bool is_through(NodeId n);
  void describe();
  void find_leaves(NodeId n);

  // Whether the view's elements come in the order of its operand's, some of them several times.
  bool keeps_order(NodeId n);
  int64_t flops_of(NodeId n);
  static bool contains(const std::vector<ValueId>& list, ValueId v);
  static void add(std::vector<ValueId>& list, ValueId v);

  // Computed wherever it is read: of at most one operand of its size, which takes no more to read.
  bool is_cheap(NodeId n);

  // Whether it goes where its only reader does, directly or after views.
  bool waits(NodeId n);

  // Whether a value read by a larger one may be computed again for each element of that.
  bool is_worth_repeating(int64_t flops, int64_t elements, int64_t larger);
  bool every_reader_inlines(ValueId v);

  // ---- groups (fuse_groups.cpp)
  int32_t group_of(ValueId v);
  int32_t find(int32_t g) const;
  int64_t position(int32_t g) { return call(groups_[g].at).position; }

  void place(NodeId n);
  void begin(NodeId n);
  bool is_group(int32_t g) { return g >= 0 && call(groups_[g].nodes[0]).kind != Kind::other; }

  // The group that it saves most bytes to join; -1: none.
  int32_t best_group(NodeId n);

  // Large calls that share next to nothing stay apart: each can run, and free what it reads, as
  // soon as its operands are there.
  bool is_worth_waiting(NodeId n, int64_t saved);
  int64_t saving(NodeId n, int32_t g);
  bool may_join(NodeId n, int32_t g);

  // Whether n, computed a second time, would run in front of a kernel that it is to run after.
  bool is_too_early(NodeId n, int32_t g);

  // Whether all of it is there when g runs, made by others or by g itself.
  bool is_known_at(const std::vector<ValueId>& values, int32_t g);
  bool is_read(int32_t g);

  // ---- rows
  bool fits(NodeId n, const Group& g);

  static bool adds_up_parts(const Group& g);
  // Whether a call of so many elements reads what n gives, directly or through others.
  bool leads_to(NodeId n, int64_t elements);

  // Whether what its folds give may be read while the row is still near.
  bool keeps_row(const Group& g) const;

  // Whether two folds can be of one kernel: the same rows, or rows of the one are what the other
  // adds up.
  static bool agree(const FoldForm& a, const FoldForm& b);

  // ---- joining
  void join(NodeId n, int32_t g);

  // The groups of its other operands come along where they can.
  void pull_producers(NodeId n);

  // `from`, which g reads, would run where g does: nobody may read it before.
  bool merges(int32_t from, int32_t g);

  // Values that g alone reads, and that it may compute again for each of its elements.
  bool is_small_part(int32_t from, int32_t g);
  void merge(int32_t from, int32_t to);

  // ---- the new graph (fuse_rewrite.cpp)
  struct Body {
    std::vector<NodeId> nodes;  // cheap calls and views among them
    size_t kernels = 0;         // without the views
    std::vector<ValueId> operands, results;
  };
  Status rewrite(const OpDef& fused);

  // The nodes in order, each after its operands: views stand in front of their first reader.
  std::vector<NodeId> sorted() const;
  bool is_returned(NodeId n) const;
  Body body_of(int32_t g);

  // Read by a call that isn't copied into the group, directly or through views and cheap calls that
  // others read.
  bool is_read_outside(ValueId v, int32_t g);
  Result<NodeId> write(const OpDef& fused, int32_t g, const Body& body);
  ValueId current(ValueId v) const;
  std::string fresh_name(const std::string& stem);
  Graph& g_;
  const FuseCosts costs_;
  std::vector<NodeId> order_;
  std::vector<Call> calls_;  // by node
  std::vector<Group> groups_;
  std::unordered_map<int32_t, int32_t> moved_to_;
  std::unordered_map<uint32_t, int32_t> last_reader_;
  std::unordered_map<uint32_t, bool> returned_;
  std::vector<bool> repeated_;  // by node: computes again what an earlier one gives
  std::set<NodeId> joins_;      // whose operands have places (place.h): not fused
  std::vector<ValueId> replaced_;
  std::unordered_map<uint32_t, ValueId> now_;
  std::set<std::string>& taken_;  // names of graphs
};

int64_t bytes_of(const Graph& g, ValueId v);

}  // namespace cleave
