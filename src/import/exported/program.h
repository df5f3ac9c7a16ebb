// What a .pt2 file of torch.export says, as plain values: checked for form, not yet for meaning.
//
// The fields are those of PyTorch's schema 8 (torch/_export/serde/schema.py, PyTorch 2.13) that
// cleave reads. Names of values are the file's; sizes and numbers of the run are expressions over
// its symbols (exported/expression.h).
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cleave/dtype.h"

namespace cleave {
class ZipArchive;
}

namespace cleave::exported {

// The dtype with PyTorch's code (ScalarType of the schema); nothing if cleave has none such.
std::optional<DType> dtype_of_code(int64_t code);
// The dtype of the parts of a complex dtype; nothing of any other.
std::optional<DType> parts_of_code(int64_t code);

// A number, or the text of an expression with the value that it had when the model was exported.
struct SymValue {
  std::optional<int64_t> number;
  std::string expression;
  std::optional<int64_t> hint;
};

struct TensorMeta {
  DType dtype = DType::f32;   // of a complex tensor that of its parts
  bool is_complex = false;    // sizes and strides count complex numbers
  std::string foreign_dtype;  // not empty: one that cleave doesn't have
  std::vector<SymValue> sizes, strides;
  SymValue offset;  // of the first element, in elements
  bool requires_grad = false;
  bool is_strided = true;  // no sparse layout
  std::string device;      // "cpu", "cuda:0"
};

struct Graph;

struct Argument {
  enum class Kind : uint8_t {
    none,
    tensor,   // text: its name
    integer,  // number
    floating,
    complex,  // floating, imaginary
    boolean,
    text,
    symbol,  // text: the name of a number of the run
    dtype,   // number: PyTorch's code
    memory_format,
    layout,
    device,   // text
    graph,    // graph, text: its name
    list,     // items
    refused,  // text: what it is
  };
  Kind kind = Kind::none;
  std::string text;
  int64_t number = 0;
  double floating = 0, imaginary = 0;
  std::vector<Argument> items;
  std::shared_ptr<const Graph> graph;
};

// Names of the tensors in an argument. Lists are as deep as a file's JSON may be nested.
inline void collect_tensors(const Argument& a, std::set<std::string>& into) {
  if (a.kind == Argument::Kind::tensor) into.insert(a.text);
  for (const Argument& item : a.items) collect_tensors(item, into);
}

struct NamedArgument {
  std::string name;  // empty for those of higher-order operators
  Argument value;
};

struct Node {
  std::string target;  // "torch.ops.aten.add.Tensor"
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::string file;  // of the line of the model; empty if it isn't known
  int64_t line = 0;
  bool was_detach = false;  // an alias that run_decompositions() made of detach()
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, SymValue> symbols;  // numbers of the run by name
};

struct InputSpec {
  enum class Kind : uint8_t { user, parameter, buffer, constant, constant_input, token };
  Kind kind = Kind::user;
  Argument arg;        // a tensor or a symbol
  std::string target;  // "layers.0.weight"
};

struct OutputSpec {
  enum class Kind : uint8_t { user, loss, mutation, gradient, token };
  Kind kind = Kind::user;
  Argument arg;
  std::string target;  // of a mutation or gradient: a parameter, a buffer or a user input
  bool of_user_input = false;
};

struct Range {
  std::optional<int64_t> least, largest;
};
// A least of 2 says that the program isn't made for 0 or 1 alone: it runs with them. PyTorch checks
// a larger least (_check_input_constraints_for_graph of torch/_export/utils.py, 2.13).
constexpr int64_t largest_open_size = 2;

struct Program {
  Graph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::map<std::string, Range> ranges;  // of symbols
  std::string in_spec, out_spec;  // trees of arguments and results, JSON of torch.utils._pytree
  std::vector<std::string> argument_names;
  std::string torch_version;
};

// A tensor's place in a file of the archive: weight_0 may hold several.
struct Payload {
  std::string file;                           // the path in the archive
  std::shared_ptr<const ZipArchive> archive;  // that it lies in; null: the model's
  bool is_param = false;
  TensorMeta meta;
};
using Payloads = std::map<std::string, Payload>;  // by the name in the model

}  // namespace cleave::exported
