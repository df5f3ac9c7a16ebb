// Programs: a whole training step, and functions for inference.
//
//   TrainStep step = train_step(
//       model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
//       optim::AdamW({.lr = 1e-3}), {{"x", DType::f32, {64, 2}}, {"y", DType::f32, {64, 1}}});
//   for (...) double loss = step.run({x, y}).loss;
//
//   CompiledFunction predict = compile(
//       model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {1, 2}}});
//   HostTensor y = predict.run({x})[0];
//
// A function is called once (twice by train_step with TrainOptions::accumulate, three times if its
// memory_budget is a percentage; again for each size of inputs whose sizes vary, dyn()), with
// Tensors that record. Both programs read the model's Variables where they are stored; the training
// step writes them in place. A run allocates nothing (run() of a function allocates its results),
// has the same bits on any number of threads, and, if it fails, leaves every Variable unchanged.
//
// Errors: those of the trace, at the lines of the model (user); an input that is missing, or of
// another dtype, shape or strides, or whose address doesn't suit its elements (user); an index out
// of range in a run (user); an operator that has no gradient or no kernel (unsupported). Threads: a
// program runs once at a time, and a second caller
// gets an error; different programs, and instances of one (CompiledFunction::instance), may run
// concurrently, unless they update the same Variables. Programs without an executor of the host
// program share one thread pool for each number of threads (CompileOptions::threads), which ends
// with the last of them; while one of them has its threads, the others run on the threads that call
// them. In the child of fork(), programs of the parent run on the calling thread, with the same
// bits; one that was running on another thread of the parent stays marked as running, but
// instance() of it can run. Don't fork() while another thread compiles, if the child is to compile.
// Destructors of static objects may run programs, but not compile: cleave's own are gone then.
#pragma once
#include <initializer_list>
#include <span>
#include <type_traits>

#include "cleave/device_tensor.h"
#include "cleave/input_spec.h"
#include "cleave/nn.h"
#include "cleave/optimizer_ref.h"
#include "cleave/options.h"
#include "cleave/report.h"
#include "cleave/step_result.h"
#include "cleave/store.h"
#include "cleave/traced_function.h"

namespace cleave {

// A tensor that is read during the call, or written where InputSpec::is_updated says so: the
// caller's, which must live as long, or one that the InputRef was given for its own. A DeviceTensor
// is kept until the run is over that it is given to, and may lie on the program's device: there it
// is read where it lies, or copied within the device if its address is no multiple of 16 bytes or
// it lies in memory that the program writes (Report::counters: copies). Errors (user): it is on
// another device than the program; it lies by other strides than its spec says, or is updated and
// would have to be copied.
class CLEAVE_API InputRef {
 public:
  InputRef(const HostTensor& tensor) : tensor_(&tensor), is_const_(true) {}
  InputRef(HostTensor& tensor) : tensor_(&tensor) {}
  InputRef(HostTensor&& tensor)
      : own_(std::make_shared<HostTensor>(std::move(tensor))), tensor_(own_.get()) {}
  InputRef(const DeviceTensor& tensor)
      : own_(tensor.tensor_), tensor_(own_.get()), is_const_(tensor.is_const()),
        device_(tensor.device()) {}
  // Throws (user) if it isn't the host's.
  const HostTensor& tensor() const;
  // Its type and address, wherever that is.
  const HostTensor& place() const { return *tensor_; }
  Device device() const { return device_; }
  bool is_const() const { return is_const_; }
  // What keeps its memory; null for a tensor that the caller keeps.
  const std::shared_ptr<HostTensor>& kept() const { return own_; }

 private:
  std::shared_ptr<HostTensor> own_;
  const HostTensor* tensor_;
  bool is_const_ = false;
  Device device_;
};

// An input by the name of its spec: step.run({{"x", x}, {"y", y}}).
struct NamedInput {
  std::string name;
  InputRef tensor;
};

// A handle: copies are the same step, and a step that was moved from is still the same one. A
// default-constructed one is empty: everything but assigning another one to it is an error (user).
class CLEAVE_API TrainStep {
 public:
  TrainStep() = default;
  TrainStep(const TrainStep&) = default;
  TrainStep& operator=(const TrainStep&) = default;

  // Inputs in the order of the specs, or by name. Runs one step, or with TrainOptions::accumulate =
  // k one of the k runs that make a step. An input that lies in the program's own memory, or in
  // that of a Variable, is copied (Report::counters: copies). Error (user): a parameter was frozen
  // or released, or the model switched to eval(), after the step was compiled, which has no effect.
  //
  // On a device it returns when it has copied the inputs and queued the run; the third run waits
  // for the first. A run that fails changes nothing, nor do those that were queued behind it, which
  // fail with its message; who is told of it is the first of: what reads loss, grad_norm or outputs
  // of these runs, the next run (which isn't made), what reads a Variable that they update. It
  // waits at once with on_nonfinite, and where a branch or loop depends on what is computed.
  StepResult run(std::initializer_list<InputRef> inputs) {
    return run(std::span<const InputRef>(inputs.begin(), inputs.size()));
  }
  StepResult run(std::span<const InputRef> inputs);
  template <class T = NamedInput>  // a template, so that run({}) is the first one
  StepResult run(std::initializer_list<std::type_identity_t<T>> inputs) {
    return run_named({inputs.begin(), inputs.size()});
  }
  // Result k of the loss function after the loss, of the last run: a copy; or the program's memory,
  // which the next run overwrites, and which the view keeps alive. Error (user): there was no run
  // yet, or the last one failed or was skipped.
  HostTensor output(size_t k) const;
  HostTensor output_view(size_t k) const;
  // The same memory where the program runs: on a device it isn't copied to the host.
  DeviceTensor output_there(size_t k) const;
  // A copy of what a value of CompileOptions::watch was in the last run. Error (user): it isn't
  // watched, or the last run didn't compute it.
  HostTensor value(const std::string& name) const;

  // The rate of a group of parameters, which the store keeps as `optimizer.lr` (of several groups
  // `optimizer.lr.K`); the setters set that of all groups, or of one. Error (user): a rate that is
  // below 0 or no finite number.
  double learning_rate(size_t group = 0) const;
  void set_learning_rate(double lr);
  void set_learning_rate(size_t group, double lr);
  // The number of steps recorded in the store's state, made by this program or another one.
  int64_t steps() const;
  // Parameters and buffers under their names, optimizer.*, ema.*, and rng = (seed, step).
  Store store() const;

  // Swaps the averages of TrainOptions::ema_decay in for the parameters, for evaluation and
  // save_weights; false swaps the parameters back. A training step that updates these parameters, a
  // checkpoint, and what loads or copies weights into them are errors (user) in between. If the
  // last handle of this step goes then, the averages stay as the parameters. Errors (user): no
  // averages are kept; those of another step are in the place of one of its parameters.
  void use_ema(bool on);

  // Of inputs whose sizes vary, this and what follows speak of the last program that was run;
  // before the first run, of that for the largest sizes.
  const Report& report() const;
  // The traced program: forward, backward, clipping and optimizer.
  std::string graph_text() const;
  // watch_memory fills the program's arena with a pattern; after a run, measured_peak_bytes returns
  // the touched part of it plus the placeholders: the measured value of Report::planned_peak_bytes.
  void watch_memory();
  int64_t measured_peak_bytes() const;
  // Starts or stops measuring each step of the following runs; costs two readings of the clock a
  // step. With gradient accumulation, measures the runs that update the parameters.
  void profile_kernels(bool on);
  std::vector<StepTime> step_times() const;
  // The step's target, with the fastest of a library's ways for each of its calls, measured here:
  // for CompileOptions::target of the next compilation, or a file. On a processor there is nothing
  // to choose from. Errors: the device has no memory for the calls' operands.
  Target tuned_target() const;

  struct State;
  explicit TrainStep(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  friend struct ProgramAccess;
  StepResult run_named(std::span<const NamedInput> inputs);
  State& state() const;
  std::shared_ptr<State> state_;
};

// A handle, as a TrainStep is.
class CLEAVE_API CompiledFunction {
 public:
  CompiledFunction() = default;
  CompiledFunction(const CompiledFunction&) = default;
  CompiledFunction& operator=(const CompiledFunction&) = default;

  // Inputs in the order of the specs, or by name. The results are copies, with the strides that
  // Report::outputs shows.
  HostTensors run(std::initializer_list<InputRef> inputs) {
    return run(std::span<const InputRef>(inputs.begin(), inputs.size()));
  }
  HostTensors run(std::span<const InputRef> inputs);
  // Takes the inputs over, so that each is freed behind its last reader, while the run goes on:
  // behind the loop or branch that may read it, and where it is updated at the end of the run.
  // The vector is empty afterwards, unless the inputs are refused.
  HostTensors run(HostTensors&& inputs);
  template <class T = NamedInput>
  HostTensors run(std::initializer_list<std::type_identity_t<T>> inputs) {
    return run_named({inputs.begin(), inputs.size()});
  }
  // Runs without allocating. output(k) copies a result; output_view(k) is the program's memory,
  // which the next run overwrites, and which the view keeps alive. Error (user): there was no run
  // yet, or the last one failed.
  void run_in_place(std::span<const InputRef> inputs);
  HostTensor output(size_t k) const;
  HostTensor output_view(size_t k) const;
  // The same memory where the program runs: on a device it isn't copied to the host.
  DeviceTensor output_there(size_t k) const;
  // As of a TrainStep.
  HostTensor value(const std::string& name) const;

  // The same compiled code with its own arena, inputs and results, so that each thread of a server
  // runs one of its own: microseconds instead of a compilation. The Variables are shared, and so
  // are programs for sizes that vary. May be called while this one, or an instance of it, runs. Of
  // a function that assigns Variables one instance runs at a time; a second one gets an error
  // (user).
  CompiledFunction instance() const;

  // With CompileOptions::freeze: takes the values that the Variables have now, as compile() did,
  // and compiles nothing; this program and its instances use them from their next run on. If it
  // fails, they go on with what they had. Error (user): it isn't frozen; a dropped Variable
  // (Report::frozen) is gone with its model.
  void refreeze();

  // Of the compilation, which an instance shares, but for what it counts of its own runs
  // (Report::counters). With sizes that vary, of the last program that was run, before the first
  // run of that for the largest sizes.
  const Report& report() const;
  std::string graph_text() const;

  struct State;
  explicit CompiledFunction(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  friend struct ProgramAccess;
  HostTensors run_named(std::span<const NamedInput> inputs);
  HostTensors outputs() const;
  State& state() const;
  std::shared_ptr<State> state_;
};

// Compiles forward, backward, clipping and optimizer as one program. `loss` returns the loss, a
// floating Tensor of one element, optionally followed by more results (as Tensors).
//
// `store` keeps what the step has beside the model: the state of the optimizer, the averages, the
// random numbers; the model's Variables are added to it. What is missing is created as for step 0;
// what is there is continued from, so another step of the same model, for other shapes or options,
// is given the first one's: train_step(model, loss, optimizer, wider, {}, step.store()). If none is
// given, the step has a new one, which it shares with no other. Error (user): the store has a
// tensor of another shape, dtype or model under a name that the step needs. Steps that share a
// store share the learning rates in it, too.
//
// If sizes of the inputs vary (dyn()), the step keeps a copy of the optimizer; error (user): it is
// given by a base of its type. A std::shared_ptr is always kept.
CLEAVE_API TrainStep train_step(const nn::Module& model, const TracedFunction& loss,
                                const OptimizerRef& optimizer, const std::vector<InputSpec>& inputs,
                                const TrainOptions& options = {}, Store store = {},
                                Location at = Location::current());

// A program that a memory budget may choose.
struct MemoryTrade {
  int64_t peak_bytes = 0;
  int64_t recompute_ns = 0;     // by the cost table
  int64_t offloaded_bytes = 0;  // that a step copies to the host's memory, and back
};
// Returns all of them for a training step, by falling peak and rising time; the first recomputes
// nothing. Compiles nothing, and creates no state. Sizes that vary are taken at their largest.
CLEAVE_API std::vector<MemoryTrade> memory_trades(const nn::Module& model,
                                                  const TracedFunction& loss,
                                                  const OptimizerRef& optimizer,
                                                  const std::vector<InputSpec>& inputs,
                                                  const TrainOptions& options = {},
                                                  Location at = Location::current());

// Compiles a function for inference: nothing is dropped, whatever the mode of the modules.
CLEAVE_API CompiledFunction compile(const nn::Module& model, const TracedFunction& function,
                                    const std::vector<InputSpec>& inputs,
                                    const CompileOptions& options = {},
                                    Location at = Location::current());
// The same without a model to name the Variables that the function reads: they keep their own
// names.
CLEAVE_API CompiledFunction compile(const TracedFunction& function,
                                    const std::vector<InputSpec>& inputs,
                                    const CompileOptions& options = {},
                                    Location at = Location::current());

}  // namespace cleave
