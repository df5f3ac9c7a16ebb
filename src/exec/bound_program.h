// A traced program, compiled, with its placeholders bound: Variables where they live, inputs where
// the caller of run() has them, cleave's own memory for the rest.
//
// Variables are looked up at each run, so that one that has moved (Variable::bind) is followed.
#pragma once
#include <atomic>
#include <span>

#include "cleave/train.h"
#include "exec/executable.h"
#include "trace/recording.h"

namespace cleave {

class BoundProgram {
 public:
  // `graph` is that of a recording; `variables` are its bound() ones, `inputs` the placeholders
  // that run() is given, in order, `own` placeholders and the memory that the caller of make()
  // keeps.
  struct Parts {
    Graph graph;
    std::vector<trace::Recording::Bound> variables;
    std::vector<ValueId> inputs;
    std::vector<InputSpec> specs;
    std::vector<std::pair<ValueId, HostTensor*>> own;
    size_t forward_results = 0;            // StageOptions'
    std::vector<CompilePass> passes = {};  // that ran while it was traced
  };
  static Result<std::unique_ptr<BoundProgram>> make(Parts parts, const std::string& what,
                                                    const CompileOptions& options);

  Status run(std::span<const InputRef> inputs);
  // Result k of the last run, in the program's memory.
  HostTensor result(size_t k) const;
  double number(size_t k) const;  // of one element

  const Graph& traced() const { return traced_; }
  Report& report() { return report_; }
  Instance& instance() { return *instance_; }

 private:
  BoundProgram() = default;
  Status check_input(const InputRef& input, size_t k) const;

  struct Bound {
    size_t placeholder = 0;
    Variable variable;
    void* data = nullptr;  // where it is bound
  };
  std::string what_;
  Graph traced_;
  Report report_;
  std::shared_ptr<const CompiledProgram> program_;
  std::unique_ptr<Instance> instance_;
  std::vector<Bound> variables_;
  std::vector<size_t> inputs_;  // placeholders
  std::vector<InputSpec> specs_;
  std::atomic<bool> running_ = false;
};

// The specs as placeholders of the recording. Errors at `at`: a name that is taken or twice there,
// a negative dim.
std::vector<ValueId> declare_inputs(trace::Recording& recording,
                                    const std::vector<InputSpec>& inputs,
                                    Location at = Location::current());
// The Tensors of the specs given to the function; errors at `at` where their number doesn't fit.
Tensors run_traced(const TracedFunction& function, const trace::RecordingPtr& recording,
                   const std::vector<ValueId>& inputs, Location at);

// Names of the model's Variables, and their placeholders in this order: parameters, then buffers.
void declare_model(trace::Recording& recording, const nn::Module& model);

// Removes what no result needs: nodes, and placeholders of Variables.
void drop_unused(Graph& graph, const std::vector<ValueId>& keep);

}  // namespace cleave
