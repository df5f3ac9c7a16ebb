// Names of checkpoints of several ages.
#include "pretrained/names.h"

#include "test/pretrained/small.h"

namespace cleave::pretrained {
namespace {

NameMap map_of(const std::string& config) {
  const ConfigFile file = value_or_throw(ConfigFile::from_text(config, "c"));
  const Plan plan = value_or_throw(plan_model(file, "", DType::f32));
  Generator rng(1);
  return {plan.facts, plan.make({rng, 0.02, DType::f32}).root.store()};
}

TEST(NameMap, of_a_base_model) {
  const NameMap m = map_of(test::gpt2_config());
  EXPECT_EQ(m.model_name("transformer.wte.weight"), "transformer.wte.weight");
  EXPECT_EQ(m.model_name("wte.weight"), "transformer.wte.weight");
  EXPECT_EQ(m.model_name("h.1.attn.c_attn.bias"), "transformer.h.1.attn.c_attn.bias");
  EXPECT_EQ(m.model_name("lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(m.model_name("h.2.attn.c_attn.bias"), "h.2.attn.c_attn.bias");  // no such layer
  EXPECT_EQ(m.model_name("score.weight"), "score.weight");
  const NameMap l = map_of(test::llama_config());
  EXPECT_EQ(l.model_name("layers.0.mlp.up_proj.weight"), "model.layers.0.mlp.up_proj.weight");
}

TEST(NameMap, what_transformers_ignores) {
  const NameMap g = map_of(test::gpt2_config());
  for (const char* name : {"h.0.attn.bias", "transformer.h.1.attn.bias", "h.0.attn.masked_bias"})
    EXPECT_TRUE(g.is_ignored(name)) << name;
  for (const char* name : {"h.0.attn.c_attn.bias", "h.0.attn.c_proj.bias", "h.0.ln_1.bias"})
    EXPECT_FALSE(g.is_ignored(name)) << name;
  EXPECT_TRUE(
      map_of(test::llama_config()).is_ignored("model.layers.0.self_attn.rotary_emb.inv_freq"));
  const NameMap b = map_of(test::bert_config());
  EXPECT_TRUE(b.is_ignored("bert.embeddings.position_ids"));
  EXPECT_FALSE(b.is_ignored("bert.embeddings.position_embeddings.weight"));
}

TEST(NameMap, of_old_berts) {
  const NameMap m = map_of(test::bert_config());
  EXPECT_EQ(m.model_name("bert.embeddings.LayerNorm.gamma"), "bert.embeddings.LayerNorm.weight");
  EXPECT_EQ(m.model_name("encoder.layer.1.output.LayerNorm.beta"),
            "bert.encoder.layer.1.output.LayerNorm.bias");
  EXPECT_EQ(m.model_name("cls.predictions.transform.LayerNorm.beta"),
            "cls.predictions.transform.LayerNorm.bias");
  EXPECT_EQ(m.model_name("other.LayerNorm.gamma"), "other.LayerNorm.gamma");
}

TEST(NameMap, of_vits_in_memory) {
  const NameMap m = map_of(test::vit_config());
  const std::string layer = "vit.encoder.layer.1.";
  EXPECT_EQ(m.model_name("vit.layers.1.attention.q_proj.weight"),
            layer + "attention.attention.query.weight");
  EXPECT_EQ(m.model_name("layers.1.attention.k_proj.bias"), layer + "attention.attention.key.bias");
  EXPECT_EQ(m.model_name("vit.layers.1.attention.v_proj.bias"),
            layer + "attention.attention.value.bias");
  EXPECT_EQ(m.model_name("vit.layers.1.attention.o_proj.bias"),
            layer + "attention.output.dense.bias");
  EXPECT_EQ(m.model_name("vit.layers.1.mlp.fc1.bias"), layer + "intermediate.dense.bias");
  EXPECT_EQ(m.model_name("vit.layers.1.mlp.fc2.bias"), layer + "output.dense.bias");
  EXPECT_EQ(m.model_name("vit.layers.1.layernorm_before.bias"), layer + "layernorm_before.bias");
  EXPECT_EQ(m.model_name("vit.layernorm.bias"), "vit.layernorm.bias");
  EXPECT_EQ(m.model_name("classifier.bias"), "classifier.bias");
  EXPECT_EQ(m.model_name("vit.layers.9.mlp.fc1.bias"), "vit.layers.9.mlp.fc1.bias");
  EXPECT_EQ(m.model_name("vit.layers"), "vit.layers");
  EXPECT_EQ(m.model_name("vit.layers.1"), "vit.layers.1");
}

}  // namespace
}  // namespace cleave::pretrained
