// The files of a model in the layout of transformers: where they are, what is copied beside it.
#pragma once
#include <optional>
#include <string>

#include "cleave/tokenizer.h"
#include "tool/train/arguments.h"

namespace cleave::tool {

struct ModelFiles {
  std::string config;     // config.json
  std::string folder;     // that has it
  std::string tokenizer;  // tokenizer.json; empty: there is none
};

// From --config, else beside --weights; the tokenizer from --tokenizer, else beside the config,
// else beside the weights. Errors (user): no config.json; a --tokenizer that isn't there.
Result<ModelFiles> model_files(const TrainArguments& o);

// The token that stands between documents: --separator, else the eos_token_id of config.json, else
// the eos_token of tokenizer_config.json; nullopt: neither says one. Error (user): the tokenizer
// hasn't the token that is named.
Result<std::optional<int64_t>> separator_of(const TrainArguments& o, const ModelFiles& files,
                                            const Tokenizer& tokenizer);

// Copies what transformers reads beside the weights (tokenizer, generation and preprocessor
// settings), so that it loads `to` alone.
Status copy_companions(const ModelFiles& files, const std::string& to);

}  // namespace cleave::tool
