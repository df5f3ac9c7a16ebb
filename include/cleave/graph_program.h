// A graph as a program over the caller's memory: it reads its inputs and writes its updates where
// they lie.
//
//   GraphProgram p = compile_graph(TracedGraph::parse(R"(
//     graph @main(%x: input f32[2,3], %out: input f32[2,3]) {
//       %y = relu(%x)
//       return %y -> %out
//     })"));
//   p.run({x, out});                        // out is relu(x)
//
// It is what native() (cleave/compiler.h) makes of a graph, but for updates: those are written to
// the memory of the input that they belong to, as TrainStep does, instead of being results. So a
// host program that has memory for the results gives it, and nothing is copied.
#pragma once
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cleave/traced_graph.h"
#include "cleave/train.h"

namespace cleave {

// A step of a program: a generated kernel, or a call of the runtime; what one run of it moves.
struct ProgramKernel {
  std::string name;  // of the first value that it computes
  std::string kind;  // as StepTime::kind
  int64_t read_bytes = 0, written_bytes = 0;
};

// A handle: copies are the same program, and one that was moved from is still the same one.
class CLEAVE_API GraphProgram {
 public:
  GraphProgram(const GraphProgram&) = default;
  GraphProgram& operator=(const GraphProgram&) = default;

  // The values of symints that the shapes of the inputs don't tell, by name.
  using Sizes = std::map<std::string, int64_t>;

  // One tensor for each input of the graph that is no symint, in order. One that lies by other
  // strides than its type is copied first (stride_copies in Report::counters), but not if it is
  // updated. Returns the graph's results and gradients, in order: copies. Updates are written at
  // the end, and only if nothing fails. Runs of one program come one after the other; others wait.
  // A program for other sizes is compiled at the first run with them.
  //
  // Errors (user): another number of inputs, dtypes or sizes than the graph's, strides of what is
  // updated; a symint that nothing tells; an update of a const tensor, or of memory that is also
  // another input's; an index out of range; those of compilation.
  HostTensors run(std::span<const InputRef> inputs, const Sizes& sizes = {});
  HostTensors run(std::initializer_list<InputRef> inputs, const Sizes& sizes = {}) {
    return run(std::span<const InputRef>(inputs.begin(), inputs.size()), sizes);
  }
  // Compiles for these sizes; runs nothing.
  void prepare(std::span<const InputRef> inputs, const Sizes& sizes = {});
  // Of the program that ran or was prepared last. Error (user): there was none yet.
  Report report() const;
  // Of the same program, in its order: those that move anything.
  std::vector<ProgramKernel> kernels() const;
  // For how many sizes it has been made, and for how many of them a compiler ran, the first two
  // aside: programs from the second size on share the functions of their kernels (dyn() in
  // cleave/input_spec.h).
  int64_t compiled_sizes() const;
  int64_t recompiled_sizes() const;
  TracedGraph graph() const;

  struct State;
  explicit GraphProgram(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// Nothing is compiled before the first run or prepare(). Error (user): kept_sizes below 1.
CLEAVE_API GraphProgram compile_graph(const TracedGraph& graph, CompileOptions options = {});

}  // namespace cleave
