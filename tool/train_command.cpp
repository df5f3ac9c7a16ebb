// cleave train: fine-tunes a model of transformers, or trains a character-level GPT on a text.
#include "tool/command.h"
#include "tool/options_text.h"
#include "tool/train/run.h"

namespace cleave::tool {
namespace {

void model_options(OptionList& options, TrainArguments& o) {
  options.option("--model", o.model,
                 "gpt2, llama, mistral, qwen2, bert or vit; by default config.json's model_type");
  options.option("--config", o.config,
                 "config.json, or a folder that has one; by default beside --weights. Without "
                 "--weights the model begins with random ones");
  options.option("--weights", o.weights,
                 "a folder of Hugging Face, its index, or one .safetensors");
  options.option("--tokenizer", o.tokenizer,
                 "tokenizer.json, or a folder that has one; by default beside the config");
  options.option("--layers", o.layers, "of a character model: transformer blocks, 4");
  options.option("--width", o.width, "of a character model: of the residual stream, 128");
  options.option("--heads", o.heads,
                 "of a character model: of attention, 4; they divide the width");
  options.option("--context", o.context,
                 "tokens that the model sees: 64 characters; fine-tuning as many as it has "
                 "positions, at most 512");
  options.option("--dropout", o.dropout,
                 "probability, 0 to 1: 0; fine-tuning what the config says");
}

void data_options(OptionList& options, TrainArguments& o) {
  options.option("--text", o.text, "a text file");
  options.option("--jsonl", o.jsonl, "a document in each line, an object of JSON");
  options.option("--field", o.field, "of --jsonl, that has the document; by default text");
  options.option("--tokens", o.tokens, "token numbers, without a head");
  options.option("--token-dtype", o.token_dtype,
                 "of --tokens: u16, the default up to a vocabulary of 65536, or i32");
  options.option("--images", o.images,
                 "of vit: pixel_values f32[N,C,H,W] and labels i64[N] (.safetensors)");
  options.option("--held-out", o.held_out,
                 "a file for validation; by default a tenth at the end of the data is held out");
  options.option("--separator", o.separator,
                 "the token between documents; by default the config's eos_token_id");
  options.option("--masked", o.masked, "of bert: share of tokens to be guessed, 0.15");
}

void run_options(OptionList& options, TrainArguments& o) {
  options.option("--batch", o.batch, "windows, or images, a run: 12, fine-tuning 4");
  options.option("--accumulate", o.accumulate, "runs whose gradients make one step");
  options.option("--steps", o.steps, "training steps of the whole run, 1000");
  options.option("--epochs", o.epochs, "fine-tuning, in the place of --steps");
  options.option("--seed", o.seed, "of initial weights, batches, dropout and the sample");
  options.option("--lr", o.lr, "peak learning rate: 0.001, fine-tuning 0.00005");
  options.option("--final-lr", o.final_lr, "learning rate at the last step: 0.0001, fine-tuning 0");
  options.option("--warmup", o.warmup,
                 "steps up to the peak: 100, fine-tuning at most a tenth of the steps");
  options.option("--schedule", o.schedule, "cosine, linear or constant");
  options.option("--weight-decay", o.weight_decay, "of AdamW, for matrices: 0.1, fine-tuning 0.01");
  options.option("--clip", o.clip, "global norm of the gradients, 0: none");
  options.option("--eval-every", o.eval_every, "steps between validations; 0: one at the end");
  o.autocast.add_to(options);
  options.option("--loss-scaling", o.loss_scaling,
                 "automatic, on or off: of the gradients, with steps skipped where they are inf or "
                 "nan; automatic: with --autocast f16");
  options.option("--init-scale", o.init_scale, "of the loss, at the first step");
  o.target.add_to(options);
  o.device.add_to(options);
}

void file_options(OptionList& options, TrainArguments& o) {
  options.option("--save", o.save,
                 "a folder for the model as transformers loads it, with its tokenizer; written "
                 "when --out is");
  options.option("--out", o.out,
                 "checkpoint with the optimizer's state, written at the end and after SIGINT "
                 "(Ctrl-C) or SIGTERM (.safetensors)");
  options.option("--resume", o.resume, "go on from this checkpoint, bit for bit");
  options.option("--save-init", o.init, "write a checkpoint before the first step");
  options.option("--checkpoint-every", o.checkpoint_every, "steps between checkpoints; 0: none");
  options.option("--loss-svg", o.loss_svg, "a picture of the losses over the steps");
  options.option("--every", o.every, "steps between printed losses");
  options.option("--sample", o.sample,
                 "characters to write at the end: 400; fine-tuning: tokens, 0");
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

constexpr const char* example =
    "  cleave train --weights gpt2 --text book.txt --epochs 3 --save tuned\n"
    "  cleave train --model llama --config config.json --weights model.safetensors.index.json \\\n"
    "    --jsonl chats.jsonl --context 512 --batch 4 --accumulate 8 --autocast bf16 --budget 8GiB "
    "\\\n"
    "    --steps 2000 --checkpoint-every 100 --out run.safetensors --save tuned --loss-svg "
    "loss.svg\n"
    "  cleave train --weights vit --images pictures.safetensors --save tuned\n"
    "  cleave train --text book.txt --steps 1000 --out gpt.safetensors\n"
    "  cleave train --text book.txt --steps 1000 --resume gpt.safetensors --out gpt.safetensors\n"
    "\n"
    "Without --model, --config and --weights a GPT over the characters of a text is trained. With\n"
    "--resume give the options of the first run: what must not differ is checked, and the losses\n"
    "are those of a run that was never interrupted. doc/fine_tune.md says more.\n";

}  // namespace

Command train_command() {
  return {"train", "fine-tune a model, or train a character-level GPT", example,
          [](OptionList& options) {
            auto o = std::make_shared<TrainArguments>();
            model_options(options, *o);
            data_options(options, *o);
            file_options(options, *o);
            run_options(options, *o);
            return [o] { return train(*o); };
          }};
}

}  // namespace cleave::tool
