// Fields of LlamaConfig, MistralConfig and Qwen2Config.
#pragma once
#include <vector>

#include "pretrained/activation.h"
#include "pretrained/config_file.h"
#include "pretrained/rope.h"

namespace cleave::pretrained {

struct LlamaConfig {
  int64_t vocabulary = 0, positions = 0, width = 0, inner = 0, layers = 0;
  int64_t heads = 0, kv_heads = 0, head_width = 0, padding = -1;
  double dropout = 0, eps = 0;
  Activation activation = nullptr;
  Rope rope;
  bool has_qkv_bias = false, has_output_bias = false, has_mlp_bias = false, is_tied = false;
  std::vector<int64_t> windows;  // of each layer; 0: all positions
};
Result<LlamaConfig> read_llama_config(const ConfigFile& file, const std::string& model_type);

}  // namespace cleave::pretrained
