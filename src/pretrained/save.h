// A model as a folder that transformers loads.
#pragma once
#include "pretrained/architecture.h"

namespace cleave::pretrained {

// The config's text with what the model has of its own: architectures, model_type, dtype, dropout.
std::string saved_config(const ConfigFile& file, const Facts& facts, DType dtype);

Status save_checkpoint(const std::string& folder, const nn::Module& model, const ConfigFile& file,
                       const Facts& facts, DType dtype, int64_t max_shard_bytes);

}  // namespace cleave::pretrained
