// BertForMaskedLM: "BERT" (Devlin et al., 2019). All token types are 0, nothing is padding.
#include "pretrained/architecture.h"
#include "pretrained/bert_config.h"
#include "pretrained/self_attention.h"

namespace cleave::pretrained {
namespace {

using Config = BertConfig;

nn::LayerNorm norm_of(const Config& c, const Initial& i) {
  return nn::LayerNorm({c.width}, {.eps = c.eps, .dtype = i.dtype});
}

struct Embeddings : nn::Module {
  Embeddings(const Config& c, const Initial& i)
      : word_embeddings(add_module("word_embeddings", Table(c.vocabulary, c.width, i, c.padding))),
        position_embeddings(add_module("position_embeddings", Table(c.positions, c.width, i))),
        token_type_embeddings(add_module("token_type_embeddings", Table(c.types, c.width, i))),
        norm(add_module("LayerNorm", norm_of(c, i))),
        dropout(add_module("dropout", nn::Dropout(c.dropout))) {}
  Tensor operator()(const Tensor& ids, Location at) const {
    const Call call(*this);
    const Tensor typed = add(word_embeddings(ids, at), token_type_embeddings.first(1, at), 1, at);
    return dropout(norm(add(typed, position_embeddings.first(ids.size(1), at), 1, at), at), at);
  }

  Table word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm norm;
  nn::Dropout dropout;
};

// LayerNorm(dropout(dense(x)) + residual).
struct Output : nn::Module {
  Output(int64_t in, const Config& c, const Initial& i)
      : dense(add_module("dense", Dense(in, c.width, i))),
        norm(add_module("LayerNorm", norm_of(c, i))),
        dropout(add_module("dropout", nn::Dropout(c.dropout))) {}
  Tensor operator()(const Tensor& x, const Tensor& residual, Location at) const {
    const Call call(*this);
    return norm(add(dropout(dense(x, at), at), residual, 1, at), at);
  }

  Dense dense;
  nn::LayerNorm norm;
  nn::Dropout dropout;
};

struct AttentionBlock : nn::Module {
  AttentionBlock(const Config& c, const Initial& i)
      : self(add_module("self", SelfAttention(c.width, c.heads, c.attention_dropout, i))),
        output(add_module("output", Output(c.width, c, i))) {}
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    return output(self(x, at), x, at);
  }

  SelfAttention self;
  Output output;
};

struct Intermediate : nn::Module {
  Intermediate(const Config& c, const Initial& i)
      : dense(add_module("dense", Dense(c.width, c.inner, i))), activation(c.activation) {}
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    return activation(dense(x, at), at);
  }

  Dense dense;
  Activation activation;
};

struct Layer : nn::Module {
  Layer(const Config& c, const Initial& i)
      : attention(add_module("attention", AttentionBlock(c, i))),
        intermediate(add_module("intermediate", Intermediate(c, i))),
        output(add_module("output", Output(c.inner, c, i))) {}
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    const Tensor seen = attention(x, at);
    return output(intermediate(seen, at), seen, at);
  }

  AttentionBlock attention;
  Intermediate intermediate;
  Output output;
};

struct Encoder : nn::Module {
  Encoder(const Config& c, const Initial& i) : layer(add_module("layer", nn::ModuleList<Layer>())) {
    for (int64_t k = 0; k < c.layers; ++k) layer.push_back(Layer(c, i));
  }
  nn::ModuleList<Layer> layer;
};

struct Base : nn::Module {
  Base(const Config& c, const Initial& i)
      : embeddings(add_module("embeddings", Embeddings(c, i))),
        encoder(add_module("encoder", Encoder(c, i))) {}
  Tensor operator()(const Tensor& ids, Location at) const {
    const Call call(*this);
    Tensor x = embeddings(ids, at);
    for (const Layer& layer : encoder.layer) x = layer(x, at);
    return x;
  }

  Embeddings embeddings;
  Encoder encoder;
};

struct Transform : nn::Module {
  Transform(const Config& c, const Initial& i)
      : dense(add_module("dense", Dense(c.width, c.width, i))),
        norm(add_module("LayerNorm", norm_of(c, i))), activation(c.activation) {}
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    return norm(activation(dense(x, at), at), at);
  }

  Dense dense;
  nn::LayerNorm norm;
  Activation activation;
};

// predictions.bias is decoder.bias; in a model that isn't tied it is one of its own, which nothing
// reads.
struct Predictions : nn::Module {
  Predictions(const Config& c, const Initial& i, const Variable& words)
      : transform(add_module("transform", Transform(c, i))),
        decoder(add_module("decoder", c.is_tied ? Dense::undrawn(c.width, c.vocabulary, i, true)
                                                : Dense(c.width, c.vocabulary, i))) {
    const Variable bias = add_parameter("bias", i.zeros({c.vocabulary}));
    if (!c.is_tied) return;
    decoder.share("weight", words);
    decoder.share("bias", bias);
  }
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    return decoder(transform(x, at), at);
  }

  Transform transform;
  Dense decoder;
};

struct Head : nn::Module {
  Head(const Config& c, const Initial& i, const Variable& words)
      : predictions(add_module("predictions", Predictions(c, i, words))) {}
  Predictions predictions;
};

struct Bert : nn::Module {
  Bert(const Config& c, const Initial& i)
      : bert(add_module("bert", Base(c, i))),
        cls(add_module("cls", Head(c, i, bert.parameter("embeddings.word_embeddings.weight")))) {}
  Tensor operator()(const Tensor& ids, Location at) const {
    const Call call(*this);
    return cls.predictions(bert(ids, at), at);
  }

  Base bert;
  Head cls;
};

}  // namespace

Result<Plan> plan_bert(const ConfigFile& file) {
  CLEAVE_TRY(const Config c, read_bert_config(file));
  Plan plan;
  plan.facts.class_name = "BertForMaskedLM";
  plan.facts.task = PretrainedTask::masked_language;
  plan.facts.vocabulary = c.vocabulary;
  plan.facts.context = c.positions;
  plan.facts.parameters = parameter_count(c);
  plan.facts.base_prefix = "bert.";
  plan.facts.ignored = {"embeddings.position_ids", "embeddings.token_type_ids"};
  plan.facts.dropout_fields = {"hidden_dropout_prob", "attention_probs_dropout_prob"};
  plan.make = [c](const Initial& i) {
    const Bert net(c, i);
    return Network{net, [net](const Tensor& ids, Location at) { return net(ids, at); }};
  };
  return plan;
}

}  // namespace cleave::pretrained
