// A graph as a value that a host program reads: what a GraphCompiler is given.
//
//   TracedGraph g = TracedGraph::parse(R"(
//     graph @main(%x: input f32[2,3]) {
//       %y = relu(%x)
//       return %y
//     })");
//   g.calls()[0].op;        // "relu"
//   g.results()[0].type;    // "f32[2,3]"
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/op.h"

namespace cleave {

// A value that enters, leaves or is made: "f32[s0*4,2]", with strides where it has them.
struct GraphValue {
  std::string name;
  std::string type;
  DType dtype = DType::f32;
  std::vector<std::string> shape;  // numbers, or expressions of the graph's symints
  // Of an input: param, buffer, const, input, tangent, saved, rng_state or symint; of a result:
  // result, update or grad. Of a call: empty.
  std::string role = {};
  std::string target = {};  // of an update or a grad: the input that it belongs to
  bool wants_grad = false;  // of an input: it bears `grad`
};

struct GraphCall {
  std::string op;
  std::vector<std::string> operands;  // the values' names, lists one after the other; "" where none
  std::vector<GraphValue> results;
  std::string text;    // its line
  std::string source;  // the line of the program, "model.cpp:12"; empty if it isn't known
};

// What a complex tensor of a text (c64, c128) is: a real one whose last dim is (real part,
// imaginary part), and calls of it calls of that; or a value of dtype c64, which no kernel reads
// and a host program's calls may (cleave/partial.h).
enum class ComplexTensors { in_parts, whole };

// A handle of a graph that doesn't change: copies are the same one, and one that was moved from is
// still the same one.
class CLEAVE_API TracedGraph {
 public:
  TracedGraph(const TracedGraph&) = default;
  TracedGraph& operator=(const TracedGraph&) = default;

  // Errors (user): a text that is no graph (doc/ir.md), with the line; an operator that isn't
  // among `ops`; in parts, a call of complex tensors that is not covered.
  static TracedGraph parse(std::string_view text, const Operators& ops = {},
                           ComplexTensors complex = ComplexTensors::in_parts);

  const std::string& name() const;
  // As the commands read it, the subgraphs that it refers to first.
  std::string text() const;
  // In the order in which a callable takes and returns them.
  std::vector<GraphValue> inputs() const;
  std::vector<GraphValue> results() const;
  // In order, without those of branches and loops.
  std::vector<GraphCall> calls() const;

  struct State;
  explicit TracedGraph(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace cleave
