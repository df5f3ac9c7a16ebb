#include "pretrained/llama_config.h"

#include "pretrained/architecture.h"

namespace cleave::pretrained {
namespace {

// What a config has that doesn't name the field.
struct Defaults {
  int64_t vocabulary, inner, positions, kv_heads;  // kv_heads 0: as many as heads
};
Defaults defaults_of(const std::string& type) {
  if (type == "mistral") return {32000, 14336, 131072, 8};
  if (type == "qwen2") return {151936, 22016, 32768, 32};
  return {32000, 11008, 2048, 0};
}

Status read_heads(const Fields& f, int64_t kv_heads, LlamaConfig& c) {
  CLEAVE_TRY(c.heads, f.size("num_attention_heads", 32));
  if (kv_heads == 0 || f.is_null("num_key_value_heads")) kv_heads = c.heads;
  CLEAVE_TRY(c.kv_heads, f.size("num_key_value_heads", kv_heads));
  CLEAVE_CHECK(check_heads("num_attention_heads", c.heads, "num_key_value_heads", c.kv_heads));
  CLEAVE_TRY(const std::optional<int64_t> head_width, f.maybe_size("head_dim"));
  if (!head_width)
    CLEAVE_CHECK(check_heads("hidden_size", c.width, "num_attention_heads", c.heads));
  c.head_width = head_width.value_or(c.width / c.heads);
  if (c.head_width % 2 != 0)
    return user_error("head_dim is {}, expected an even one, whose halves are rotated",
                      c.head_width);
  return {};
}

Status read_biases(const Fields& f, const std::string& type, LlamaConfig& c) {
  c.has_qkv_bias = type == "qwen2";
  if (type != "llama") return {};
  CLEAVE_TRY(c.has_qkv_bias, f.flag("attention_bias", false));
  c.has_output_bias = c.has_qkv_bias;
  CLEAVE_TRY(c.has_mlp_bias, f.flag("mlp_bias", false));
  return {};
}

// layer_types, if it is there: whether each layer's attention has a window.
Result<std::vector<bool>> read_layer_types(const Fields& f, size_t layers) {
  std::vector<bool> slides;
  const auto e = f.find("layer_types");
  if (!e) return slides;
  simdjson::dom::array list;
  if (e->get_array().get(list) != simdjson::SUCCESS)
    return user_error("layer_types: expected a list of texts");
  for (const Element item : list) {
    std::string_view type;
    if (item.get_string().get(type) != simdjson::SUCCESS)
      return user_error("layer_types: expected a list of texts");
    if (type != "full_attention" && type != "sliding_attention")
      return unsupported(
          "layer_types has {}, cleave has \"full_attention\" and \"sliding_attention\"",
          simdjson::minify(item));
    slides.push_back(type == "sliding_attention");
  }
  if (slides.size() != layers)
    return user_error("layer_types has {} layers, num_hidden_layers is {}", slides.size(), layers);
  return slides;
}

Status read_windows(const Fields& f, const std::string& type, LlamaConfig& c) {
  const auto layers = static_cast<size_t>(c.layers);
  c.windows.assign(layers, 0);
  CLEAVE_TRY(std::vector<bool> slides, read_layer_types(f, layers));
  CLEAVE_TRY(const bool uses, f.flag("use_sliding_window", false));
  const bool has_window = type == "mistral" || (type == "qwen2" && uses);
  int64_t window = 0;
  if (has_window && !f.is_null("sliding_window")) {
    CLEAVE_TRY(window, f.size("sliding_window", 4096));
  }
  if (type == "qwen2" && slides.empty()) {
    CLEAVE_TRY(const std::optional<int64_t> first, f.maybe_integer("max_window_layers"));
    for (int64_t i = 0; i < c.layers; ++i) slides.push_back(i >= first.value_or(28));
    if (window == 0) slides.assign(layers, false);
  } else if (type == "mistral" && slides.empty()) {
    slides.assign(layers, window > 0);
  }
  for (size_t i = 0; i < slides.size(); ++i) {
    // A layer that contradicts the fields beside it is read in several ways.
    if ((slides[i] && window == 0) || (type == "mistral" && slides[i] != (window > 0)))
      return unsupported("layer_types has {}, while sliding_window is {}",
                         slides[i] ? "sliding_attention" : "full_attention",
                         window > 0 ? "set" : "not set, or not used");
    if (slides[i]) c.windows[i] = window;
  }
  return {};
}

}  // namespace

Result<LlamaConfig> read_llama_config(const ConfigFile& file, const std::string& type) {
  const Fields& f = file.fields();
  const Defaults missing = defaults_of(type);
  LlamaConfig c;
  CLEAVE_TRY(c.vocabulary, f.size("vocab_size", missing.vocabulary));
  CLEAVE_TRY(c.width, f.size("hidden_size", 4096));
  CLEAVE_TRY(c.inner, f.size("intermediate_size", missing.inner));
  CLEAVE_TRY(c.layers, layer_count(f, "num_hidden_layers", 32));
  CLEAVE_CHECK(read_heads(f, missing.kv_heads, c));
  CLEAVE_TRY(c.positions, f.size("max_position_embeddings", missing.positions));
  CLEAVE_TRY(c.eps, f.positive("rms_norm_eps", 1e-6));
  CLEAVE_TRY(const std::string activation, f.text("hidden_act", "silu"));
  CLEAVE_TRY(c.activation, activation_named(activation, "hidden_act"));
  CLEAVE_TRY(c.dropout, file.probability("attention_dropout", 0));
  CLEAVE_TRY(c.is_tied, f.flag("tie_word_embeddings", false));
  CLEAVE_TRY(c.padding, padding_row(f, std::nullopt, c.vocabulary));
  CLEAVE_TRY(c.rope, read_rope(f, c.positions));
  CLEAVE_CHECK(read_biases(f, type, c));
  CLEAVE_CHECK(read_windows(f, type, c));
  return c;
}

}  // namespace cleave::pretrained
