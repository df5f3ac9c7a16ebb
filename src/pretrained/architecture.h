// What the models have in common: what a config.json says of one, and how it is made.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cleave/pretrained.h"
#include "pretrained/config_file.h"
#include "pretrained/layers.h"

namespace cleave::pretrained {

struct Facts {
  std::string model_type;  // "gpt2"
  std::string class_name;  // "GPT2LMHeadModel"
  PretrainedTask task = PretrainedTask::causal_language;
  int64_t vocabulary = 0, context = 0;                      // of language
  int64_t channels = 0, height = 0, width = 0, labels = 0;  // of images
  double initializer_range = 0.02;
  double parameters = 0;                    // elements, ties counted once; about
  std::string base_prefix;                  // "transformer.": of the names without a head
  std::vector<std::string> ignored;         // ends of names that no version of transformers reads
  std::vector<std::string> dropout_fields;  // of config.json
};

using Forward = std::function<Tensor(const Tensor&, Location)>;
struct Network {
  nn::Module root;
  Forward forward;  // holds the modules
};

// A model whose config was read and found right; nothing is allocated yet.
struct Plan {
  Facts facts;
  std::function<Network(const Initial&)> make;
};

Result<Plan> plan_gpt2(const ConfigFile& file);
Result<Plan> plan_llama(const ConfigFile& file, const std::string& model_type);
Result<Plan> plan_bert(const ConfigFile& file);
Result<Plan> plan_vit(const ConfigFile& file);

// By the config's model_type; `model` is what the user asks for, or empty. Errors (user): neither
// says which model it is, or they contradict each other; what its fields say; more parameters than
// this machine's memory holds.
Result<Plan> plan_model(const ConfigFile& file, const std::string& model, DType dtype);

// Checks that all models have.
Status check_common(const Fields& fields);
// The number of layers.
Result<int64_t> layer_count(const Fields& fields, std::string_view key, int64_t missing);
// Error (user): heads don't divide the width.
Status check_heads(std::string_view width_key, int64_t width, std::string_view heads_key,
                   int64_t heads);
// The row of an embedding that stands for padding, -1 if there is none.
Result<int64_t> padding_row(const Fields& fields, std::optional<int64_t> missing, int64_t rows);

}  // namespace cleave::pretrained
