// LlamaForCausalLM (Touvron et al., 2023), and what differs from it by biases, heads or windows:
// MistralForCausalLM (Jiang et al., 2023), Qwen2ForCausalLM (Yang et al., 2024).
#include "cleave/nn_norm.h"
#include "pretrained/activation.h"
#include "pretrained/architecture.h"
#include "pretrained/attention.h"
#include "pretrained/llama_config.h"

namespace cleave::pretrained {
namespace {

using Config = LlamaConfig;

struct SelfAttention : nn::Module {
  SelfAttention(const Config& c, int64_t layer, const Initial& i)
      : heads(c.heads), kv_heads(c.kv_heads),
        q_proj(add_module("q_proj", Dense(c.width, c.heads * c.head_width, i, c.has_qkv_bias))),
        k_proj(add_module("k_proj", Dense(c.width, c.kv_heads * c.head_width, i, c.has_qkv_bias))),
        v_proj(add_module("v_proj", Dense(c.width, c.kv_heads * c.head_width, i, c.has_qkv_bias))),
        o_proj(add_module("o_proj", Dense(c.heads * c.head_width, c.width, i, c.has_output_bias))) {
    attention.dropout = c.dropout;
    attention.is_causal = true;
    attention.window = c.windows[static_cast<size_t>(layer)];
  }
  Tensor operator()(const Tensor& x, const Rotation& r, Location at) const {
    const Call call(*this);
    const Tensor q = rotated(headed(q_proj(x, at), heads, at), r, at);
    const Tensor k = rotated(headed(k_proj(x, at), kv_heads, at), r, at);
    Attention a = attention;
    if (!is_training()) a.dropout = 0;
    return o_proj(attended(q, k, headed(v_proj(x, at), kv_heads, at), a, at), at);
  }

  int64_t heads, kv_heads;
  Attention attention;
  Dense q_proj, k_proj, v_proj, o_proj;
};

struct Mlp : nn::Module {
  Mlp(const Config& c, const Initial& i)
      : gate_proj(add_module("gate_proj", Dense(c.width, c.inner, i, c.has_mlp_bias))),
        up_proj(add_module("up_proj", Dense(c.width, c.inner, i, c.has_mlp_bias))),
        down_proj(add_module("down_proj", Dense(c.inner, c.width, i, c.has_mlp_bias))),
        activation(c.activation) {}
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    return down_proj(mul(activation(gate_proj(x, at), at), up_proj(x, at), at), at);
  }

  Dense gate_proj, up_proj, down_proj;
  Activation activation;
};

nn::RMSNorm norm_of(const Config& c, const Initial& i) {
  return nn::RMSNorm({c.width}, {.eps = c.eps, .dtype = i.dtype});
}

struct Layer : nn::Module {
  Layer(const Config& c, int64_t layer, const Initial& i)
      : self_attn(add_module("self_attn", SelfAttention(c, layer, i))),
        mlp(add_module("mlp", Mlp(c, i))),
        input_layernorm(add_module("input_layernorm", norm_of(c, i))),
        post_attention_layernorm(add_module("post_attention_layernorm", norm_of(c, i))) {}
  Tensor operator()(const Tensor& x, const Rotation& r, Location at) const {
    const Call call(*this);
    const Tensor seen = add(x, self_attn(input_layernorm(x, at), r, at), 1, at);
    return add(seen, mlp(post_attention_layernorm(seen, at), at), 1, at);
  }

  SelfAttention self_attn;
  Mlp mlp;
  nn::RMSNorm input_layernorm, post_attention_layernorm;
};

struct Base : nn::Module {
  Base(const Config& c, const Initial& i)
      : rope(c.rope), head_width(c.head_width), dtype(i.dtype),
        embed_tokens(add_module("embed_tokens", Table(c.vocabulary, c.width, i, c.padding))),
        layers(add_module("layers", nn::ModuleList<Layer>())),
        norm(add_module("norm", norm_of(c, i))) {
    for (int64_t layer = 0; layer < c.layers; ++layer) layers.push_back(Layer(c, layer, i));
  }
  Tensor operator()(const Tensor& ids, Location at) const {
    const Call call(*this);
    const Rotation r = rotation(rope, ids.size(1), head_width, dtype, at);
    Tensor x = embed_tokens(ids, at);
    for (const Layer& layer : layers) x = layer(x, r, at);
    return norm(x, at);
  }

  Rope rope;
  int64_t head_width;
  DType dtype;
  Table embed_tokens;
  nn::ModuleList<Layer> layers;
  nn::RMSNorm norm;
};

struct Llama : nn::Module {
  Llama(const Config& c, const Initial& i)
      : model(add_module("model", Base(c, i))),
        lm_head(add_module("lm_head", c.is_tied ? Dense::undrawn(c.width, c.vocabulary, i, false)
                                                : Dense(c.width, c.vocabulary, i, false))) {
    if (c.is_tied) lm_head.share("weight", model.embed_tokens.parameter("weight"));
  }
  Tensor operator()(const Tensor& ids, Location at) const {
    const Call call(*this);
    return lm_head(model(ids, at), at);
  }

  Base model;
  Dense lm_head;
};

double parameters(const Config& c) {
  const auto v = static_cast<double>(c.vocabulary), w = static_cast<double>(c.width),
             n = static_cast<double>(c.inner), d = static_cast<double>(c.head_width);
  const double q = d * static_cast<double>(c.heads), kv = d * static_cast<double>(c.kv_heads);
  const double biases = (c.has_qkv_bias ? q + 2 * kv : 0) + (c.has_output_bias ? w : 0) +
                        (c.has_mlp_bias ? 2 * n + w : 0);
  const double layer = 2 * w * (q + kv) + 3 * w * n + 2 * w + biases;
  return (c.is_tied ? 1 : 2) * v * w + static_cast<double>(c.layers) * layer + w;
}

}  // namespace

Result<Plan> plan_llama(const ConfigFile& file, const std::string& model_type) {
  CLEAVE_TRY(const Config c, read_llama_config(file, model_type));
  Plan plan;
  plan.facts.class_name = model_type == "llama"     ? "LlamaForCausalLM"
                          : model_type == "mistral" ? "MistralForCausalLM"
                                                    : "Qwen2ForCausalLM";
  plan.facts.task = PretrainedTask::causal_language;
  plan.facts.vocabulary = c.vocabulary;
  plan.facts.context = c.positions;
  plan.facts.parameters = parameters(c);
  plan.facts.base_prefix = "model.";
  plan.facts.ignored = {"rotary_emb.inv_freq"};
  plan.facts.dropout_fields = {"attention_dropout"};
  plan.make = [c](const Initial& i) {
    const Llama net(c, i);
    return Network{net, [net](const Tensor& ids, Location at) { return net(ids, at); }};
  };
  return plan;
}

}  // namespace cleave::pretrained
