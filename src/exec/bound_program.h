// A traced program, compiled, with its placeholders bound: Variables to their memory, inputs to the
// memory that the caller of run() passes, the rest to memory of cleave.
//
// Each run looks up where the Variables are, because Variable::bind may move them.
#pragma once
#include <atomic>
#include <span>

#include "cleave/train.h"
#include "exec/executable.h"
#include "trace/recording.h"

namespace cleave {

class BoundProgram {
 public:
  // `graph` is a recording's and `variables` what it has bound(); `inputs` are the placeholders
  // that run() is given, in order, `own` placeholders with memory that the caller of make() keeps.
  struct Parts {
    Graph graph;
    std::vector<trace::Recording::Bound> variables;
    std::vector<ValueId> inputs;
    std::vector<InputSpec> specs;
    std::vector<std::pair<ValueId, HostTensor*>> own;
    size_t forward_results = 0;            // as in StageOptions
    std::vector<CompilePass> passes = {};  // those that ran before compiling
  };
  static Result<std::unique_ptr<BoundProgram>> make(Parts parts, const std::string& what,
                                                    const CompileOptions& options);

  Status run(std::span<const InputRef> inputs);
  // The same in the order of the specs. Errors (user): a name that is unknown, missing or twice
  // there.
  Result<std::vector<InputRef>> in_order(std::span<const NamedInput> inputs) const;
  // Result k of the last run, in the program's memory, which `keep` keeps.
  HostTensor result(size_t k, std::shared_ptr<void> keep = nullptr) const;
  double number(size_t k) const;  // of a result with one element
  // What values of traced() are for these inputs and what is bound now, computed call by call, as
  // the last run would compute them without any pass; changes nothing, and takes memory for all of
  // them. Compiles a program: for failures.
  Result<HostTensors> recompute(const Values& values, std::span<const InputRef> inputs) const;

  const Graph& traced() const { return traced_; }
  Report& report() { return report_; }
  Instance& instance() { return *instance_; }

 private:
  BoundProgram() = default;
  Status check_input(const InputRef& input, size_t k) const;
  bool is_written(const HostTensor& input) const;

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
  CompileOptions options_;
  std::vector<Bound> variables_;
  std::vector<std::pair<size_t, HostTensor*>> own_;  // by placeholder
  std::vector<size_t> inputs_;                       // placeholders
  std::vector<InputSpec> specs_;
  std::vector<HostTensor> copies_;  // of inputs, for the run
  std::atomic<bool> running_ = false;
};

// Adds a placeholder for each spec. Throws (user, at `at`): a name that is taken, a negative dim.
std::vector<ValueId> declare_inputs(trace::Recording& recording,
                                    const std::vector<InputSpec>& inputs,
                                    Location at = Location::current());
// Calls the function on the inputs' Tensors. Throws (user, at `at`): a wrong number of inputs, an
// undefined Tensor among the results.
Tensors run_traced(const TracedFunction& function, const trace::RecordingPtr& recording,
                   const std::vector<ValueId>& inputs, Location at);

// Declares the model's Variables by name, in this order: parameters, then buffers.
void declare_model(trace::Recording& recording, const nn::Module& model);

// Removes nodes and placeholders that no return needs, except the placeholders in `keep`.
void drop_unused(Graph& graph, const std::vector<ValueId>& keep);

}  // namespace cleave
