#include "pretrained/architecture.h"

#include <algorithm>
#include <array>

#include "base/machine_memory.h"
#include "base/printable.h"

namespace cleave::pretrained {
namespace {

constexpr int64_t most_layers = 10000;
constexpr std::array llama_types = {"llama", "mistral", "qwen2"};
constexpr const char* covered = "bert, gpt2, llama, mistral, qwen2 and vit";

bool is_llama(std::string_view type) {
  return std::ranges::find(llama_types, type) != llama_types.end();
}

// What config.json and the user say together.
Result<std::string> type_of(const ConfigFile& file, const std::string& model) {
  CLEAVE_TRY(const std::string type, file.fields().text("model_type", ""));
  if (type.empty() && model.empty())
    return user_error("model_type is missing, and no model is given; cleave has {}", covered);
  if (type.empty() || model.empty() || type == model) return type.empty() ? model : type;
  if (model == "llama" && is_llama(type)) return type;
  return user_error("model_type is {}, the model is given as {}", printable(type),
                    printable(model));
}

Result<Plan> plan_of(const ConfigFile& file, const std::string& type) {
  if (type == "gpt2") return plan_gpt2(file);
  if (is_llama(type)) return plan_llama(file, type);
  if (type == "bert") return plan_bert(file);
  if (type == "vit") return plan_vit(file);
  return unsupported("model_type is {}, cleave has {}", printable(type), covered);
}

Status check_memory(const Facts& facts, DType dtype) {
  const double bytes = facts.parameters * static_cast<double>(size_of(dtype));
  const auto memory = static_cast<double>(machine_memory().physical);
  if (bytes <= memory) return {};
  return user_error("its parameters take {:.3g} GB, this machine has {:.3g}", bytes * 1e-9,
                    memory * 1e-9);
}

Result<Plan> checked_plan(const ConfigFile& file, const std::string& model, DType dtype) {
  CLEAVE_TRY(const std::string type, type_of(file, model));
  CLEAVE_CHECK(check_common(file.fields()));
  CLEAVE_TRY(Plan plan, plan_of(file, type));
  plan.facts.model_type = type;
  CLEAVE_TRY(plan.facts.initializer_range, file.fields().number("initializer_range", 0.02));
  if (plan.facts.initializer_range < 0)
    return user_error("initializer_range is {}, expected 0 or more", plan.facts.initializer_range);
  // As transformers reads it.
  if (plan.facts.initializer_range == 0) plan.facts.initializer_range = 0.02;
  CLEAVE_CHECK(check_memory(plan.facts, dtype));
  return plan;
}

}  // namespace

Result<Plan> plan_model(const ConfigFile& file, const std::string& model, DType dtype) {
  Result<Plan> plan = checked_plan(file, model, dtype);
  if (!plan.ok()) return std::move(plan).failure().within(file.path());
  return plan;
}

Status check_common(const Fields& fields) {
  for (const char* key :
       {"is_encoder_decoder", "add_cross_attention", "is_decoder", "quantization_config",
        "per_layer_config", "pruned_heads", "use_bidirectional_attention"})
    CLEAVE_CHECK(fields.only_empty(key));
  return {};
}

Result<int64_t> layer_count(const Fields& fields, std::string_view key, int64_t missing) {
  CLEAVE_TRY(const int64_t count, fields.size(key, missing));
  if (count > most_layers)
    return unsupported("{} is {}, cleave makes up to {} layers", key, count, most_layers);
  return count;
}

Status check_heads(std::string_view width_key, int64_t width, std::string_view heads_key,
                   int64_t heads) {
  if (width % heads == 0) return {};
  return user_error("{} is {}, expected a multiple of {}, {}", width_key, width, heads_key, heads);
}

Result<int64_t> padding_row(const Fields& fields, std::optional<int64_t> missing, int64_t rows) {
  CLEAVE_TRY(std::optional<int64_t> row, fields.maybe_integer("pad_token_id"));
  if (!row && !fields.is_null("pad_token_id")) row = missing;
  if (!row) return -1;
  if (*row < -rows || *row >= rows)
    return user_error("pad_token_id is {}, outside of the vocabulary of {}", *row, rows);
  return *row < 0 ? *row + rows : *row;
}

}  // namespace cleave::pretrained
