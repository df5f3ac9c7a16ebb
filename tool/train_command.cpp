// cleave train: trains a character-level GPT on a text file.
#include "tool/command.h"
#include "tool/trainer.h"

namespace cleave::tool {
namespace {

void model_options(OptionList& options, TrainArguments& o) {
  options.option("--layers", o.shape.layers, "transformer blocks (4)");
  options.option("--width", o.shape.width, "of the residual stream (128)");
  options.option("--heads", o.shape.heads, "of attention; they divide the width (4)");
  options.option("--context", o.shape.context, "characters that the model sees (64)");
  options.option("--dropout", o.shape.dropout, "probability, 0 to 1 (0)");
}

void run_options(OptionList& options, TrainArguments& o) {
  options.option("--batch", o.batch, "windows a step (12)");
  options.option("--steps", o.steps, "training steps of the whole run (1000)");
  options.option("--seed", o.seed, "of initial weights, batches, dropout and the sample (0)");
  options.option("--lr", o.lr, "peak learning rate (1e-3)");
  options.option("--final-lr", o.final_lr, "learning rate at the last step (1e-4)");
  options.option("--warmup", o.warmup, "steps up to the peak (100)");
  options.option("--schedule", o.schedule, "cosine, linear or constant");
  options.option("--weight-decay", o.weight_decay, "of AdamW, for matrices (0.1)");
  options.option("--clip", o.clip, "global norm of the gradients, 0: none (1.0)");
  o.autocast.add_to(options);
  o.target.add_to(options);
}

void file_options(OptionList& options, TrainArguments& o) {
  options.required("--text", o.text, "the text file; a tenth at its end is held out");
  options.option("--out", o.out, "checkpoint, written at the end and after Ctrl-C (.safetensors)");
  options.option("--resume", o.resume, "go on from this checkpoint, bit for bit");
  options.option("--save-init", o.init, "write a checkpoint before the first step");
  options.option("--checkpoint-every", o.checkpoint_every, "steps between checkpoints (0: none)");
  options.option("--every", o.every, "steps between printed losses (100)");
  options.option("--sample", o.sample, "characters to write at the end (400)");
  options.option("--threads", o.threads, "0: one a core");
  options.option("--budget", o.budget,
                 "of the step's peak memory: 64MiB, or 60% of that without a budget");
  options.option("--dump", o.dump, "folder for every stage of the compilation");
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
