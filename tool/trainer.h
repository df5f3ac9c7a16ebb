// A run of `cleave train`: its arguments, and the loop over training steps.
#pragma once
#include <optional>
#include <string>

#include "tool/autocast_option.h"
#include "tool/cache_option.h"
#include "tool/device_option.h"
#include "tool/gpt.h"
#include "tool/pytorch_rules.h"
#include "tool/target_option.h"
#include "tool/text_data.h"
#include "tool/trace_option.h"

namespace cleave::tool {

struct TrainArguments {
  std::string text, out, resume, init, graph;
  GptShape shape;  // vocabulary is the text's
  int64_t batch = 12, steps = 1000, every = 100, sample = 400, checkpoint_every = 0;
  uint64_t seed = 0;
  double lr = 1e-3, final_lr = 1e-4, weight_decay = 0.1, clip = 1.0;
  int64_t warmup = 100;
  std::string schedule = "cosine", dump, repro, budget, mode = "exact";
  PytorchRules rules;
  AutocastOption autocast;
  std::string loss_scaling = "automatic";
  double init_scale = TrainOptions().init_scale;
  CacheOption cache;
  TargetOption target;
  DeviceOption device;
  TraceOption trace;
  int threads = 0;
  bool json = false;
};

// Trains, validates, samples. Throws Interrupted after SIGINT, when the checkpoint is written.
Status train(TrainArguments arguments);

}  // namespace cleave::tool
