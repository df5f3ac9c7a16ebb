// Reads one graph of a .pt2 file into a graph of cleave: nodes become calls, writes in place become
// new values, views of what was written are made again, regions without gradients are inlined.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/exported/call.h"
#include "import/exported/memory.h"
#include "import/exported/program.h"
#include "import/exported/target.h"

namespace cleave::exported {

// What all graphs of one file share.
struct FileContext {
  const OpRegistry& ops;
  std::vector<GraphRef> subgraphs;  // in the order in which a text has them
  std::set<std::string> graph_names;
  int64_t next_stream = 0;
  // PyTorch 2.6 and 2.7 write dtypes as they are without autocast, in its regions and behind them.
  bool ignores_autocast = false;
  bool has_autocast = false;  // a region has been read
};

// Argument k of a node, if it is of that kind.
Result<const Argument*> argument(const Node& node, size_t k, Argument::Kind kind);

class GraphReader {
 public:
  // `graph` has its symints; tensors enter by `bind`. is_subgraph: a branch or a loop, which draws
  // no random numbers and writes nothing of its caller's.
  GraphReader(FileContext& file, cleave::Graph& graph, bool is_subgraph);

  // A placeholder, under the name that the file's nodes call it by.
  void bind(const std::string& name, ValueId placeholder);
  // Another name of one that is bound.
  void bind_same(const std::string& name, const std::string& bound) {
    names_[name] = names_[bound];
  }
  // All nodes in order. Errors name the node, its operator and its line.
  Status read(const Graph& source);
  // The value of a name now.
  Result<ValueId> value(const std::string& name);
  // The value of a tensor or a number of the run, as an entry of `return`; none of anything else.
  // The first that is asked for waits for the checks that were read.
  Result<ValueId> result(const Argument& a);
  bool has_checks() const { return !checks_.empty(); }
  // v, as soon as the checks that were read, and that nothing waits for, hold.
  Result<ValueId> behind_checks(ValueId v);
  // The new value of a placeholder that was written; none if it wasn't. Errors (unsupported): it
  // isn't known.
  Result<ValueId> written(const std::string& name) const;
  // None if nothing drew random numbers.
  ValueId rng() const { return rng_; }

 private:
  using Names = std::map<std::string, Tensor>;
  struct Check {
    ValueId holds;  // of no dims
    std::string message;
  };

  Status read_nodes(const Graph& source);
  Status note_item(const Node& node);
  Status read_node(const Node& node, const Graph& source);
  Status read_call(const Node& node, const Graph& source, std::string name,
                   std::string_view overload);
  // is_complex: the operand or the result is.
  Status read_view(const Node& node, Call& call, const std::string& name, const Graph& source,
                   bool is_complex);
  Status read_in_place(const Node& node, const Graph& source, const std::string& name,
                       std::string_view overload);
  Status read_out(const Node& node, const Graph& source, const std::string& name,
                  std::string_view overload);
  Result<Values> called(Call& call, const std::string& name, std::string_view overload);
  Result<Values> called_complex(Call& call, const std::string& name, std::string_view overload);
  void round_results(Call& call, Values& results, const Graph& source);
  // is_sharing: a result may be a view of any argument.
  Status bind_results(const Node& node, const Values& results, const Graph& source,
                      bool is_sharing = false);
  std::vector<Tensor> arguments_of(const Node& node) const;
  Status check_type(const std::string& name, ValueId v, const Graph& source);
  bool is_read(const std::string& name, const Graph& source);
  Status write(const std::string& name, ValueId value);
  void set_name(ValueId v, const std::string& given);
  void name_values(size_t first, const Node& node);

  // ---- checks of values (check_reader.cpp)
  Status note_check(const Node& node);

  // ---- higher-order operators (control_reader.cpp)
  Status read_higher_order(const Node& node, const std::string& name, const Graph& source);
  Status inline_region(const Node& node, const Argument& body,
                       const std::vector<Argument>& operands, const Graph& source);
  Status read_cond(const Node& node, const Graph& source);
  Status read_loop(const Node& node, const Graph& source);
  Result<cleave::Graph> read_body(const Argument& body, const std::vector<ValueId>& operands);
  Result<GraphRef> read_subgraph(const Argument& body, const std::vector<ValueId>& operands);
  Result<std::vector<ValueId>> operands_of(const std::vector<Argument>& list);

  // ---- scans and maps (scan_reader.cpp)
  Status read_scan(const Node& node, bool has_carry, const Graph& source);
  Result<int64_t> steps_of(const Values& xs);
  Result<Values> written_out(const cleave::Graph& body, const Values& operands);

  Result<Tensor*> find(const std::string& name);
  Result<AttrValue> symbol(const std::string& name, const Graph& source);
  Result<ValueId> draw();
  Call::Context context(const Graph& source);

  FileContext& file_;
  cleave::Graph& graph_;
  Builder b_;
  GradientPaths paths_;
  Memories memories_;
  Names names_;
  std::set<std::string> not_covered_;           // results that rules leave out
  std::vector<Check> checks_;                   // that no result waits for yet
  std::map<std::string, ValueId> items_;        // numbers that item() gives, as tensors of no dims
  std::map<std::string, size_t> placeholders_;  // their memories
  std::optional<DType> autocast_;               // of the region
  std::optional<DType> operand_dtype_;          // of the call that is read, under autocast
  const Graph* read_of_ = nullptr;              // whose tensors that something reads read_ names
  std::set<std::string> read_;
  bool is_subgraph_;
  ValueId rng_;
};

}  // namespace cleave::exported
