// A traced program, compiled: ProgramCode, which doesn't change and which several may run; and with
// its placeholders bound, a BoundProgram: Variables to their memory, inputs to the memory that the
// caller of run() passes, the rest to memory of cleave.
//
// Each run looks up where the Variables are, because Variable::bind may move them.
#pragma once
#include <map>
#include <optional>
#include <span>

#include "cleave/train.h"
#include "exec/executable.h"
#include "exec/folded_values.h"
#include "trace/recording.h"

namespace cleave {

struct ProgramCode {
  // What else the program computes, beside its results.
  struct Marks {
    std::optional<size_t> norm_at = {};             // the gradient norm's position in `return`
    std::map<std::string, size_t> watched_at = {};  // that of each watched value
    Values checked = {};                            // of the graph (train/nonfinite.h)
    Variable rng = {};                              // if it draws random numbers
  };
  // `graph` is a recording's and `variables` what it has bound(); `inputs` are the placeholders
  // that run() is given, in order, `own` placeholders with memory that the caller of make() keeps.
  struct Parts {
    Graph graph;
    std::vector<trace::Recording::Bound> variables;
    std::vector<ValueId> inputs;
    std::vector<std::pair<ValueId, HostTensor*>> own;
    size_t results = 0;                    // of the function: the first returns
    size_t forward_results = 0;            // as in StageOptions
    std::vector<CompilePass> passes = {};  // those that ran before compiling
    double trace_ms = 0;
    std::vector<Warning> warnings = {};  // of the trace
    Marks marks = {};
    std::shared_ptr<FoldedPool> folded = nullptr;  // with CompileOptions::freeze
  };
  static Result<std::shared_ptr<const ProgramCode>> make(Parts parts,
                                                         const CompileOptions& options);

  CompileOptions options;  // among them the graph's operators
  Graph traced;
  Report report;
  size_t results = 0;
  Marks marks;
  std::shared_ptr<const CompiledProgram> program;
  std::shared_ptr<Executor> executor;
  // By the number of the placeholder, in `program`.
  std::vector<std::pair<size_t, Variable>> variables;
  std::vector<std::pair<size_t, HostTensor*>> own;
  std::vector<size_t> inputs;
  std::shared_ptr<FoldedValues> folded;  // null unless it is frozen
  std::vector<size_t> folded_at;         // the placeholder of each
};

class BoundProgram {
 public:
  // Its own arena, or the given one if that is large enough (Instance::make).
  static Result<std::unique_ptr<BoundProgram>> make(std::shared_ptr<const ProgramCode> code,
                                                    std::shared_ptr<ArenaMemory> arena = nullptr);

  // The inputs have the types of the program's, which InputSizes has compared.
  Status run(std::span<const InputRef> inputs);
  // Result k of the last run, in the program's memory, which `keep` keeps.
  HostTensor result(size_t k, std::shared_ptr<void> keep = nullptr) const;
  double number(size_t k) const;  // of a result with one element
  // What values of traced() are for these inputs and what is bound now, computed call by call, as
  // the last run would compute them without any pass; changes nothing, and takes memory for all of
  // them. Compiles a program: for failures.
  Result<HostTensors> recompute(const Values& values, std::span<const InputRef> inputs) const;

  const Graph& traced() const { return code_->traced; }
  const Report& report() const { return report_; }
  const ProgramCode::Marks& marks() const { return code_->marks; }
  bool assigns_variables() const;
  Instance& instance() { return *instance_; }

 private:
  BoundProgram() = default;
  bool is_written(const HostTensor& input) const;
  Status bind_folded();

  struct Bound {
    size_t placeholder = 0;
    Variable variable;
    void* data = nullptr;  // where it is bound
  };
  std::shared_ptr<const ProgramCode> code_;
  Report report_;
  std::unique_ptr<Instance> instance_;
  std::vector<Bound> variables_;
  std::shared_ptr<const FoldedValues::List> folded_;  // what is bound
  std::vector<size_t> assigned_;                      // of variables_, those that a run writes
  std::vector<HostTensor> copies_;                    // of inputs, for the run
};

// Adds a placeholder for each spec, whose sizes are numbers. Throws (user, at `at`): a name that is
// taken.
std::vector<ValueId> declare_inputs(trace::Recording& recording,
                                    const std::vector<InputSpec>& inputs,
                                    Location at = Location::current());
// Calls the function on the inputs' Tensors. Throws (user, at `at`): a wrong number of inputs, an
// undefined Tensor among the results.
Tensors run_traced(const TracedFunction& function, const trace::RecordingPtr& recording,
                   const std::vector<ValueId>& inputs, Location at);

// Declares the model's Variables as prefix + name, in this order: parameters, then buffers.
void declare_model(trace::Recording& recording, const nn::Module& model,
                   const std::string& prefix = "");

// Removes nodes and placeholders that no return needs, except the placeholders in `keep`.
void drop_unused(Graph& graph, const std::vector<ValueId>& keep);

}  // namespace cleave
