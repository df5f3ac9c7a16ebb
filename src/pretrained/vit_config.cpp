#include "pretrained/vit_config.h"

#include "pretrained/architecture.h"

namespace cleave::pretrained {
namespace {

// A size, or a list of height and width.
Status read_pair(const Fields& f, std::string_view key, int64_t missing, int64_t& height,
                 int64_t& width) {
  const auto e = f.find(key);
  simdjson::dom::array list;
  if (!e || e->get_array().get(list) != simdjson::SUCCESS) {
    CLEAVE_TRY(height, f.size(key, missing));
    width = height;
    return {};
  }
  std::vector<int64_t> sizes;
  for (const Element item : list) {
    int64_t v = 0;
    if (item.get_int64().get(v) != simdjson::SUCCESS || v < 1 || v >= int64_t{1} << 31) break;
    sizes.push_back(v);
  }
  if (list.size() != 2 || sizes.size() != 2)
    return user_error("{}: expected a size, or a list of two", key);
  height = sizes[0];
  width = sizes[1];
  return {};
}

// transformers saves the names of the labels instead of their number, if it isn't 2.
Result<int64_t> label_count(const Fields& f) {
  CLEAVE_TRY(const std::optional<Fields> names, f.object("id2label"));
  if (!names) return f.size("num_labels", 2);
  const simdjson::dom::object o = names->object();
  return static_cast<int64_t>(std::distance(o.begin(), o.end()));
}

}  // namespace

Result<VitConfig> read_vit_config(const ConfigFile& file) {
  const Fields& f = file.fields();
  VitConfig c;
  CLEAVE_CHECK(f.only("problem_type", "single_label_classification"));
  CLEAVE_CHECK(read_pair(f, "image_size", 224, c.height, c.width_px));
  CLEAVE_CHECK(read_pair(f, "patch_size", 16, c.patch_height, c.patch_width));
  if (c.patch_height > c.height || c.patch_width > c.width_px)
    return user_error("patch_size is {}x{}, image_size {}x{}: no patch fits", c.patch_height,
                      c.patch_width, c.height, c.width_px);
  CLEAVE_TRY(c.channels, f.size("num_channels", 3));
  CLEAVE_TRY(c.width, f.size("hidden_size", 768));
  CLEAVE_TRY(c.layers, layer_count(f, "num_hidden_layers", 12));
  CLEAVE_TRY(c.heads, f.size("num_attention_heads", 12));
  CLEAVE_CHECK(check_heads("hidden_size", c.width, "num_attention_heads", c.heads));
  CLEAVE_TRY(const int64_t head_width, f.size("head_dim", c.width / c.heads));
  if (head_width != c.width / c.heads)
    return unsupported("head_dim is {}, cleave has hidden_size / num_attention_heads alone, {}",
                       head_width, c.width / c.heads);
  CLEAVE_TRY(c.inner, f.size("intermediate_size", 3072));
  CLEAVE_TRY(const std::string activation, f.text("hidden_act", "gelu"));
  CLEAVE_TRY(c.activation, activation_named(activation, "hidden_act"));
  CLEAVE_TRY(c.dropout, file.probability("hidden_dropout_prob", 0));
  CLEAVE_TRY(c.attention_dropout, file.probability("attention_probs_dropout_prob", 0));
  CLEAVE_TRY(c.eps, f.positive("layer_norm_eps", 1e-12));
  CLEAVE_TRY(c.has_qkv_bias, f.flag("qkv_bias", true));
  CLEAVE_TRY(c.labels, label_count(f));
  if (c.labels < 2)
    return unsupported("id2label has {} labels, which is a regression; cleave has classes alone",
                       c.labels);
  return c;
}

double parameter_count(const VitConfig& c) {
  const auto w = static_cast<double>(c.width), n = static_cast<double>(c.inner);
  const double patch = static_cast<double>(c.channels) * static_cast<double>(c.patch_height) *
                       static_cast<double>(c.patch_width);
  const double layer = w * (4 * w + 2 * n) + (c.has_qkv_bias ? 9 : 6) * w + n;
  return w * (patch + static_cast<double>(c.patches()) + 5) +
         static_cast<double>(c.layers) * layer + static_cast<double>(c.labels) * (w + 1);
}

}  // namespace cleave::pretrained
