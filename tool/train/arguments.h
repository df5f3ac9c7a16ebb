// What `cleave train` is told: its options, and the defaults of each kind of run.
//
//   character run   --text alone: a GPT of --layers, --width, --heads over the characters of a text
//   model run       --model, --config or --weights: a model in the layout of transformers
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cleave/options.h"
#include "tool/autocast_option.h"
#include "tool/cache_option.h"
#include "tool/device_option.h"
#include "tool/pytorch_rules.h"
#include "tool/target_option.h"
#include "tool/trace_option.h"

namespace cleave::tool {

struct TrainArguments {
  // ---- what is trained
  std::string model, config, weights, tokenizer;
  std::optional<int64_t> layers, width, heads;  // of a character run
  std::optional<int64_t> context;               // unset in a model run: as long as the model allows
  std::optional<double> dropout;                // unset in a model run: the config's
  // ---- on what
  std::string text, jsonl, field, tokens, token_dtype, images, held_out, separator;
  std::optional<double> masked;
  // ---- files
  std::string out, resume, init, graph, save, loss_svg;
  TraceOption trace;
  // ---- the run
  std::optional<int64_t> batch;
  int64_t accumulate = 1;
  std::optional<int64_t> steps, warmup, sample;
  std::optional<double> epochs;  // of a model run, in the place of steps
  int64_t every = 100, checkpoint_every = 0, eval_every = 0;
  uint64_t seed = 0;
  std::optional<double> lr, final_lr, weight_decay;
  double clip = 1.0;
  std::string schedule = "cosine";
  // ---- the compilation
  std::string dump, repro, budget, mode = "exact";
  PytorchRules rules;
  AutocastOption autocast;
  std::string loss_scaling = "automatic";
  double init_scale = TrainOptions().init_scale;
  CacheOption cache;
  TargetOption target;
  DeviceOption device;
  int threads = 0;
  bool json = false;

  bool is_model_run() const { return !model.empty() || !config.empty() || !weights.empty(); }
  // Files of examples, of which one is given: text, jsonl, tokens or images.
  const std::string& data_path() const;
};

// Sets what isn't given to its default, but for what depends on the model or the data: context and
// dropout, and steps and warmup where epochs are given.
void set_defaults(TrainArguments& o);
// warmup's default, which depends on steps.
void set_warmup(TrainArguments& o);

// Before anything is read. Errors (user): a value out of range, options that don't go together,
// files that would be lost (tool/named_files.h).
Status check(const TrainArguments& o);

}  // namespace cleave::tool
