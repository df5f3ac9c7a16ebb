// Fields of BertConfig.
#pragma once
#include "pretrained/activation.h"
#include "pretrained/config_file.h"

namespace cleave::pretrained {

struct BertConfig {
  int64_t vocabulary = 0, positions = 0, types = 0, width = 0, inner = 0, layers = 0, heads = 0;
  int64_t padding = -1;
  double dropout = 0, attention_dropout = 0, eps = 0;
  Activation activation = nullptr;
  bool is_tied = true;
};
Result<BertConfig> read_bert_config(const ConfigFile& file);
double parameter_count(const BertConfig& c);

}  // namespace cleave::pretrained
