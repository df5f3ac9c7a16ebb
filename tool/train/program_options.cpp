#include "tool/train/program_options.h"

#include "remat/parse_budget.h"
#include "runtime/thread_pool.h"

namespace cleave::tool {
namespace {

Result<LossScaling> loss_scaling_of(const std::string& text) {
  if (text == "automatic") return LossScaling::automatic;
  if (text == "on") return LossScaling::on;
  if (text == "off") return LossScaling::off;
  return user_error("--loss-scaling {}: expected automatic, on or off", text);
}

}  // namespace

Result<CompileOptions> compile_options(const TrainArguments& o) {
  CompileOptions out;
  CLEAVE_TRY(out.target, o.target.runnable());
  CLEAVE_TRY(const std::optional<Device> device, o.device.device());
  if (device) out.device = *device;
  CLEAVE_CHECK(check_device_runs(out));
  CLEAVE_TRY(out.autocast, o.autocast.dtype());
  if (o.mode != "exact" && o.mode != "pytorch")
    return user_error("--mode {}: expected exact or pytorch", o.mode);
  CLEAVE_CHECK(o.rules.check(o.mode));
  if (o.mode == "pytorch") {
    CLEAVE_TRY(out.partition, o.rules.options(o.budget));
  } else if (!o.budget.empty()) {
    CLEAVE_TRY(out.memory_budget, parse_budget(o.budget));
  }
  out.dump_dir = o.dump;
  out.repro = o.repro;
  CLEAVE_CHECK(o.cache.apply(out));
  CLEAVE_TRY(out.executor, runtime::start_threads(o.threads));
  return out;
}

Result<TrainOptions> step_options(const TrainArguments& o, const CompileOptions& compile) {
  TrainOptions out{.compile = compile,
                   .clip_norm = o.clip,
                   .report_grad_norm = o.is_model_run(),
                   .accumulate = o.accumulate};
  CLEAVE_TRY(out.loss_scaling, loss_scaling_of(o.loss_scaling));
  out.init_scale = o.init_scale;
  out.seed = o.seed;
  return out;
}

CompileOptions evaluation_options(const CompileOptions& of_step) {
  return {.executor = of_step.executor,
          .target = of_step.target,
          .device = of_step.device,
          .autocast = of_step.autocast};
}

optim::AdamW adamw(const TrainArguments& o) {
  return optim::AdamW({.lr = *o.lr,
                       .beta2 = o.is_model_run() ? 0.999 : 0.99,
                       .weight_decay = *o.weight_decay,
                       .decays = [](const std::string&, const Tensor& p) { return p.dim() >= 2; }});
}

double learning_rate(const TrainArguments& o, int64_t step) {
  if (o.schedule == "constant") return optim::constant(step, *o.lr, *o.warmup);
  if (o.schedule == "linear") return optim::linear(step, *o.lr, *o.warmup, *o.steps, *o.final_lr);
  return optim::cosine(step, *o.lr, *o.warmup, *o.steps, *o.final_lr);
}

}  // namespace cleave::tool
