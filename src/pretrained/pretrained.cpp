#include "cleave/pretrained.h"

#include "cleave/loss.h"
#include "pretrained/architecture.h"
#include "pretrained/load.h"
#include "pretrained/save.h"
#include "trace/recording.h"

namespace cleave {

using pretrained::ConfigFile;
using pretrained::Facts;

struct Pretrained::Description {
  ConfigFile file;
  Facts facts;
  DType dtype = DType::f32;
};

namespace {

void check_tokens(const char* what, const Tensor& t, int64_t context, Location at) {
  if (!t.defined() || t.dtype() != DType::i64 || t.dim() != 2)
    trace::refuse(at, "Pretrained: {} is {}, expected i64[batch,length]", what, t.type_text());
  if (t.size(1) > context)
    trace::refuse(at, "Pretrained: {} is {}, the model's context is {} tokens", what, t.type_text(),
                  context);
}

void check_pixels(const Tensor& t, const Facts& f, Location at) {
  if (!t.defined() || !is_floating(t.dtype()) || t.dim() != 4 || t.size(1) != f.channels ||
      t.size(2) != f.height || t.size(3) != f.width)
    trace::refuse(at, "Pretrained: pixel_values is {}, expected f32[batch,{},{},{}]", t.type_text(),
                  f.channels, f.height, f.width);
}

// [B,T]: the label of each position is the next one's; of the last it is ignored.
Tensor shifted(const Tensor& labels, Location at) {
  return pad(slice(labels, 1, 1, labels.size(1), 1, at), {0, 1}, -100, at);
}

}  // namespace

Pretrained::Pretrained(const nn::Module& network, Forward forward,
                       std::shared_ptr<const Description> description)
    : nn::Module(network), forward_(std::move(forward)), description_(std::move(description)) {}

Pretrained Pretrained::make(const std::string& config, Generator& rng,
                            const PretrainedOptions& options) {
  if (!is_floating(options.dtype))
    throw_failure(
        user_error("Pretrained: dtype is {}, expected a floating one", name_of(options.dtype)));
  ConfigFile file = value_or_throw(ConfigFile::read(config));
  file.set_dropout(options.dropout);
  pretrained::Plan plan =
      value_or_throw(pretrained::plan_model(file, options.model, options.dtype));
  const pretrained::Initial initial{rng, plan.facts.initializer_range, options.dtype,
                                    options.draws};
  pretrained::Network network = plan.make(initial);
  return {network.root, std::move(network.forward),
          std::make_shared<const Description>(
              Description{std::move(file), std::move(plan.facts), options.dtype})};
}

const std::string& Pretrained::model_type() const { return description_->facts.model_type; }
PretrainedTask Pretrained::task() const { return description_->facts.task; }
int64_t Pretrained::vocabulary_size() const { return description_->facts.vocabulary; }
int64_t Pretrained::context() const { return description_->facts.context; }

std::vector<InputSpec> Pretrained::inputs(int64_t batch, int64_t length) const {
  const Facts& f = description_->facts;
  if (batch < 1) throw_failure(user_error("Pretrained: batch is {}, expected 1 or more", batch));
  if (f.task == PretrainedTask::image_classes)
    return {{"pixel_values", DType::f32, {batch, f.channels, f.height, f.width}},
            {"labels", DType::i64, {batch}}};
  const int64_t least = f.task == PretrainedTask::causal_language ? 2 : 1;
  if (length < least || length > f.context)
    throw_failure(
        user_error("Pretrained: length is {}, expected {} to {} tokens", length, least, f.context));
  return {{"input_ids", DType::i64, {batch, length}}, {"labels", DType::i64, {batch, length}}};
}

Tensor Pretrained::logits(const Tensor& input, Location at) const {
  const Facts& f = description_->facts;
  if (f.task == PretrainedTask::image_classes)
    check_pixels(input, f, at);
  else
    check_tokens("input_ids", input, f.context, at);
  return forward_(input, at);
}

Tensor Pretrained::loss(const Tensor& input, const Tensor& labels, Location at) const {
  const bool is_causal = task() == PretrainedTask::causal_language;
  const Tensor y = logits(input, at);
  std::vector<int64_t> expected = y.sizes();
  expected.pop_back();
  if (!labels.defined() || labels.dtype() != DType::i64 || labels.sizes() != expected)
    trace::refuse(at, "Pretrained: labels is {}, expected i64[{}]", labels.type_text(),
                  fmt::join(expected, ","));
  if (is_causal && labels.size(1) < 2)
    trace::refuse(at, "Pretrained: labels is {}, a next token takes a length of 2 or more",
                  labels.type_text());
  const bool is_half = y.dtype() == DType::bf16 || y.dtype() == DType::f16;
  const Tensor wide = is_half ? to(y, DType::f32, at) : y;
  const Tensor target = is_causal ? shifted(labels, at) : labels;
  return cross_entropy(view(wide, {-1, y.size(-1)}, at), flatten(target, 0, -1, at), {}, at);
}

LoadReport Pretrained::load(const std::string& path, const LoadOptions& options) {
  return value_or_throw(pretrained::load_checkpoint(path, *this, description_->facts, options));
}

void Pretrained::save(const std::string& dir, int64_t max_shard_bytes) const {
  const Description& d = *description_;
  value_or_throw(
      pretrained::save_checkpoint(dir, *this, d.file, d.facts, d.dtype, max_shard_bytes));
}

}  // namespace cleave
