// How a program is compiled and run, and how a step trains: plain values; no environment variables
// are read.
//
//   compile(model, f, inputs, {.threads = 4, .autocast = DType::bf16});
//   train_step(model, loss, optimizer, inputs, {.compile = {.threads = 4}, .clip_norm = 1.0});
//
// A copy is another value: what two programs share, they are given as an argument (the store of
// train_step) or as a pointer (the executor).
//
// Options have a text of one line (doc/options.md lists them):
//
//   CompileOptions options = CompileOptions::parse("strict=true memory_budget=60%");
//   options.with({{"threads", "4"}}).text();  // "threads=4 memory_budget=60% strict=true"
#pragma once
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/cache.h"
#include "cleave/compile_log.h"
#include "cleave/compile_observer.h"
#include "cleave/compiler_choice.h"
#include "cleave/device.h"
#include "cleave/dtype.h"
#include "cleave/executor.h"
#include "cleave/function_pass.h"
#include "cleave/memory_budget.h"
#include "cleave/nn.h"
#include "cleave/op.h"
#include "cleave/pytorch_options.h"
#include "cleave/rewrite.h"
#include "cleave/target.h"

namespace cleave {

class Backend;

// What a run does whose inputs have other sizes than their InputSpecs give as numbers.
enum class OtherSizes : uint8_t {
  refuse,  // UserError
  grow,    // each number is a size that varies, as dyn() without bounds
};

// Whether the calls of a run are started as one CUDA graph (torch._inductor.config:
// triton.cudagraphs), from the third run on; what copies inputs is no part of it.
enum class CudaGraphs : uint8_t {
  automatic,  // on a GPU, where nothing prevents it
  on,         // the same, and where it runs on the CPU that is counted as a reason, too
  off,
};

struct CompileOptions {
  // ---- what runs it
  // The host program's threads; null: `threads` many of cleave's own (0: one for each core), which
  // all programs with this number share.
  std::shared_ptr<Executor> executor = nullptr;
  int threads = 0;
  CompilerChoice compiler = CompilerChoice::automatic;
  // Error (unsupported), when the program runs: this machine lacks what the target needs.
  Target target = Target::here();
  // Where its values lie and its kernels run (cleave/device.h). Of a device that isn't the
  // processor the target is its own, whatever processor `target` names. Error (unsupported): what
  // the device needs isn't there, with what is missing.
  Device device = {};
  // That of other programs for this device, target and compiler, which it decides then; null: one
  // of its own. Error (user): on a GPU, one that was made for another `deterministic`.
  std::shared_ptr<Backend> backend = nullptr;
  // Custom operators beside cleave's own.
  Operators ops = {};
  // Where sizes of inputs vary (dyn()), how many programs a step or function keeps beside that for
  // the largest sizes, and how many each of its instances: beyond, the one that wasn't used for the
  // longest time is dropped, and made again when it is needed. Error (user): below 1.
  int64_t kept_sizes = 32;
  OtherSizes other_sizes = OtherSizes::refuse;
  // Where a memory_budget is given and the device's memory isn't the host's: values may lie in the
  // host's memory while nothing touches them, copied beside the calls, where that is cheaper than
  // computing them again. The bits of results don't depend on it.
  bool offload = true;
  // Whether each run gives the same bits. false: on a GPU the gradients of attention may be added
  // up as blocks come, which is faster; on the CPU nothing differs.
  bool deterministic = true;
  // What prevents it is said once, `skipping cudagraphs due to REASON`, and counted
  // (Report::counters). The bits of results don't depend on it.
  CudaGraphs cudagraphs = CudaGraphs::automatic;

  // ---- what is kept of it
  // A cache that several programs share, in the place of cache_dir (cleave/cache.h).
  std::shared_ptr<Cache> cache = nullptr;
  // A folder that keeps programs and their code, for any process of this user: where an equal
  // program was compiled before, no pass runs; where equal code was, no compiler is opened. It is
  // made if it isn't there; it must be this user's alone, else the program is compiled without it
  // (Report::cache says why). Empty: nothing is kept. What is altered or torn is never loaded.
  std::string cache_dir = {};
  // What isn't used for longest is dropped beyond about this many bytes.
  int64_t cache_bytes = int64_t{2} << 30;
  // A program that the cache has is compiled as well, and compared with it bit for bit. Error
  // (bug): they differ.
  bool cache_check = false;

  // ---- what is shown of it
  // The folder for a dump of each compilation stage, one file each; empty: nothing is dumped.
  std::string dump_dir = {};
  // The folder in which a defect of cleave (ErrorKind::bug) leaves a folder GRAPH_K: the graph,
  // these options, its inputs where they are known, and the command that repeats it, which the
  // message names too. Empty: nothing is left.
  std::string repro = {};
  // Values whose contents value() of the program returns after a run, by the names that .named() or
  // graph_text() gives them: "h"; in a training step "grad.h" is the gradient of %h, too, whether
  // or not the step computes it otherwise (of an accumulating run its own part, before clipping).
  // Each is kept until the end of the run: that costs its memory, and keeps passes from replacing
  // what surrounds it by something that doesn't compute it (a fused attention, whose sums have
  // another order); where nothing is replaced, no other bits change. Errors (user): no value has
  // the name, it is inside a branch or a loop, nothing leads from it to the loss.
  std::vector<std::string> watch = {};
  // Called before and after each stage, in this order. Error (user): a null one.
  std::vector<std::shared_ptr<CompileObserver>> observers = {};
  // Gets warnings, and the begin and end of each compilation. Empty: warnings go to stderr, each
  // text once a process.
  CompileLog log = {};

  // ---- memory and precision
  // Limits the peak: of a family of programs that recompute more and more instead of keeping it,
  // the cheapest one within the budget is chosen. The bits of results do not depend on it. Error
  // (user): no program fits; the message gives the smallest peak found and a lower bound. If unset,
  // values that cost almost nothing are recomputed, for at most a 64th of the time (by the cost
  // table), if this lowers the peak.
  MemoryBudget memory_budget = {};

  // What the backward of a training step or of a function with gradients computes again is chosen
  // by PyTorch's partitioner, in the place of cleave's own choice (doc/partition.md): of the
  // forward, which ends where the loss is known, the values that it doesn't save run again in front
  // of their first reader in the backward. The bits of results don't depend on it. Errors (user): a
  // budget outside of [0, 1], memory_budget is given as well, the estimator `profile`.
  std::optional<PytorchOptions> partition = {};

  // Mixed precision: products, convolutions and attention of the function run in this dtype, bf16
  // or f16, losses in f32, the rest in their operands' dtype (PyTorch's lists for the CPU,
  // doc/decisions/011-autocast.md). Parameters, gradients, the optimizer, inputs and results keep
  // their dtypes; a parameter is cast once a run. The largest f16 is 65504 and gradients below 6e-8
  // are 0, so a training step in f16 scales its loss (TrainOptions::loss_scaling). Error (user):
  // another dtype. If unset, nothing is cast.
  std::optional<DType> autocast = {};

  // ---- rewrites
  // Passes that don't run, by the names that `cleave opt --list` prints or those of `rules` and
  // `functions`; "all" disables every pass of cleave. Error (user): there is no such pass.
  std::vector<std::string> passes_off = {};
  // Passes that run only on request (doc/passes.md says why), and numbers that some take:
  // "batch_linear:min_fuse_set_size:2". Error (user): there is no such pass or number.
  std::vector<std::string> passes_on = {};
  // If true, no pass may change how a result is rounded.
  bool strict = false;
  // For inference: each run uses the values that parameters, constants, and buffers that the
  // function doesn't assign had when compile() was called. What depends on them alone is computed
  // there, once, and belongs to the program (Report::frozen); batch norms, factors and products of
  // one operand go into the weights (fuse_conv_bn, fold_binary, batch_linear_lhs), which rounds
  // otherwise and so is off in strict programs. After one of these Variables was set, loaded or
  // trained, a run is an error (user) until CompiledFunction::refreeze() has taken the new values.
  // What is written through a pointer that the host program kept from data() isn't noticed. Errors
  // (user): a training step, a function that assigns a parameter.
  bool freeze = false;
  // Rewrite rules beside cleave's own. Errors (user): a text that isn't a rule, a replacement of
  // another type; the message names the rule and the call.
  std::vector<RewriteRule> rules = {};
  // Passes beside cleave's own. Errors (user), naming the pass: a result that is no graph, or one
  // with other placeholders or results; what it throws; no name or function, a name that another
  // pass has.
  std::vector<FunctionPass> functions = {};

  // ---- as text
  // The options that differ from their defaults, in the order of doc/options.md: NAME=VALUE between
  // spaces, with "..." around a value that has a space or a quote in it. What is set in C++ alone
  // (executor, ops, observers, log, rules, functions) is left out. Equal texts are equal options
  // but for that.
  CLEAVE_API std::string text() const;
  // The options of a text, in any order; the rest has its defaults. Errors (user): an unknown name,
  // one that is given twice or is set in C++ alone, a value of another kind. A value of the right
  // kind that no program can have, such as threads=-1, is an error of compile().
  CLEAVE_API static CompileOptions parse(std::string_view text);
  // A copy with other values, each NAME, VALUE: with({{"strict", "true"}, {"watch", "h,grad.h"}}).
  // A text needs no quotes here, the items of a list do. Errors: as parse.
  CLEAVE_API CompileOptions
  with(std::initializer_list<std::pair<std::string, std::string>> changes) const;
};

// What becomes of a run of a training step whose loss or gradients are not all finite.
enum class NonFinite : uint8_t {
  keep,       // nothing is checked: parameters become NaN
  skip_step,  // the run changes nothing: StepResult::skipped
  error,      // an error (user), and the run changes nothing
};

// Whether a training step scales its loss, so that gradients in f16 are in the range of f16.
enum class LossScaling : uint8_t {
  automatic,  // with autocast to f16
  on,
  off,
};

struct TrainOptions {
  CompileOptions compile = {};

  // Other modules that the loss reads, by the prefix of their names in the graph: a GAN's other
  // half, a teacher, a target network. Their parameters are constants of this step, whether they
  // are frozen elsewhere or not; gradients flow through them. Each run reads their current values.
  // Buffers are updated as the modules' modes say (BatchNorm's statistics in training mode). A
  // Variable that the model holds too is the model's. They are no part of the step's store.
  std::vector<std::pair<std::string, nn::Module>> frozen = {};

  // ---- gradients
  // They are scaled so that their global norm is at most this; 0: they aren't scaled.
  // Infinity: the norm is computed, as for report_grad_norm, and nothing is scaled.
  double clip_norm = 0;
  // If true, StepResult::grad_norm is computed without clipping, too.
  bool report_grad_norm = false;
  // Those of this many runs are averaged before the optimizer updates the parameters once. The runs
  // that add gradients up and the one that updates are two programs: a memory_budget holds for
  // each; Report, memory_trades and percentages are of the one that updates.
  int64_t accumulate = 1;
  // If not `keep`, a run is checked by its loss and the global norm of its gradients, so the norm
  // is computed, and gradients whose norm is beyond the range of f32 count as not finite. No
  // parameter is written before all gradients are there, as with clipping.
  //
  // A run that is skipped is as if it had not been made: parameters, optimizer, averages, buffers
  // (the statistics of a BatchNorm as well, which PyTorch would leave as NaN) and steps() keep
  // their values; an accumulating step needs one more run instead. But random numbers go on, so
  // that the next run draws others. After an error they don't: the run can be repeated.
  //
  // The error names the first value that isn't finite, in the order of the program, of those that
  // the loss or gradient got it from, and the line that computed it. To find it, the run is
  // repeated call by call, which takes memory for all its values.
  //
  // Where the loss is scaled, gradients are the scale's matter, and the loss alone is checked.
  NonFinite on_nonfinite = NonFinite::keep;

  // ---- the loss's scale, as that of torch.amp.GradScaler
  // The gradients are those of scale * loss, divided by the scale before they are clipped; the loss
  // is reported as it is. If an element of a gradient is inf or nan, the step is skipped inside of
  // the program: parameters, the optimizer's state, steps() and averages keep their values, buffers
  // and random numbers go on, as in PyTorch. Then the scale is multiplied by backoff_factor; after
  // growth_interval steps in a row that weren't skipped, by growth_factor, unless that is inf in
  // f32. The scale, the count of these steps and that of the skipped ones are state in the store
  // (optimizer.loss_scale, .growth_tracker, .skipped_steps), and in StepResult. With accumulate the
  // sums of all runs are looked at, in the last one. Errors (user): an init_scale that is no
  // positive number of f32, a growth_factor of at most 1, a backoff_factor outside of (0, 1), a
  // growth_interval below 1.
  LossScaling loss_scaling = LossScaling::automatic;
  double init_scale = 65536;  // if the store has none yet
  double growth_factor = 2;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;

  // ---- state
  // Keeps averages of the trained parameters, ema = ema_decay ema + (1 - ema_decay) p, starting
  // from the parameters after the first step (torch.optim.swa_utils.AveragedModel); 0: no averages.
  double ema_decay = 0;
  // The seed of the step's random numbers, if its store has none yet.
  uint64_t seed = 0;

  // ---- as text
  // As those of CompileOptions, whose names stand beside these: "strict=true clip_norm=1". `frozen`
  // has no text either.
  CLEAVE_API std::string text() const;
  CLEAVE_API static TrainOptions parse(std::string_view text);
  CLEAVE_API TrainOptions
  with(std::initializer_list<std::pair<std::string, std::string>> changes) const;
};

}  // namespace cleave
