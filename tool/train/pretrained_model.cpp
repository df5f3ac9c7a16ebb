#include "cleave/pretrained.h"

#include <algorithm>

#include "base/json.h"
#include "tool/graph_file.h"
#include "tool/grouped.h"
#include "tool/train/run_model.h"

namespace cleave::tool {
namespace {

// Attention takes memory by its square: longer windows are asked for.
constexpr int64_t longest_default_context = 512;

Result<int64_t> context_of(const TrainArguments& o, const Pretrained& model,
                           const std::string& config) {
  const int64_t most = model.context();
  if (most == 0) {
    if (o.context) return user_error("--context: {} is a model of images", model.model_type());
    return 0;
  }
  if (!o.context) return std::min(most, longest_default_context);
  if (*o.context > most)
    return user_error("--context {}: the model has {} positions ({})", *o.context, most, config);
  if (*o.context < 2) return user_error("--context {}: expected at least 2 tokens", *o.context);
  return *o.context;
}

Status open_tokenizer(const TrainArguments& o, RunModel& m) {
  if (m.is_of_images()) {
    if (!o.tokenizer.empty()) return user_error("--tokenizer: {} is a model of images", m.name);
    return {};
  }
  if (m.files.tokenizer.empty()) return {};
  m.tokenizer = Tokenizer::load(m.files.tokenizer);
  if (const int64_t size = m.tokenizer->vocabulary_size(); size > m.vocabulary)
    return user_error(
        "{}: the tokenizer has {} tokens, more than the model's vocabulary of {} ({}); expected "
        "the model's own tokenizer",
        m.files.tokenizer, size, m.vocabulary, m.files.config);
  CLEAVE_TRY(m.separator, separator_of(o, m.files, *m.tokenizer));
  return {};
}

Status load_weights_of(const TrainArguments& o, Pretrained& model) {
  if (o.weights.empty() || !o.resume.empty()) return {};
  const LoadReport r =
      model.load(o.weights, {.allow_missing = true, .allow_extra = true, .cast = true});
  if (r.loaded.empty())
    return user_error("{}: none of its {} tensors is one of the model's ({} {})", o.weights,
                      r.extra.size(), model.model_type(),
                      r.missing.empty() ? "" : "such as " + r.missing.front());
  if (o.json)
    return print_json({{"loaded", r.loaded.size()},
                       {"missing", r.missing},
                       {"unexpected", r.extra},
                       {"converted", r.converted.size()}});
  for (const std::string& name : r.missing)
    fmt::print(stderr, "missing in {}: {} keeps its initial values\n", o.weights, name);
  for (const std::string& name : r.extra)
    fmt::print(stderr, "unexpected in {}: {} is not the model's\n", o.weights, name);
  return {};
}

}  // namespace

Result<RunModel> pretrained_model(const TrainArguments& o) {
  CLEAVE_TRY(const ModelFiles files, model_files(o));
  Generator rng(o.seed);
  Pretrained model = Pretrained::make(files.config, rng, {.model = o.model, .dropout = o.dropout});
  CLEAVE_TRY(const int64_t context, context_of(o, model, files.config));
  const auto number = [](auto v) { return fmt::format("{}", v); };
  RunModel m{.name = model.model_type(),
             .module = model,
             .loss = [model](const Tensor& input,
                             const Tensor& labels) { return model.loss(input, labels); },
             .logits = [model](const Tensor& input) { return model.logits(input); },
             .inputs = model.inputs(*o.batch, std::max<int64_t>(1, context)),
             .vocabulary = model.vocabulary_size(),
             .context = context,
             .is_masked = model.task() == PretrainedTask::masked_language,
             .identity = {{"model", model.model_type()}, {"context", number(context)}},
             .files = files};
  m.about = m.is_of_images() ? fmt::format("model    {}", m.name)
                             : fmt::format("model    {}, vocabulary {}, context {}", m.name,
                                           grouped(m.vocabulary), m.context);
  m.identity["dropout"] = o.dropout ? number(*o.dropout) : "of the config";
  if (m.is_masked) m.identity["masked"] = number(o.masked.value_or(0.15));
  m.save = [model](const std::string& folder) { model.save(folder); };
  CLEAVE_CHECK(open_tokenizer(o, m));
  CLEAVE_CHECK(load_weights_of(o, model));
  return m;
}

}  // namespace cleave::tool
