#include "pretrained/bert_config.h"

#include "pretrained/architecture.h"

namespace cleave::pretrained {

Result<BertConfig> read_bert_config(const ConfigFile& file) {
  const Fields& f = file.fields();
  BertConfig c;
  CLEAVE_CHECK(f.only("position_embedding_type", "absolute"));
  CLEAVE_TRY(c.vocabulary, f.size("vocab_size", 30522));
  CLEAVE_TRY(c.width, f.size("hidden_size", 768));
  CLEAVE_TRY(c.layers, layer_count(f, "num_hidden_layers", 12));
  CLEAVE_TRY(c.heads, f.size("num_attention_heads", 12));
  CLEAVE_CHECK(check_heads("hidden_size", c.width, "num_attention_heads", c.heads));
  CLEAVE_TRY(c.inner, f.size("intermediate_size", 3072));
  CLEAVE_TRY(const std::string activation, f.text("hidden_act", "gelu"));
  CLEAVE_TRY(c.activation, activation_named(activation, "hidden_act"));
  CLEAVE_TRY(c.dropout, file.probability("hidden_dropout_prob", 0.1));
  CLEAVE_TRY(c.attention_dropout, file.probability("attention_probs_dropout_prob", 0.1));
  CLEAVE_TRY(c.positions, f.size("max_position_embeddings", 512));
  CLEAVE_TRY(c.types, f.size("type_vocab_size", 2));
  CLEAVE_TRY(c.eps, f.positive("layer_norm_eps", 1e-12));
  CLEAVE_TRY(c.padding, padding_row(f, 0, c.vocabulary));
  CLEAVE_TRY(c.is_tied, f.flag("tie_word_embeddings", true));
  return c;
}

double parameter_count(const BertConfig& c) {
  const auto v = static_cast<double>(c.vocabulary), w = static_cast<double>(c.width),
             n = static_cast<double>(c.inner);
  const double layer = w * (4 * w + 2 * n) + 9 * w + n;
  return (c.is_tied ? 1 : 2) * v * (w + 1) + static_cast<double>(c.positions + c.types + 2) * w +
         static_cast<double>(c.layers) * layer + w * (w + 3);
}

}  // namespace cleave::pretrained
