// The model of a run: the character GPT, or one in the layout of transformers.
#pragma once
#include <functional>
#include <optional>

#include "cleave/tokenizer.h"
#include "cleave/train.h"
#include "cleave/weights.h"
#include "tool/train/arguments.h"
#include "tool/train/model_files.h"

namespace cleave::tool {

struct RunModel {
  std::string name;  // gpt, or config.json's model_type
  nn::Module module;
  TracedFunction loss;                  // of the inputs
  TracedFunction logits;                // of the first input
  std::vector<InputSpec> inputs;        // of a batch
  int64_t vocabulary = 0, context = 0;  // 0 for images
  bool is_masked = false;               // masked language modelling
  std::string about;                    // one line for people, without the parameters' number
  Metadata identity;                    // as RunData's
  // Of a model of transformers; `save` is empty otherwise.
  ModelFiles files = {};
  std::optional<Tokenizer> tokenizer = {};
  std::optional<int64_t> separator = {};
  std::function<void(const std::string& folder)> save = {};

  bool is_of_images() const { return context == 0; }
  // What an example is made of, for rates: tokens or images, and how many of them a batch has.
  const char* unit() const { return is_of_images() ? "images" : "tokens"; }
  int64_t batch_units() const;
};

// Initial values are drawn from the seed. `characters`: how many different ones.
RunModel character_model(const TrainArguments& o, int64_t characters);

// Makes the model, reads its tokenizer, and loads the weights, unless the run is resumed: then its
// checkpoint has them. Says which names of weights were missing and unexpected: on stderr, or with
// --json as one record. Errors (user): those of the files, a context beyond the model's, a
// tokenizer with more tokens than the model; (unsupported) those of Pretrained and Tokenizer.
Result<RunModel> pretrained_model(const TrainArguments& o);

}  // namespace cleave::tool
