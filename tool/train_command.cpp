// cleave train: a character-level GPT on a text file.
#include "tool/command.h"
#include "tool/trainer.h"

namespace cleave::tool {
namespace {

void model_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--layers", o.shape.layers, "transformer blocks (4)");
  app.add_option("--width", o.shape.width, "of the residual stream (128)");
  app.add_option("--heads", o.shape.heads, "of attention; they divide the width (4)");
  app.add_option("--context", o.shape.context, "characters that the model sees (64)");
  app.add_option("--dropout", o.shape.dropout, "probability, 0 to 1 (0)");
}

void run_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--batch", o.batch, "windows a step (12)");
  app.add_option("--steps", o.steps, "training steps of the whole run (1000)");
  app.add_option("--seed", o.seed, "of initial weights, batches, dropout and the sample (0)");
  app.add_option("--lr", o.lr, "peak learning rate (1e-3)");
  app.add_option("--final-lr", o.final_lr, "learning rate at the last step (1e-4)");
  app.add_option("--warmup", o.warmup, "steps up to the peak (100)");
  app.add_option("--schedule", o.schedule, "cosine, linear or constant");
  app.add_option("--weight-decay", o.weight_decay, "of AdamW, for matrices (0.1)");
  app.add_option("--clip", o.clip, "global norm of the gradients, 0: none (1.0)");
}

void file_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--text", o.text, "the text file; a tenth at its end is held out")->required();
  app.add_option("--out", o.out, "checkpoint, written at the end and after Ctrl-C (.safetensors)");
  app.add_option("--resume", o.resume, "go on from this checkpoint, bit for bit");
  app.add_option("--save-init", o.init, "write a checkpoint before the first step");
  app.add_option("--checkpoint-every", o.checkpoint_every, "steps between checkpoints (0: none)");
  app.add_option("--every", o.every, "steps between printed losses (100)");
  app.add_option("--sample", o.sample, "characters to write at the end (400)");
  app.add_option("--threads", o.threads, "0: one a core");
  app.add_option("--dump", o.dump, "folder for every stage of the compilation");
  app.add_flag("--json", o.json, "one JSON object a step, and one at the end");
}

}  // namespace

Command train_command() {
  return {
      "train", "train a character-level GPT on a text file",
      "  cleave train --text book.txt --steps 1000 --out gpt.safetensors\n"
      "  cleave train --text book.txt --steps 1000 --resume gpt.safetensors --out gpt.safetensors",
      [](CLI::App& app) {
        auto o = std::make_shared<TrainOptions>();
        file_options(app, *o);
        model_options(app, *o);
        run_options(app, *o);
        return [o] { return train(*o); };
      }};
}

}  // namespace cleave::tool
