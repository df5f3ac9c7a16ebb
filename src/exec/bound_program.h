// A traced program, compiled: ProgramCode, which doesn't change and which several may run; and with
// its placeholders bound, a BoundProgram: Variables to their memory, inputs to the memory that the
// caller of run() passes, the rest to memory of cleave.
//
// Each run looks up where the Variables are, because Variable::bind may move them, and binds inputs
// but static ones that lie where they lay.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <span>

#include "backend/device_memory.h"
#include "cleave/train.h"
#include "compile/code_pool.h"
#include "exec/executable.h"
#include "exec/folded_values.h"
#include "exec/shared_memory.h"
#include "trace/recording.h"
#include "trace/variable_state.h"

namespace cleave {

struct ProgramCode {
  // What else the program computes, beside its results.
  struct Marks {
    // Positions in `return`.
    std::optional<size_t> norm_at = {};             // of the gradients' norm
    std::optional<size_t> scale_at = {};            // of the loss's scale
    std::optional<size_t> skipped_at = {};          // of the number of steps that it skipped
    std::map<std::string, size_t> watched_at = {};  // of each watched value
    Values checked = {};                            // of the graph (train/nonfinite.h)
    Variable rng = {};                              // if it draws random numbers
  };
  // `graph` is a recording's and `variables` what it has bound(); `inputs` are the placeholders
  // that run() is given, in order, `own` placeholders with memory that the caller of make() keeps.
  struct Parts {
    CompileOptions options;  // among them the graph's operators
    Graph graph;
    std::vector<trace::Recording::Bound> variables;
    std::vector<ValueId> inputs;
    std::vector<InputSpec> specs;  // of the inputs; their sizes are numbers
    std::string sizes = {};        // "B=7,T=3", where they vary
    std::vector<std::pair<ValueId, HostTensor*>> own;
    size_t results = 0;          // of the function: the first returns
    size_t forward_results = 0;  // as in StageOptions
    Report front = {};           // of the trace: its warnings, and the stages in it
    double trace_ms = 0;         // these stages included
    Marks marks = {};
    std::shared_ptr<FoldedPool> folded = nullptr;  // with CompileOptions::freeze
  };
  // Moves the graph to the options' device, and all that names its values.
  static Status move_to_device(Parts& parts);
  // With a pool its kernels are functions of that.
  static Result<std::shared_ptr<const ProgramCode>> make(Parts parts,
                                                         std::shared_ptr<CodePool> pool = nullptr);
  // Its kernels, for a pool to learn from; no code is made.
  static Result<std::vector<loop::Kernel>> kernels(const Parts& parts,
                                                   const std::shared_ptr<Backend>& backend);

  CompileOptions options;
  size_t forward_results = 0;
  Graph traced;
  Report report;
  size_t results = 0;
  Marks marks;
  std::shared_ptr<const CompiledProgram> program;
  std::shared_ptr<Executor> executor;
  struct PlacedVariable {
    size_t placeholder = 0;  // its number in `program`
    Variable variable;
    std::string name;         // of the placeholder
    bool is_updated = false;  // by a run
  };
  std::vector<PlacedVariable> variables;
  // By the number of the placeholder, in `program`.
  std::vector<std::pair<size_t, HostTensor*>> own;
  std::vector<size_t> inputs;
  std::vector<InputSpec> specs;          // of the inputs
  std::shared_ptr<FoldedValues> folded;  // null unless it is frozen
  std::vector<size_t> folded_at;         // the placeholder of each
};

class BoundProgram {
 public:
  // Its own arena, or the given one if that is large enough (Instance::make).
  static Result<std::unique_ptr<BoundProgram>> make(std::shared_ptr<const ProgramCode> code,
                                                    std::shared_ptr<ArenaMemory> arena = nullptr);

  ~BoundProgram() { wait(); }

  enum class Next : uint8_t { run, start };
  // The inputs have the types of the program's, which InputSizes has compared. Errors (user): the
  // memory of what is updated is that of another operand, too; both are named.
  Status bind(std::span<const InputRef> inputs, Next next = Next::run);
  Status run();
  // As Instance::start, behind a bind for that.
  Status start(std::shared_ptr<StartedRun> run);
  Status settle();
  // The same, and leaves it to others to be told of a failure.
  void wait() const;
  // Takes the inputs, which are bound, and drops each when it is read no more; those that are
  // updated at the end.
  Status run_boxed(HostTensors&& inputs);
  // Result k of the last run, in the program's memory, which `keep` keeps.
  HostTensor result(size_t k, std::shared_ptr<void> keep = nullptr) const;
  DeviceTensor result_there(size_t k, std::shared_ptr<void> keep = nullptr) const;
  double number(size_t k) const;  // of a result with one element
  // The same in StartedRun::ended.
  double ended_number(size_t k) const;
  // What values of traced() are for what is bound now, computed call by call, as the last run would
  // compute them without any pass; changes nothing, and takes memory for all of them. Compiles a
  // program: for failures.
  Result<HostTensors> recompute(const Values& values) const;

  const Graph& traced() const { return code_->traced; }
  const Report& report() const { return report_; }
  const ProgramCode::Marks& marks() const { return code_->marks; }
  void set_count(const char* counter, int64_t count) { report_.counters[counter] = count; }
  bool assigns_variables() const;
  Instance& instance() { return *instance_; }
  const ProgramCode& code() const { return *code_; }
  // Why runs are no graphs of the device, once; else null.
  const Warning* new_warning();

 private:
  BoundProgram() = default;
  bool is_written(const HostTensor& input) const;
  const HostTensor& bindable(const HostTensor& input, size_t k);
  Result<const HostTensor*> bindable_there(const InputRef& input, size_t k);
  Status bind_operand(Instance& instance, size_t k) const;
  bool is_written_there(const HostTensor& input) const;
  void keep_until_over(std::span<const InputRef> inputs);
  Status bind_variables(const std::shared_ptr<DeviceUse>& use);
  double number_at(size_t k, const void* data) const;
  void count_graphs();
  Status check_shared(std::span<const InputRef> inputs);
  std::string operand_text(size_t number) const;
  Status bind_folded();
  Status check_room() const;
  Status end_run(Status ran);

  struct Bound : ProgramCode::PlacedVariable {
    void* data = nullptr;  // where it is bound, on the device if the program's memory is there
    std::weak_ptr<const trace::DeviceCopy> copy;  // then
    std::optional<HostTensor> there;              // then: its address, for shared memory
  };
  struct CopyThere {
    DeviceBlock block;
    std::optional<HostTensor> tensor;
  };
  std::shared_ptr<const ProgramCode> code_;
  Report report_;
  std::unique_ptr<Instance> instance_;
  std::vector<Bound> variables_;
  // By input: where it is bound, and the memory of its copy.
  std::vector<const void*> bound_inputs_;
  std::vector<std::optional<HostTensor>> copies_;
  std::vector<const HostTensor*> tensors_;  // what is bound: the caller's, or copies
  std::vector<bool> is_there_;              // and whether that is on the device
  std::vector<CopyThere> copies_there_;
  // Tensors of the device that were given for the last runs (ArenaMemory::turns and as many).
  std::array<std::vector<std::shared_ptr<HostTensor>>, 4> kept_;
  size_t runs_ = 0;
  bool updates_inputs_ = false, updates_variables_ = false;
  bool is_moved_ = true;  // some address is another one than when shared memory was looked for
  SharedMemory shared_;
  std::shared_ptr<const FoldedValues::List> folded_;  // what is bound
  // In report_.counters: GraphCounts; null where there are no graphs.
  int64_t *recorded_ = nullptr, *launched_ = nullptr, *skipped_ = nullptr;
  std::optional<Warning> said_;
  bool is_said_ = false;
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

// If the program draws random numbers, each run begins with the next state of the generator: adds
// the update of its Variable.
void advance_random(trace::Recording& recording, Location at);

// Removes nodes and placeholders that no return needs, except the placeholders in `keep`.
void drop_unused(Graph& graph, const std::vector<ValueId>& keep);

}  // namespace cleave
