// cleave train: trains a character-level GPT on a text file.
#include "tool/command.h"
#include "tool/options_text.h"
#include "tool/trainer.h"

namespace cleave::tool {
namespace {

void model_options(OptionList& options, TrainArguments& o) {
  options.option("--layers", o.shape.layers, "transformer blocks");
  options.option("--width", o.shape.width, "of the residual stream");
  options.option("--heads", o.shape.heads, "of attention; they divide the width");
  options.option("--context", o.shape.context, "characters that the model sees");
  options.option("--dropout", o.shape.dropout, "probability, 0 to 1");
}

void run_options(OptionList& options, TrainArguments& o) {
  options.option("--batch", o.batch, "windows a step");
  options.option("--steps", o.steps, "training steps of the whole run");
  options.option("--seed", o.seed, "of initial weights, batches, dropout and the sample");
  options.option("--lr", o.lr, "peak learning rate");
  options.option("--final-lr", o.final_lr, "learning rate at the last step");
  options.option("--warmup", o.warmup, "steps up to the peak");
  options.option("--schedule", o.schedule, "cosine, linear or constant");
  options.option("--weight-decay", o.weight_decay, "of AdamW, for matrices");
  options.option("--clip", o.clip, "global norm of the gradients, 0: none");
  o.autocast.add_to(options);
  options.option("--loss-scaling", o.loss_scaling,
                 "automatic, on or off: of the gradients, with steps skipped where they are inf or "
                 "nan; automatic: with --autocast f16");
  options.option("--init-scale", o.init_scale, "of the loss, at the first step");
  o.target.add_to(options);
  o.device.add_to(options);
}

void file_options(OptionList& options, TrainArguments& o) {
  options.required("--text", o.text, "the text file; a tenth at its end is held out");
  options.option("--out", o.out, "checkpoint, written at the end and after Ctrl-C (.safetensors)");
  options.option("--resume", o.resume, "go on from this checkpoint, bit for bit");
  options.option("--save-init", o.init, "write a checkpoint before the first step");
  options.option("--checkpoint-every", o.checkpoint_every, "steps between checkpoints; 0: none");
  options.option("--every", o.every, "steps between printed losses");
  options.option("--sample", o.sample, "characters to write at the end");
  options.option("--threads", o.threads, "0: one a core");
  options.option("--budget", o.budget,
                 "of the step's peak memory: 64MiB, or 60% of that without a budget; pytorch: its "
                 "fraction");
  options.option("--mode", o.mode, "exact, or pytorch: what its partitioner would compute again");
  o.rules.add_to(options);
  options.option("--dump", o.dump, "folder for every stage of the compilation");
  options.option("--save-graph", o.graph,
                 "write the joint graph of the loss before the first step, for report, partition "
                 "and kernels (.clv)");
  o.trace.add_to(options);
  options.option("--repro", o.repro, repro_help);
  o.cache.add_to(options);
  options.flag("--json", o.json, "one JSON object a step, and one at the end");
}

}  // namespace

Command train_command() {
  return {
      "train", "train a character-level GPT on a text file",
      "  cleave train --text book.txt --steps 1000 --out gpt.safetensors\n"
      "  cleave train --text book.txt --steps 1000 --resume gpt.safetensors --out gpt.safetensors",
      [](OptionList& options) {
        auto o = std::make_shared<TrainArguments>();
        file_options(options, *o);
        model_options(options, *o);
        run_options(options, *o);
        return [o] { return train(*o); };
      }};
}

}  // namespace cleave::tool
