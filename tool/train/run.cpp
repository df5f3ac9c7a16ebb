#include "tool/train/run.h"

#include <cmath>

#include "tool/train/character_data.h"
#include "tool/train/image_data.h"
#include "tool/train/program_options.h"
#include "tool/train/sample.h"
#include "tool/train/token_data.h"
#include "tool/train/trainer.h"

namespace cleave::tool {
namespace {

void print_end(const TrainArguments& o, const std::string& sample) {
  if (!sample.empty()) fmt::print("\n{}\n", sample);
  if (!o.save.empty()) fmt::print(stderr, "model: {}\n", o.save);
  if (!o.out.empty()) fmt::print(stderr, "checkpoint: {}\n", o.out);
}

Status train_characters(TrainArguments& o, CompileOptions compile) {
  CLEAVE_TRY(const auto data, CharacterData::open(o));
  CLEAVE_CHECK(RunFiles::check_writable(o));
  const RunModel model = character_model(o, static_cast<int64_t>(data->vocabulary().size()));
  Trainer trainer(o, std::move(compile), model, *data);
  CLEAVE_CHECK(trainer.run());
  if (o.json) return {};
  print_end(o,
            *o.sample ? sample_characters(o, model, trainer.evaluation(), data->vocabulary()) : "");
  return {};
}

// Steps of this many epochs, and what depends on them.
void set_steps(TrainArguments& o, const RunData& data) {
  if (o.steps) return;
  const double batches = *o.epochs * static_cast<double>(data.batches_per_epoch());
  o.steps = std::max<int64_t>(1, std::llround(batches / static_cast<double>(o.accumulate)));
  set_warmup(o);
}

Status check_sample(const TrainArguments& o, const RunModel& model) {
  if (!*o.sample) return {};
  if (model.is_masked || model.is_of_images())
    return user_error("--sample: {} doesn't write texts", model.name);
  if (!model.tokenizer)
    return user_error("--sample: there is no tokenizer.json beside {}; --tokenizer names one",
                      model.files.config);
  return {};
}

Status train_pretrained(TrainArguments& o, CompileOptions compile) {
  CLEAVE_TRY(const RunModel model, pretrained_model(o));
  CLEAVE_CHECK(check_sample(o, model));
  CLEAVE_TRY(const RunDataPtr data,
             model.is_of_images() ? image_data(o, model) : token_data(o, model));
  CLEAVE_CHECK(RunFiles::check_writable(o));
  set_steps(o, *data);
  Trainer trainer(o, std::move(compile), model, *data);
  CLEAVE_CHECK(trainer.run());
  if (o.json) return {};
  print_end(o, *o.sample ? sample_text(o, model, trainer.evaluation()) : "");
  return {};
}

}  // namespace

Status train(TrainArguments o) {
  set_defaults(o);
  CLEAVE_CHECK(check(o));
  CLEAVE_TRY(CompileOptions compile, compile_options(o));
  o.trace.watch(compile);
  if (o.is_model_run()) return train_pretrained(o, std::move(compile));
  return train_characters(o, std::move(compile));
}

}  // namespace cleave::tool
