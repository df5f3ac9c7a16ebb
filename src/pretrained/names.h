// Names of checkpoints, of whatever version of transformers, as the model has them.
#pragma once
#include <set>
#include <string>

#include "cleave/store.h"
#include "pretrained/architecture.h"

namespace cleave::pretrained {

class NameMap {
 public:
  NameMap(const Facts& facts, const Store& store);
  // The model's name for one of a file; the name itself if the model has none for it.
  //   LayerNorm.gamma, LayerNorm.beta              BERT's of before 2020
  //   vit.layers.0.attention.q_proj.weight, ...    transformers 5 has these in memory
  //   wte.weight                                   a base model's: without "transformer."
  std::string model_name(const std::string& name) const;
  // Whether transformers itself passes over the name: masks and tables that it makes anew.
  bool is_ignored(std::string_view name) const;

 private:
  std::string model_type_, base_prefix_;
  std::vector<std::string> ignored_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace cleave::pretrained
