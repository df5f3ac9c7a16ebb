// The graph: placeholders, ordered nodes, returns. It is in SSA form and functional: no node writes
// its operands; an update of a parameter or buffer is an entry of `return`.
//
//   graph @main(%w: param f32[3,4] grad, %x: input f32[2,4]) {
//     %t = permute(%w; dims=[1,0])   : f32[4,3]
//     %y = mm(%x, %t)                : f32[2,3]      # model.cpp:12
//     return %y
//   }
//
// Nodes and values have stable ids; erased ids are not reused. The node order is a linked list. The
// uses of a value are a linked list in order of insertion, so every edit costs O(operands). Types
// are computed when a node is made; after an edit, refresh_types() infers types again only for the
// nodes whose operand types changed.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/stable_vector.h"
#include "ir/name_table.h"
#include "ir/op_view.h"

namespace cleave {

enum class Role : uint8_t { param, buffer, constant, input, tangent, saved, rng_state, symint };
std::string_view name_of(Role r);  // "param", ..., "const" for constant

struct Placeholder {
  Role role = Role::input;
  ValueId value;
  bool wants_grad = false;
  SymInfo sym;  // of a symint
};

enum class Recompute : uint8_t { unset, must_save, prefer_save, prefer_recompute, must_recompute };
struct CheckpointTag {
  Recompute policy = Recompute::unset;
  int64_t ac_graph = 0;
  // In [0, 1]: what mode pytorch cuts by in the place of its budget, as PyTorch's node meta.
  std::optional<double> memory_budget = {};
  friend bool operator==(const CheckpointTag&, const CheckpointTag&) = default;
};

// A line of the user's program; file 0 means unknown.
struct SourceLoc {
  uint32_t file = 0;  // index into Graph::files()
  uint32_t line = 0;
  friend bool operator==(const SourceLoc&, const SourceLoc&) = default;
};

enum class ReturnKind : uint8_t { result, update, grad };
struct Return {
  ValueId value;
  ReturnKind kind = ReturnKind::result;
  ValueId target;  // the placeholder that is updated or differentiated
  friend bool operator==(const Return&, const Return&) = default;
};

struct Use {
  NodeId node;
  uint32_t operand = 0;  // index into Node::inputs
  friend auto operator<=>(const Use&, const Use&) = default;
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;  // one per operand, with list items expanded
  uint32_t list_size = 0;
  Attrs attrs;
  ValueId first_output;
  uint32_t output_count = 0;
  SourceLoc loc;
  CheckpointTag tag;
  bool erased = false;
  int64_t edited = 0;  // Graph::edits() when it, or the type of an operand, last changed

  ValueId out(uint32_t k) const { return {first_output.v + k}; }

 private:
  friend class Graph;
  struct UseLink {
    Use prev, next;
  };
  std::vector<UseLink> links;
  NodeId prev, next;
};

struct ValueInfo {
  std::string name;
  Type type;
  NodeId def;          // invalid for a placeholder
  uint32_t index = 0;  // which result of def, or which placeholder

 private:
  friend class Graph;
  Use first_use, last_use;
  uint32_t use_count = 0;
};

// Options of a new node.
struct NodeSpec {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;
  uint32_t list_size = 0;
  Attrs attrs = {};
  std::vector<std::string> names = {};  // of the results; missing ones are made from the operator
  NodeId before = {};                   // invalid: at the end
  SourceLoc loc = {};
  CheckpointTag tag = {};
};

class Graph {
 public:
  explicit Graph(std::string name = "main");
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  const std::string& name() const { return name_; }
  void set_name(std::string n) { name_ = std::move(n); }
  const SymEnv& env() const { return env_; }

  // ---- placeholders
  // Refuses a name in use, a type beyond the limits, and an undeclared symbol.
  Result<ValueId> add_placeholder(Role role, const std::string& name, Type type,
                                  bool wants_grad = false, SymInfo sym = {});
  const std::vector<Placeholder>& placeholders() const { return placeholders_; }
  Placeholder& placeholder(size_t i) {
    ++edits_;
    return placeholders_[i];
  }
  // Null for the result of a call, and for a placeholder that was removed.
  const Placeholder* placeholder_of(ValueId v) const;
  // Removes the placeholders for which `keep` is false; they must be unused.
  void filter_placeholders(const std::function<bool(const Placeholder&)>& keep);

  // ---- nodes
  // Checks operands and attributes, and infers the result types.
  Result<NodeId> add_node(NodeSpec spec);
  // The same, but `spec` is moved from only if a node is made.
  Result<NodeId> take_node(NodeSpec& spec);
  const Node& node(NodeId n) const { return nodes_[n.v]; }
  // Replaces an attribute by one that doesn't change the inferred types, such as a rewritten
  // subgraph.
  void set_attr(NodeId n, uint16_t arg, AttrValue value);
  void set_loc(NodeId n, SourceLoc loc) { nodes_[n.v].loc = loc; }
  void set_tag(NodeId n, CheckpointTag tag) { nodes_[n.v].tag = tag; }
  // The number of ids ever allocated, for tables indexed by id.
  size_t node_capacity() const { return nodes_.size(); }
  size_t node_count() const { return live_nodes_; }
  NodeId first_node() const { return head_; }
  NodeId last_node() const { return tail_; }
  NodeId next_node(NodeId n) const { return nodes_[n.v].next; }
  NodeId prev_node(NodeId n) const { return nodes_[n.v].prev; }
  // The live nodes in order, as a list that survives edits.
  std::vector<NodeId> order() const;
  // Reorders the nodes; `order` must name each live node once.
  Status reorder(const std::vector<NodeId>& order);
  // The operands must be defined before the new position, and the users come after it.
  void move_before(NodeId n, NodeId before);
  // The results must be unused.
  void erase(NodeId n);
  OpView view(NodeId n) const;
  Types output_types(NodeId n) const;

  // ---- values
  const ValueInfo& value(ValueId v) const { return values_[v.v]; }
  const Type& type(ValueId v) const { return values_[v.v].type; }
  const std::string& name(ValueId v) const { return values_[v.v].name; }
  size_t value_capacity() const { return values_.size(); }
  ValueId find(std::string_view name) const;  // invalid if there is none
  Status rename(ValueId v, const std::string& name);
  // A name derived from `stem` that is not in use.
  std::string fresh_name(const std::string& stem);
  void set_strides(ValueId v, std::optional<std::vector<Dim>> strides);

  // ---- uses and edits
  std::vector<Use> uses(ValueId v) const;
  uint32_t use_count(ValueId v) const { return values_[v.v].use_count; }  // by nodes, not returns
  void set_input(NodeId n, uint32_t operand, ValueId v);
  // Replaces every use of `from` by `to`, in returns as well.
  void replace_uses(ValueId from, ValueId to);
  // Infers types again where edits may have changed them; fails if a rule refuses its new operands.
  Status refresh_types();
  // How many times a rule's infer has run, for tests of refresh_types.
  int64_t infer_count() const { return infer_count_; }
  // Increases with each change that could affect verification.
  int64_t edits() const { return edits_; }

  // ---- returns
  const std::vector<Return>& returns() const { return returns_; }
  void set_returns(std::vector<Return> r);
  void add_return(Return r);
  bool is_joint() const;  // has a tangent placeholder or a gradient

  // ---- source files
  const std::vector<std::string>& files() const { return files_; }
  uint32_t file_id(const std::string& file);
  std::string loc_text(SourceLoc loc) const;  // "gpt.cpp:12", empty when unknown

 private:
  Result<Types> infer(const NodeSpec& spec);
  Status infer_again(NodeId n, std::vector<bool>& marked);
  void note_edit(NodeId n) {
    ++edits_;
    if (n.valid()) nodes_[n.v].edited = edits_;
  }
  ValueId add_value(std::string name, Type type, NodeId def, uint32_t index);
  Status check_names(const std::vector<std::string>& names) const;
  void link_use(NodeId n, uint32_t operand);
  void unlink_use(NodeId n, uint32_t operand);
  void insert_before(NodeId n, NodeId before);
  void take_out(NodeId n);
  Node::UseLink& link(Use u) { return nodes_[u.node.v].links[u.operand]; }

  std::string name_;
  SymEnv env_;
  std::vector<Placeholder> placeholders_;
  StableVector<Node> nodes_;  // rules hold references while they add nodes
  StableVector<ValueInfo> values_;
  NameTable by_name_;
  std::unordered_map<std::string, uint32_t> next_suffix_;
  std::unordered_map<std::string, uint32_t> by_file_;
  std::vector<Return> returns_;
  std::vector<std::string> files_;
  std::vector<NodeId> stale_;  // nodes whose operand types have changed
  NodeId head_, tail_;
  size_t live_nodes_ = 0;
  int64_t infer_count_ = 0;
  int64_t edits_ = 0;
};

// A file of graphs: subgraphs, then the program.
struct Program {
  std::vector<GraphRef> subgraphs;  // in the order of the text
  Graph main;
};

}  // namespace cleave
