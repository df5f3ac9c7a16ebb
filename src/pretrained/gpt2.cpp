// GPT2LMHeadModel: "Language Models are Unsupervised Multitask Learners" (Radford et al., 2019).
#include <cmath>

#include "cleave/nn.h"
#include "pretrained/activation.h"
#include "pretrained/architecture.h"
#include "pretrained/attention.h"

namespace cleave::pretrained {
namespace {

struct Config {
  int64_t vocabulary = 0, positions = 0, width = 0, layers = 0, heads = 0, inner = 0;
  double embedding_dropout = 0, attention_dropout = 0, residual_dropout = 0, eps = 0;
  Activation activation = nullptr;
  bool scales = true, scales_by_layer = false, is_tied = true;
};

// Initial values of what is added to the residual stream: 2 such layers a block.
double residual_deviation(const Config& c, const Initial& i) {
  return i.deviation / std::sqrt(2.0 * static_cast<double>(c.layers));
}

struct SelfAttention : nn::Module {
  SelfAttention(const Config& c, int64_t layer, const Initial& i)
      : heads(c.heads), c_attn(add_module("c_attn", Conv1D(c.width, 3 * c.width, i, i.deviation))),
        c_proj(add_module("c_proj", Conv1D(c.width, c.width, i, residual_deviation(c, i)))) {
    attention.dropout = c.attention_dropout;
    attention.is_causal = true;
    const int64_t head_width = c.width / c.heads;
    const double root = std::sqrt(static_cast<double>(head_width));
    double scale = c.scales ? 1 / root : 1;
    if (c.scales_by_layer) scale /= static_cast<double>(layer + 1);
    if (!c.scales || c.scales_by_layer) attention.scale = scale;
  }
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    const int64_t b = x.size(0), time = x.size(1), width = x.size(2) / heads;
    const Tensor qkv =
        permute(view(c_attn(x, at), {b, time, 3, heads, width}, at), {2, 0, 3, 1, 4}, at);
    Attention a = attention;
    if (!is_training()) a.dropout = 0;
    return c_proj(
        attended(select(qkv, 0, 0, at), select(qkv, 0, 1, at), select(qkv, 0, 2, at), a, at), at);
  }

  int64_t heads;
  Attention attention;
  Conv1D c_attn, c_proj;
};

struct Mlp : nn::Module {
  Mlp(const Config& c, const Initial& i)
      : c_fc(add_module("c_fc", Conv1D(c.width, c.inner, i, i.deviation))),
        c_proj(add_module("c_proj", Conv1D(c.inner, c.width, i, residual_deviation(c, i)))),
        activation(c.activation) {}
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    return c_proj(activation(c_fc(x, at), at), at);
  }

  Conv1D c_fc, c_proj;
  Activation activation;
};

struct Block : nn::Module {
  Block(const Config& c, int64_t layer, const Initial& i)
      : ln_1(add_module("ln_1", nn::LayerNorm({c.width}, {.eps = c.eps, .dtype = i.dtype}))),
        attn(add_module("attn", SelfAttention(c, layer, i))),
        ln_2(add_module("ln_2", nn::LayerNorm({c.width}, {.eps = c.eps, .dtype = i.dtype}))),
        mlp(add_module("mlp", Mlp(c, i))), dropout(c.residual_dropout) {
    add_module("resid_dropout", dropout);
  }
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    const Tensor seen = add(x, dropout(attn(ln_1(x, at), at), at), 1, at);
    return add(seen, dropout(mlp(ln_2(seen, at), at), at), 1, at);
  }

  nn::LayerNorm ln_1;
  SelfAttention attn;
  nn::LayerNorm ln_2;
  Mlp mlp;
  nn::Dropout dropout;
};

struct Base : nn::Module {
  Base(const Config& c, const Initial& i)
      : wte(add_module("wte", Table(c.vocabulary, c.width, i))),
        wpe(add_module("wpe", Table(c.positions, c.width, i))),
        drop(add_module("drop", nn::Dropout(c.embedding_dropout))),
        h(add_module("h", nn::ModuleList<Block>())),
        ln_f(add_module("ln_f", nn::LayerNorm({c.width}, {.eps = c.eps, .dtype = i.dtype}))) {
    for (int64_t layer = 0; layer < c.layers; ++layer) h.push_back(Block(c, layer, i));
  }
  Tensor operator()(const Tensor& ids, Location at) const {
    const Call call(*this);
    Tensor x = drop(add(wte(ids, at), wpe.first(ids.size(1), at), 1, at), at);
    for (const Block& block : h) x = block(x, at);
    return ln_f(x, at);
  }

  Table wte, wpe;
  nn::Dropout drop;
  nn::ModuleList<Block> h;
  nn::LayerNorm ln_f;
};

struct Gpt2 : nn::Module {
  Gpt2(const Config& c, const Initial& i)
      : transformer(add_module("transformer", Base(c, i))),
        lm_head(add_module("lm_head", c.is_tied ? Dense::undrawn(c.width, c.vocabulary, i, false)
                                                : Dense(c.width, c.vocabulary, i, false))) {
    if (c.is_tied) lm_head.share("weight", transformer.wte.parameter("weight"));
  }
  Tensor operator()(const Tensor& ids, Location at) const {
    const Call call(*this);
    return lm_head(transformer(ids, at), at);
  }

  Base transformer;
  Dense lm_head;
};

// GPT2Config maps the common names to its own.
std::string_view own_key(const Fields& f, std::string_view own, std::string_view common) {
  return f.find(common) && !f.find(own) ? common : own;
}

Result<Config> read(const ConfigFile& file) {
  const Fields& f = file.fields();
  Config c;
  CLEAVE_TRY(c.vocabulary, f.size("vocab_size", 50257));
  CLEAVE_TRY(c.positions, f.size(own_key(f, "n_positions", "max_position_embeddings"), 1024));
  CLEAVE_TRY(c.width, f.size(own_key(f, "n_embd", "hidden_size"), 768));
  CLEAVE_TRY(c.layers, layer_count(f, own_key(f, "n_layer", "num_hidden_layers"), 12));
  CLEAVE_TRY(c.heads, f.size(own_key(f, "n_head", "num_attention_heads"), 12));
  CLEAVE_CHECK(check_heads("n_embd", c.width, "n_head", c.heads));
  CLEAVE_TRY(c.inner, f.size("n_inner", 4 * c.width));
  CLEAVE_TRY(c.embedding_dropout, file.probability("embd_pdrop", 0.1));
  CLEAVE_TRY(c.attention_dropout, file.probability("attn_pdrop", 0.1));
  CLEAVE_TRY(c.residual_dropout, file.probability("resid_pdrop", 0.1));
  CLEAVE_TRY(c.eps, f.positive("layer_norm_epsilon", 1e-5));
  CLEAVE_TRY(const std::string activation, f.text("activation_function", "gelu_new"));
  CLEAVE_TRY(c.activation, activation_named(activation, "activation_function"));
  CLEAVE_TRY(c.scales, f.flag("scale_attn_weights", true));
  CLEAVE_TRY(c.scales_by_layer, f.flag("scale_attn_by_inverse_layer_idx", false));
  CLEAVE_TRY(c.is_tied, f.flag("tie_word_embeddings", true));
  return c;
}

double parameters(const Config& c) {
  const auto v = static_cast<double>(c.vocabulary), w = static_cast<double>(c.width),
             n = static_cast<double>(c.inner), p = static_cast<double>(c.positions);
  const double block = w * (4 * w + 2 * n) + 9 * w + n;
  return (c.is_tied ? 1 : 2) * v * w + p * w + static_cast<double>(c.layers) * block + 2 * w;
}

}  // namespace

Result<Plan> plan_gpt2(const ConfigFile& file) {
  CLEAVE_TRY(const Config c, read(file));
  Plan plan;
  plan.facts.class_name = "GPT2LMHeadModel";
  plan.facts.task = PretrainedTask::causal_language;
  plan.facts.vocabulary = c.vocabulary;
  plan.facts.context = c.positions;
  plan.facts.parameters = parameters(c);
  plan.facts.base_prefix = "transformer.";
  plan.facts.ignored = {".attn.bias", ".attn.masked_bias"};
  plan.facts.dropout_fields = {"embd_pdrop", "attn_pdrop", "resid_pdrop"};
  plan.make = [c](const Initial& i) {
    const Gpt2 net(c, i);
    return Network{net, [net](const Tensor& ids, Location at) { return net(ids, at); }};
  };
  return plan;
}

}  // namespace cleave::pretrained
