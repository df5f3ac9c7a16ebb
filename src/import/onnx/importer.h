// The state of an import: graphs that are being written, names, functions, what was refused.
//
//   frames   one for each graph: the program's, then those of the branches and bodies that are
//            being written. A value of an outer frame that an inner one reads becomes an operand.
//   scopes   names to values. A subgraph sees its surroundings, a function doesn't.
#pragma once
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "import/onnx/import_onnx.h"
#include "import/onnx/tensor_data.h"
#include "import/onnx/value.h"
#include "ir/builder.h"
#include "onnx/model.h"

namespace cleave::onnx {

class Call;

// What a body of nodes is read with.
struct Context {
  const std::map<std::string, int64_t>* opsets = nullptr;
  // The attributes of the call of a function, by name; null outside of functions.
  const std::map<std::string, Attribute>* attributes = nullptr;
  int depth = 0;  // of functions and subgraphs
};

struct Frame {
  Graph* graph = nullptr;
  std::unordered_map<uint32_t, std::shared_ptr<const Array>> known;  // values by id
  // Of an inner frame: what it reads of the one around it, and the placeholders for these.
  std::map<uint32_t, ValueId> captured;
  std::vector<ValueId> outer;
};

class Importer {
 public:
  Importer(const ModelProto& model, const OpRegistry& ops, const OnnxOptions& options,
           const std::string& folder);

  Status run(Graph& g);
  const Graph& graph() const { return *frames_[0].graph; }
  std::map<std::string, HostTensor> take_weights();
  const Refusals& refusals() const { return refusals_; }
  const std::set<std::string>& wanted() const { return wanted_; }
  const std::map<std::string, std::string>& input_names() const { return input_names_; }

  const OpRegistry& ops() const { return ops_; }
  Graph& top() { return *frames_.back().graph; }
  std::vector<Frame>& frames() { return frames_; }
  const DataFolder& folder() const { return folder_; }

  // The value in the graph that is being written; invalid after a failure, which it reports to b.
  ValueId resolve(const Value& v, Builder& b);
  Type type(const Value& v) const;
  // Its elements, where they are known now; null otherwise.
  std::shared_ptr<const Array> known(const Value& v) const;
  // Elements that a program may be folded by: not those of trained weights.
  std::shared_ptr<const Array> known(ValueId id) const;
  void set_known(ValueId id, Array a);
  // One weight for all constants of the same elements: a loop that is written out repeats its own.
  Value constant(const std::string& name, HostTensor t);
  // The same of a tensor in the file, which is read once.
  Result<Value> constant(const std::string& name, const TensorProto& t);
  Value sizes(std::vector<Dim> dims, bool scalar);
  Value made(ValueId id, Element e) const;
  // The random state's placeholder, and a new stream.
  Result<ValueId> rng();
  int64_t next_stream() { return next_stream_++; }
  int64_t next_graph() { return next_graph_++; }
  // A value of the frame `from` in the frame `to` within it; invalid after a failure.
  ValueId lifted(ValueId id, size_t from, size_t to);
  // Notes of which inputs of the model a value was computed: it had to be known.
  void want(const Value& v);

  // The results of a subgraph for these inputs, written where the current graph ends.
  Result<std::vector<Value>> inlined(const GraphProto& g, const std::vector<Value>& inputs,
                                     const Context& context);
  Value find(const std::string& name) const;
  // Counts a call that isn't covered, and why.
  void refuse(const std::string& op, const std::string& why);

 private:
  using Scope = std::map<std::string, Value>;

  Status add_inputs(const GraphProto& g);
  Result<Value> input(const ValueInfo& info);
  Result<Value> tensor_input(const std::string& name, const TypeProto& type);
  // The symint of a size: one for each name, a new one for those without.
  Result<Dim> open_size(const std::string& param, const std::string& otherwise);
  Status add_initializers(const GraphProto& g);
  Result<Value> initializer(const TensorProto& t);
  Status run_nodes(const std::vector<NodeProto>& nodes, const Context& context);
  Status run_node(const NodeProto& node, const Context& context);
  Status call_function(const FunctionProto& f, const NodeProto& node, const Context& context);
  const FunctionProto* function(const NodeProto& node) const;
  Status define(const std::string& name, Value v);
  Status add_results(const GraphProto& g);
  Result<ValueId> placeholder(Weight& w);
  std::string placeholder_name(const std::string& name) const;

  const ModelProto& model_;
  const OpRegistry& ops_;
  const OnnxOptions& options_;
  DataFolder folder_;
  std::vector<Frame> frames_;
  std::vector<std::vector<Scope>> scopes_;  // a stack of scopes for each function that is open
  std::vector<std::shared_ptr<Weight>> weights_;
  std::map<std::string, std::shared_ptr<Weight>> constants_;  // by type and elements
  std::map<const TensorProto*, Value> tensors_;  // of graphs that are written more than once
  std::map<std::string, Dim> open_sizes_;        // by the names of sizes in the file
  Refusals refusals_;
  std::set<std::string> wanted_;
  std::map<std::string, std::string> input_names_;  // by placeholder, the model's name
  ValueId rng_;
  int64_t next_stream_ = 0, next_graph_ = 0;
  uint32_t file_ = 0;
  int64_t nodes_run_ = 0, known_elements_ = 0;
};

}  // namespace cleave::onnx
