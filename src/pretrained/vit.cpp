// ViTForImageClassification: "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021). Names of
// state are those of the files, which transformers 5 renames while it reads them.
#include "cleave/spatial.h"
#include "pretrained/architecture.h"
#include "pretrained/self_attention.h"
#include "pretrained/vit_config.h"

namespace cleave::pretrained {
namespace {

using Config = VitConfig;

nn::LayerNorm norm_of(const Config& c, const Initial& i) {
  return nn::LayerNorm({c.width}, {.eps = c.eps, .dtype = i.dtype});
}

// Patches by a strided convolution.
struct Projection : nn::Module {
  Projection(const Config& c, const Initial& i) : patch{c.patch_height, c.patch_width} {
    add_parameter("weight", i.normal({c.width, c.channels, c.patch_height, c.patch_width}));
    add_parameter("bias", i.zeros({c.width}));
  }
  Tensor operator()(const Tensor& pixels, Location at) const {
    const Call call(*this);
    return conv2d(pixels, parameter("weight"), parameter("bias"), {.stride = patch}, at);
  }

  Spatial patch;
};

struct PatchEmbeddings : nn::Module {
  PatchEmbeddings(const Config& c, const Initial& i)
      : projection(add_module("projection", Projection(c, i))) {}
  Projection projection;
};

struct Embeddings : nn::Module {
  Embeddings(const Config& c, const Initial& i)
      : cls_token(add_parameter("cls_token", i.truncated({1, 1, c.width}))),
        position_embeddings(
            add_parameter("position_embeddings", i.truncated({1, c.patches() + 1, c.width}))),
        patch_embeddings(add_module("patch_embeddings", PatchEmbeddings(c, i))),
        dropout(add_module("dropout", nn::Dropout(c.dropout))) {}
  Tensor operator()(const Tensor& pixels, Location at) const {
    const Call call(*this);
    const Tensor patches = flatten(patch_embeddings.projection(pixels, at), 2, -1, at);
    const Tensor first = expand(cls_token, {pixels.size(0), 1, cls_token.shape()[2]}, at);
    const Tensor x = cat({first, transpose(patches, 1, 2, at)}, 1, at);
    return dropout(add(x, position_embeddings, 1, at), at);
  }

  Variable cls_token, position_embeddings;
  PatchEmbeddings patch_embeddings;
  nn::Dropout dropout;
};

// A Dense layer that the files name `dense`.
struct Named : nn::Module {
  Named(int64_t in, int64_t out, const Initial& i)
      : dense(add_module("dense", Dense(in, out, i))) {}
  Dense dense;
};

struct AttentionBlock : nn::Module {
  AttentionBlock(const Config& c, const Initial& i)
      : attention(add_module(
            "attention", SelfAttention(c.width, c.heads, c.attention_dropout, i, c.has_qkv_bias))),
        output(add_module("output", Named(c.width, c.width, i))) {}
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    return output.dense(attention(x, at), at);
  }

  SelfAttention attention;
  Named output;
};

struct Layer : nn::Module {
  Layer(const Config& c, const Initial& i)
      : attention(add_module("attention", AttentionBlock(c, i))),
        intermediate(add_module("intermediate", Named(c.width, c.inner, i))),
        output(add_module("output", Named(c.inner, c.width, i))),
        layernorm_before(add_module("layernorm_before", norm_of(c, i))),
        layernorm_after(add_module("layernorm_after", norm_of(c, i))),
        dropout(add_module("dropout", nn::Dropout(c.dropout))), activation(c.activation) {}
  Tensor operator()(const Tensor& x, Location at) const {
    const Call call(*this);
    const Tensor seen = add(dropout(attention(layernorm_before(x, at), at), at), x, 1, at);
    const Tensor inner = activation(intermediate.dense(layernorm_after(seen, at), at), at);
    return add(dropout(output.dense(inner, at), at), seen, 1, at);
  }

  AttentionBlock attention;
  Named intermediate, output;
  nn::LayerNorm layernorm_before, layernorm_after;
  nn::Dropout dropout;
  Activation activation;
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
        encoder(add_module("encoder", Encoder(c, i))),
        layernorm(add_module("layernorm", norm_of(c, i))) {}
  Tensor operator()(const Tensor& pixels, Location at) const {
    const Call call(*this);
    Tensor x = embeddings(pixels, at);
    for (const Layer& layer : encoder.layer) x = layer(x, at);
    return layernorm(select(x, 1, 0, at), at);
  }

  Embeddings embeddings;
  Encoder encoder;
  nn::LayerNorm layernorm;
};

struct Vit : nn::Module {
  Vit(const Config& c, const Initial& i)
      : dtype(i.dtype), vit(add_module("vit", Base(c, i))),
        classifier(add_module("classifier", Dense(c.width, c.labels, i))) {}
  Tensor operator()(const Tensor& pixels, Location at) const {
    const Call call(*this);
    const Tensor x = pixels.dtype() == dtype ? pixels : to(pixels, dtype, at);
    return classifier(vit(x, at), at);
  }

  DType dtype;
  Base vit;
  Dense classifier;
};

}  // namespace

Result<Plan> plan_vit(const ConfigFile& file) {
  CLEAVE_TRY(const Config c, read_vit_config(file));
  Plan plan;
  plan.facts.class_name = "ViTForImageClassification";
  plan.facts.task = PretrainedTask::image_classes;
  plan.facts.channels = c.channels;
  plan.facts.height = c.height;
  plan.facts.width = c.width_px;
  plan.facts.labels = c.labels;
  plan.facts.parameters = parameter_count(c);
  plan.facts.base_prefix = "vit.";
  plan.facts.dropout_fields = {"hidden_dropout_prob", "attention_probs_dropout_prob"};
  plan.make = [c](const Initial& i) {
    const Vit net(c, i);
    return Network{net, [net](const Tensor& x, Location at) { return net(x, at); }};
  };
  return plan;
}

}  // namespace cleave::pretrained
