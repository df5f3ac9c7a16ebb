// Models of Hugging Face's transformers: made from their config.json, with their names of weights,
// loaded from their folders and saved so that transformers loads them.
//
//   Generator rng(1);
//   Pretrained model = Pretrained::make("gpt2", rng);       // a folder with config.json
//   model.load("gpt2");                                     // and model.safetensors
//   TrainStep step = train_step(model,
//       [&](const Tensor& ids, const Tensor& labels) { return model.loss(ids, labels); },
//       optim::AdamW({.lr = 5e-5}), model.inputs(8, 128));
//   model.save("tuned");                                    // config.json, model.safetensors
//
//   model_type          class                        trains
//   gpt2                GPT2LMHeadModel              the next token
//   llama               LlamaForCausalLM             the same
//   mistral, qwen2      Mistral-, Qwen2ForCausalLM   the same
//   bert                BertForMaskedLM              tokens that are masked
//   vit                 ViTForImageClassification    the class of a picture
//
// Every field of config.json that changes what the model computes is honoured, or has the one value
// that is covered, or is an error (unsupported) that names it; other fields are kept and ignored.
// Files are untrusted: an index names files of its own folder alone.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleave/input_spec.h"
#include "cleave/nn.h"
#include "cleave/weights.h"

namespace cleave {

struct PretrainedOptions {
  // gpt2, llama, mistral, qwen2, bert or vit; empty: config.json's model_type.
  std::string model = {};
  std::optional<double> dropout = {};  // instead of each of the config's
  DType dtype = DType::f32;            // of parameters
  // Whether initial values are drawn; otherwise they are 0, for a model whose weights are all
  // loaded, which spares seconds.
  bool draws = true;
};

// What one example of training is.
enum class PretrainedTask : uint8_t { causal_language, masked_language, image_classes };

// A handle, as every Module. Names of parameters are transformers' ("transformer.h.0.ln_1.weight"),
// store() has those of state_dict().
class CLEAVE_API Pretrained : public nn::Module {
 public:
  Pretrained(const Pretrained&) = default;
  Pretrained& operator=(const Pretrained&) = default;
  // `config` is a config.json, or a folder that has one. Initial values are distributed as
  // transformers draws them (initializer_range), fields that are absent have its defaults. Errors
  // (user): a file that isn't there or isn't JSON, sizes that contradict each other, more
  // parameters than this machine's memory holds; (unsupported): another model or value.
  static Pretrained make(const std::string& config, Generator& rng,
                         const PretrainedOptions& options = {});

  const std::string& model_type() const;
  PretrainedTask task() const;
  int64_t vocabulary_size() const;  // 0 for images
  int64_t context() const;          // the most tokens of one example; 0 for images
  // Of one batch of training: {"input_ids" i64[batch,length], "labels" i64[batch,length]}, or
  // {"pixel_values" f32[batch,channels,height,width], "labels" i64[batch]}, for which `length` is
  // ignored. Error (user): a size below 1, a length beyond context().
  std::vector<InputSpec> inputs(int64_t batch, int64_t length) const;

  // input_ids i64[B,T] -> [B,T,vocabulary]; pixel_values [B,C,H,W] -> [B,labels].
  Tensor logits(const Tensor& input, Location at = Location::current()) const;
  // The mean cross-entropy as transformers computes it, in f32 at least: labels of a causal model
  // are its input_ids, and are shifted by one inside; a label of -100 is ignored.
  Tensor loss(const Tensor& input, const Tensor& labels, Location at = Location::current()) const;

  // `path` is a folder of Hugging Face's, an index (model.safetensors.index.json) or one
  // .safetensors. Names may lack the prefix of the base model ("transformer.") or have it, a tied
  // weight may be there once or under each name, what transformers ignores is ignored. Floating
  // dtypes are converted whether or not LoadOptions::cast is set. The report has every name that
  // is missing or unexpected, also where the error is thrown that lists them. Errors (user): as
  // load_weights; an index whose files lack a tensor, or lie outside of the folder; a .bin or .pt.
  LoadReport load(const std::string& path, const LoadOptions& options = {});

  // Writes config.json and model.safetensors into `dir`, which is made if need be; above
  // max_shard_bytes of tensors model-00001-of-0000N.safetensors and their index instead. A tied
  // weight is written under each of its names, as load_state_dict(strict=True) reads it.
  void save(const std::string& dir, int64_t max_shard_bytes = int64_t{5} << 30) const;

 private:
  struct Description;
  using Forward = std::function<Tensor(const Tensor&, Location)>;  // holds the modules
  Pretrained(const nn::Module& network, Forward forward,
             std::shared_ptr<const Description> description);

  Forward forward_;
  std::shared_ptr<const Description> description_;
};

}  // namespace cleave
