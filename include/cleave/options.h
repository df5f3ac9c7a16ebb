// How a program is compiled and run. One value, passed down; nothing is read from the environment.
//
//   Options options{.threads = 4, .clip_norm = 1.0, .seed = 7};
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleave/compiler_choice.h"
#include "cleave/dtype.h"
#include "cleave/executor.h"
#include "cleave/memory_budget.h"
#include "cleave/op.h"
#include "cleave/report.h"
#include "cleave/rewrite.h"
#include "cleave/store.h"
#include "cleave/target.h"

namespace cleave {

struct Options {
  // The host program's threads; null: cleave's own, `threads` many (0: one for each core).
  std::shared_ptr<Executor> executor = nullptr;
  int threads = 0;
  CompilerChoice compiler = CompilerChoice::automatic;
  // Error (unsupported) where the program runs: this machine can't.
  Target target = Target::here();
  // Operators beside cleave's own.
  Operators ops = {};
  // Each stage of the compilation as a file in this folder; none where it is empty.
  std::string dump_dir = {};

  // Of the peak: a program that takes no more than this is chosen, the cheapest of a family in
  // which more and more is computed again instead of kept. Bits of results do not depend on it.
  // Error (user): no program fits; the message names the least peak found and a lower bound. None:
  // what costs next to nothing is computed again, at most a 64th of the time (by the cost table),
  // where the peak is smaller for it.
  MemoryBudget memory_budget = {};

  // Mixed precision: products, convolutions and attention of the function run in this dtype, bf16
  // or f16, losses in f32, the rest as its operands come (PyTorch's lists of the CPU,
  // doc/decisions/011-autocast.md). Parameters, gradients, the optimizer, inputs and results keep
  // their dtypes; a parameter is cast once a run. f16 has no more than 65504: scale the loss of a
  // training step by hand, or take bf16. Error (user): another dtype. None: nothing is cast.
  std::optional<DType> autocast = {};

  // Passes that don't run, by the names that `cleave opt --list` gives; "all": none runs. Error
  // (user): there is no such pass.
  std::vector<std::string> passes_off = {};
  // Passes that run only where they are asked for (doc/passes.md says why).
  std::vector<std::string> passes_on = {};
  // No pass may change how a result is rounded.
  bool strict = false;
  // Rewrite rules beside cleave's own. Error (user): a text that is no rule, a replacement of
  // another type; the message names rule and call.
  std::vector<RewriteRule> rules = {};

  // ---- of training steps; compile() refuses them (error: user)
  // Gradients are scaled so that their global norm is at most this; 0: they are not.
  double clip_norm = 0;
  // The gradients of this many runs are averaged before the optimizer moves the parameters once.
  int64_t accumulate = 1;
  // Keeps averages of the trained parameters, ema = ema_decay ema + (1 - ema_decay) p, from the
  // parameters after the first step on (torch.optim.swa_utils.AveragedModel); 0: none.
  double ema_decay = 0;
  // Of the program's random numbers, where the store has none yet.
  uint64_t seed = 0;
  // Where optimizer state and random numbers live: none: in a new store, of this step alone. Give
  // the store of another step of the same model to go on from where that one stands, with other
  // shapes or options.
  std::optional<Store> store = {};
};

// Of one step of a program: a generated kernel, or a call of the runtime.
struct StepTime {
  std::string name;    // of the first value that it computes
  std::string kind;    // kernel, product, attention, convolution, foreign, jump
  int64_t ns = 0;      // of all runs measured; in a loop, of all iterations
  int64_t min_ns = 0;  // of one run
  int64_t bytes = 0;   // read and written, once
  int64_t flops = 0;   // of a product, an attention or a convolution, once; 0 elsewhere
};

}  // namespace cleave
