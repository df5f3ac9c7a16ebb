// The state of lowering one graph: where each value lies, and the steps so far.
#pragma once
#include <unordered_map>

#include "lower/place.h"
#include "lower/program.h"
#include "schedule/group_kernel.h"

namespace cleave {

struct Location {
  size_t storage = 0;
  loop::Layout layout;
};

// What is known of a group like one before.
struct LoweredGroup {
  size_t kernel = 0;
  std::vector<GroupCode::InPlace> in_place;
  std::vector<size_t> streams;  // positions in the list of calls
  struct Partial {
    DType dtype;
    int64_t elements;
  };
  std::vector<Partial> partials;
  bool may_fail = false;
};

// What the lowerings of a graph and of its subgraphs share.
struct LoweringOutput {
  LoweredProgram program;
  std::unordered_map<std::string, size_t> kernels;       // by text without names
  std::unordered_map<std::string, LoweredGroup> groups;  // by key (schedule/group_key.h)
};

class Lowering {
 public:
  Lowering(const Graph& graph, LoweringOutput& output)
      : graph_(graph), out_(output.program), kernels_(output.kernels), output_(output) {}
  // A whole program: placeholders get storages, updates their copies.
  Status run();

 private:
  Status nodes();
  // ---- storages
  size_t new_storage(const std::string& name, DType dtype, int64_t elements);
  Location new_dense(const std::string& name, const Type& type);
  // Where a result is made: its place, or memory of its own.
  Location new_result(ValueId v);
  bool is_part(ValueId v) const { return places_.contains(v.v); }
  // A join some of whose operands are in their places: copies the others. False: none is.
  bool joined(NodeId n, const OpView& op, const loop::KernelRule& rule);
  // A join of many operands: a copy for each.
  void joined_apart(NodeId n, const OpView& op, const loop::KernelRule& rule);
  loop::Bound bind(loop::Kernel& kernel, KernelCall& call, const Location& at, DType dtype,
                   bool written);

  // ---- nodes
  Status node(NodeId n);
  Status view(NodeId n, const OpView& op, const loop::ViewRule& rule);
  // Whether a call is a cast that is no step, since its readers round what it reads.
  bool read_converted(NodeId n, const OpView& op);
  // Whether all readers convert what they read, where it is stored so.
  bool converters_alone_read(ValueId v, const loop::LibraryMemory& stored);
  void single(NodeId n);
  Status fused(NodeId n, const OpView& op);
  // Calls of `g` as one kernel: its operands, and for each of its results the value here.
  using Outputs = std::vector<std::pair<ValueId, ValueId>>;
  void group(const Graph& g, const std::vector<NodeId>& nodes,
             const std::vector<std::pair<ValueId, Location>>& operands, const Outputs& outputs,
             const std::string& name);
  void kernel(NodeId n, const OpView& op, const loop::KernelRule& rule);
  void library(NodeId n, const OpView& op, const loop::LibraryForm& form);
  void library_step(NodeId n, const OpView& op, const loop::LibraryForm& form);
  bool is_wanted_result(const OpView& op, NodeId n, const loop::LibraryOperand& o) const;
  Location library_operand(const OpView& op, const loop::LibraryOperand& operand);
  Location library_result(ValueId v, const loop::LibraryOperand& operand,
                          const loop::LibraryLayouts& layouts);
  Status foreign(NodeId n, const OpView& op, const loop::ForeignRule& rule);
  Status branch(NodeId n, const OpView& op);
  Status loop(NodeId n, const OpView& op);

  // ---- subgraphs
  using Locations = std::vector<Location>;
  // The steps of a subgraph, its operands being where they are; gives where its results are.
  Result<Locations> inlined(const Graph& g, const Locations& operands);
  Status arm(const Graph& g, const Locations& operands, NodeId n);
  Locations list_locations(const OpView& op) const;
  // The storage of values[k], when it was made since `own`, holds that value alone, and is whole.
  std::optional<size_t> own_storage(const Locations& values, size_t k, size_t own) const;
  void replace(size_t first_step, size_t from, size_t to);
  bool can_be_made_in_place(size_t first_step, size_t from, size_t to) const;
  // Appends a jump; set_target gives it the place after the steps so far.
  size_t jump(const std::string& name, std::optional<Location> unless);
  void set_target(size_t jump);

  // ---- pieces
  struct Call {  // a kernel under construction
    loop::Kernel kernel;
    KernelCall call;
    std::vector<loop::Bound> operands, results;
  };
  Call begin_call(NodeId n, const OpView& op, int start);
  void finish_call(Call call, const std::string& name, const OpView* op);
  size_t add_kernel(loop::Kernel kernel);  // or the number of its equal
  static bool has_check(const loop::Block& block);
  struct Copy {
    Location from, to;
    std::optional<DType> stored = {};  // of `from`, where not the result's
  };
  void copy(const Location& from, const Location& to, DType dtype, const std::string& name);
  void copy_all(const std::vector<Copy>& copies, DType dtype, const std::string& name);
  void copy_together(const std::vector<Copy>& copies, DType dtype, const std::string& name);
  static constexpr size_t max_copies_of_a_kernel = 64;  // lower_loops.cpp says why
  Location dense_copy(const Location& from, DType dtype, const std::string& name);
  Location dense(ValueId v);  // the value itself where it is row-major from its storage's start
  size_t result_storage(ValueId v);
  void returns();
  const Location& location(ValueId v) const;  // throws (bug) before it is made
  bool is_wanted(ValueId v) const { return graph_.use_count(v) > 0 || returned_.contains(v.v); }

  const Graph& graph_;
  LoweredProgram& out_;
  std::unordered_map<std::string, size_t>& kernels_;
  LoweringOutput& output_;
  std::unordered_map<uint32_t, Location> at_;
  Places places_;
  std::unordered_map<uint32_t, size_t> wholes_;  // storages of what has places in it, once made
  std::unordered_map<uint32_t, int> returned_;
  std::vector<std::vector<NodeId>> readers_;  // by value, once a cast asks for them
};

}  // namespace cleave
