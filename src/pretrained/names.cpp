#include "pretrained/names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cleave::pretrained {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

void replace_end(std::string& name, const Pair& pair) {
  if (!name.ends_with(pair.first)) return;
  name.resize(name.size() - pair.first.size());
  name += pair.second;
}

std::string bert_name(std::string name) {
  replace_end(name, {"LayerNorm.gamma", "LayerNorm.weight"});
  replace_end(name, {"LayerNorm.beta", "LayerNorm.bias"});
  return name;
}

// The parts of a layer in memory, and in files.
constexpr std::array vit_parts = {
    Pair{"attention.q_proj.", "attention.attention.query."},
    Pair{"attention.k_proj.", "attention.attention.key."},
    Pair{"attention.v_proj.", "attention.attention.value."},
    Pair{"attention.o_proj.", "attention.output.dense."},
    Pair{"mlp.fc1.", "intermediate.dense."},
    Pair{"mlp.fc2.", "output.dense."},
};

// "vit.layers.3.mlp.fc1.bias" -> "vit.encoder.layer.3.intermediate.dense.bias"
std::string vit_name(const std::string& name) {
  const std::string_view prefix = name.starts_with("vit.") ? "vit." : "";
  std::string_view rest = std::string_view(name).substr(prefix.size());
  if (!rest.starts_with("layers.")) return name;
  rest.remove_prefix(std::string_view("layers.").size());
  const size_t dot = rest.find('.');
  if (dot == rest.npos) return name;
  const std::string_view number = rest.substr(0, dot + 1);
  rest.remove_prefix(dot + 1);
  const auto part =
      std::ranges::find_if(vit_parts, [&](const Pair& p) { return rest.starts_with(p.first); });
  if (part == vit_parts.end()) return fmt::format("{}encoder.layer.{}{}", prefix, number, rest);
  return fmt::format("{}encoder.layer.{}{}{}", prefix, number, part->second,
                     rest.substr(part->first.size()));
}

}  // namespace

NameMap::NameMap(const Facts& facts, const Store& store)
    : model_type_(facts.model_type), base_prefix_(facts.base_prefix), ignored_(facts.ignored) {
  for (const auto& [name, variable] : store.entries()) names_.insert(name);
}

std::string NameMap::model_name(const std::string& name) const {
  std::string own = name;
  if (model_type_ == "bert") own = bert_name(name);
  if (model_type_ == "vit") own = vit_name(name);
  if (names_.contains(own)) return own;
  std::string prefixed = base_prefix_ + own;
  return names_.contains(prefixed) ? prefixed : name;
}

bool NameMap::is_ignored(std::string_view name) const {
  return std::ranges::any_of(ignored_, [&](const std::string& end) { return name.ends_with(end); });
}

}  // namespace cleave::pretrained
