// Fields of ViTConfig.
#pragma once
#include "pretrained/activation.h"
#include "pretrained/config_file.h"

namespace cleave::pretrained {

struct VitConfig {
  int64_t channels = 0, height = 0, width_px = 0, patch_height = 0, patch_width = 0;
  int64_t width = 0, inner = 0, layers = 0, heads = 0, labels = 0;
  double dropout = 0, attention_dropout = 0, eps = 0;
  Activation activation = nullptr;
  bool has_qkv_bias = true;
  int64_t patches() const { return (height / patch_height) * (width_px / patch_width); }
};
Result<VitConfig> read_vit_config(const ConfigFile& file);
double parameter_count(const VitConfig& c);

}  // namespace cleave::pretrained
