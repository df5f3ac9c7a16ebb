// What configs of each model say: facts, contradictions, what isn't covered.
// tests: bert_config.cpp llama_config.cpp vit_config.cpp
#include "pretrained/architecture.h"

#include "pretrained/llama_config.h"
#include "test/pretrained/small.h"

namespace cleave::pretrained {
namespace {

using test::bert_config;
using test::gpt2_config;
using test::llama_config;
using test::vit_config;

Result<Plan> planned(const std::string& text, const std::string& model = "") {
  CLEAVE_TRY(const ConfigFile file, ConfigFile::from_text(text, "c"));
  return plan_model(file, model, DType::f32);
}
std::string plan_refusal(const std::string& text, const std::string& model = "") {
  const Result<Plan> p = planned(text, model);
  if (p.ok()) return "no error";
  return (p.failure().kind == ErrorKind::unsupported ? "unsupported: " : "user: ") +
         p.failure().message;
}
LlamaConfig llama(const std::string& more, const std::string& type = "llama") {
  const ConfigFile file = value_or_throw(ConfigFile::from_text(llama_config(more, type), "c"));
  return value_or_throw(read_llama_config(file, type));
}

TEST(Architecture, facts) {
  const Facts g = planned(gpt2_config())->facts;
  EXPECT_EQ(g.model_type, "gpt2");
  EXPECT_EQ(g.class_name, "GPT2LMHeadModel");
  EXPECT_EQ(g.task, PretrainedTask::causal_language);
  EXPECT_EQ(g.vocabulary, 11);
  EXPECT_EQ(g.context, 8);
  EXPECT_EQ(planned(llama_config("", "mistral"))->facts.class_name, "MistralForCausalLM");
  EXPECT_EQ(planned(llama_config("", "qwen2"))->facts.class_name, "Qwen2ForCausalLM");
  EXPECT_EQ(planned(bert_config())->facts.task, PretrainedTask::masked_language);
  const Facts v = planned(R"({"model_type": "vit", "image_size": [32, 48], "num_channels": 4,
                              "id2label": {"0": "a", "1": "b", "2": "c"}})")
                      ->facts;
  EXPECT_EQ(v.task, PretrainedTask::image_classes);
  EXPECT_EQ(v.channels, 4);
  EXPECT_EQ(v.height, 32);
  EXPECT_EQ(v.width, 48);
  EXPECT_EQ(v.labels, 3);
  EXPECT_EQ(planned(vit_config(R"(, "num_labels": 7)"))->facts.labels, 7);
  EXPECT_EQ(planned(vit_config())->facts.labels, 2);
}

TEST(Architecture, parameters_are_counted) {
  for (const std::string& text :
       {gpt2_config(), gpt2_config(R"(, "tie_word_embeddings": false, "n_inner": 5)"),
        llama_config(), llama_config(R"(, "attention_bias": true, "mlp_bias": true)"),
        llama_config(R"(, "tie_word_embeddings": true, "head_dim": 6)", "qwen2"), bert_config(),
        bert_config(R"(, "tie_word_embeddings": false)"), vit_config(),
        vit_config(R"(, "qkv_bias": false, "num_labels": 5)")}) {
    const Plan plan = *planned(text);
    Generator rng(1);
    const nn::Module root = plan.make({rng, 0.02, DType::f32}).root;
    EXPECT_EQ(plan.facts.parameters, static_cast<double>(root.parameter_count())) << text;
  }
}

TEST(Architecture, which_model) {
  EXPECT_EQ(plan_refusal("{}"),
            "user: c: model_type is missing, and no model is given; cleave has bert, gpt2, llama, "
            "mistral, qwen2 and vit");
  EXPECT_EQ(plan_refusal(R"({"model_type": "t5"})"),
            "unsupported: c: model_type is \"t5\", cleave has bert, gpt2, llama, mistral, qwen2 "
            "and vit");
  EXPECT_EQ(plan_refusal(gpt2_config(), "bert"),
            "user: c: model_type is \"gpt2\", the model is given as \"bert\"");
  EXPECT_EQ(plan_refusal(llama_config("", "qwen2"), "llama"), "no error");
  EXPECT_EQ(plan_refusal(llama_config("", "qwen2"), "mistral"),
            "user: c: model_type is \"qwen2\", the model is given as \"mistral\"");
  EXPECT_EQ(plan_refusal(R"({"n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 5})", "gpt2"),
            "no error");
}

TEST(Architecture, what_is_not_covered) {
  const auto without = [](const std::string& field, const std::string& value) {
    return "unsupported: c: " + field + " is " + value + ", cleave has models without it alone";
  };
  EXPECT_EQ(plan_refusal(gpt2_config(R"(, "add_cross_attention": true)")),
            without("add_cross_attention", "true"));
  EXPECT_EQ(plan_refusal(bert_config(R"(, "is_decoder": true)")), without("is_decoder", "true"));
  EXPECT_EQ(plan_refusal(llama_config(R"(, "quantization_config": {"bits": 4})")),
            without("quantization_config", "{\"bits\":4}"));
  EXPECT_EQ(plan_refusal(bert_config(R"(, "pruned_heads": {"0": [1]})")),
            without("pruned_heads", "{\"0\":[1]}"));
  EXPECT_EQ(plan_refusal(bert_config(R"(, "position_embedding_type": "relative_key")")),
            "unsupported: c: position_embedding_type is \"relative_key\", cleave has \"absolute\" "
            "alone");
  EXPECT_NE(plan_refusal(gpt2_config(R"(, "activation_function": "laplace")"))
                .find("unsupported: c: activation_function is \"laplace\", cleave has gelu, "),
            std::string::npos);
  EXPECT_EQ(plan_refusal(vit_config(R"(, "problem_type": "regression")")),
            "unsupported: c: problem_type is \"regression\", cleave has "
            "\"single_label_classification\" alone");
  EXPECT_EQ(plan_refusal(vit_config(R"(, "id2label": {"0": "a"})")),
            "unsupported: c: id2label has 1 labels, which is a regression; cleave has classes "
            "alone");
  EXPECT_EQ(plan_refusal(vit_config(R"(, "head_dim": 3)")),
            "unsupported: c: head_dim is 3, cleave has hidden_size / num_attention_heads alone, 4");
  EXPECT_EQ(plan_refusal(gpt2_config(R"(, "summary_type": "first", "n_ctx": 3, "anything": [1])")),
            "no error");
}

TEST(Architecture, sizes_that_contradict) {
  EXPECT_EQ(plan_refusal(R"({"model_type": "gpt2", "n_embd": 10, "n_head": 4})"),
            "user: c: n_embd is 10, expected a multiple of n_head, 4");
  EXPECT_EQ(plan_refusal(R"({"model_type": "bert", "hidden_size": 10, "num_attention_heads": 4})"),
            "user: c: hidden_size is 10, expected a multiple of num_attention_heads, 4");
  EXPECT_EQ(plan_refusal(R"({"model_type": "llama", "num_attention_heads": 4,
                        "num_key_value_heads": 3})"),
            "user: c: num_attention_heads is 4, expected a multiple of num_key_value_heads, 3");
  EXPECT_EQ(plan_refusal(llama_config(R"(, "head_dim": 3)")),
            "user: c: head_dim is 3, expected an even one, whose halves are rotated");
  EXPECT_EQ(plan_refusal(llama_config(R"(, "pad_token_id": 11)")),
            "user: c: pad_token_id is 11, outside of the vocabulary of 11");
  EXPECT_EQ(plan_refusal(R"({"model_type": "vit", "image_size": 8, "patch_size": [4, 9]})"),
            "user: c: patch_size is 4x9, image_size 8x8: no patch fits");
  EXPECT_EQ(plan_refusal(R"({"model_type": "vit", "image_size": [8, 8, 8]})"),
            "user: c: image_size: expected a size, or a list of two");
}

TEST(Architecture, models_beyond_this_machine) {
  EXPECT_EQ(plan_refusal(R"({"model_type": "gpt2", "vocab_size": 2147483647,
                             "n_embd": 2147483647, "n_head": 1})")
                .find("user: c: its parameters take 2.67e+12 GB, this machine has "),
            0u);
  EXPECT_EQ(plan_refusal(R"({"model_type": "llama", "num_hidden_layers": 20000})"),
            "unsupported: c: num_hidden_layers is 20000, cleave makes up to 10000 layers");
}

TEST(LlamaConfig, heads) {
  EXPECT_EQ(llama("").kv_heads, 1);
  EXPECT_EQ(llama("").head_width, 4);
  EXPECT_EQ(llama(R"(, "head_dim": 6)").head_width, 6);
  const auto of = [](const std::string& text, const std::string& type) {
    const ConfigFile file = value_or_throw(ConfigFile::from_text(text, "c"));
    return value_or_throw(read_llama_config(file, type)).kv_heads;
  };
  EXPECT_EQ(of("{}", "llama"), 32);
  EXPECT_EQ(of("{}", "mistral"), 8);
  EXPECT_EQ(of(R"({"num_key_value_heads": null})", "mistral"), 32);
}

TEST(LlamaConfig, biases) {
  EXPECT_FALSE(llama("").has_qkv_bias);
  const LlamaConfig c = llama(R"(, "attention_bias": true)");
  EXPECT_TRUE(c.has_qkv_bias && c.has_output_bias && !c.has_mlp_bias);
  EXPECT_TRUE(llama(R"(, "mlp_bias": true)").has_mlp_bias);
  const LlamaConfig q = llama(R"(, "attention_bias": true, "mlp_bias": true)", "qwen2");
  EXPECT_TRUE(q.has_qkv_bias && !q.has_output_bias && !q.has_mlp_bias);
  EXPECT_FALSE(llama(R"(, "attention_bias": true)", "mistral").has_qkv_bias);
}

TEST(LlamaConfig, windows) {
  using Windows = std::vector<int64_t>;
  EXPECT_EQ(llama(R"(, "sliding_window": 3)").windows, Windows({0, 0}));
  EXPECT_EQ(llama(R"(, "sliding_window": 3)", "mistral").windows, Windows({3, 3}));
  EXPECT_EQ(llama("", "mistral").windows, Windows({4096, 4096}));
  EXPECT_EQ(llama(R"(, "sliding_window": null)", "mistral").windows, Windows({0, 0}));
  EXPECT_EQ(llama(R"(, "sliding_window": 3)", "qwen2").windows, Windows({0, 0}));
  const std::string uses = R"(, "sliding_window": 3, "use_sliding_window": true)";
  EXPECT_EQ(llama(uses, "qwen2").windows, Windows({0, 0}));  // from layer 28 on
  EXPECT_EQ(llama(uses + R"(, "max_window_layers": 1)", "qwen2").windows, Windows({0, 3}));
  const std::string types = R"(, "layer_types": ["sliding_attention", "full_attention"])";
  EXPECT_EQ(llama(uses + types, "qwen2").windows, Windows({3, 0}));
  EXPECT_EQ(plan_refusal(llama_config(types, "qwen2")),
            "unsupported: c: layer_types has sliding_attention, while sliding_window is not set, "
            "or not used");
  EXPECT_EQ(plan_refusal(llama_config(types, "mistral")),
            "unsupported: c: layer_types has full_attention, while sliding_window is set");
  EXPECT_EQ(plan_refusal(llama_config(R"(, "layer_types": ["full_attention"])")),
            "user: c: layer_types has 1 layers, num_hidden_layers is 2");
  EXPECT_EQ(plan_refusal(llama_config(R"(, "layer_types": ["full_attention", "linear"])")),
            "unsupported: c: layer_types has \"linear\", cleave has \"full_attention\" and "
            "\"sliding_attention\"");
}

TEST(LlamaConfig, padding) {
  EXPECT_EQ(llama("").padding, -1);
  EXPECT_EQ(llama(R"(, "pad_token_id": 3)").padding, 3);
  EXPECT_EQ(llama(R"(, "pad_token_id": -1)").padding, 10);  // from the end, as in PyTorch
}

}  // namespace
}  // namespace cleave::pretrained
