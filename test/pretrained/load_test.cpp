// Checkpoints into models: every name, ties, dtypes, prefixes; what is refused changes nothing.
#include "pretrained/load.h"

#include "test/pretrained/small.h"

namespace cleave {
namespace {

using test::gpt2_config;
using test::model_of;
using test::same_state;
using test::TempFolder;
using test::thrown;

// The state as tensors by name.
NamedTensors tensors_of(const nn::Module& model) {
  NamedTensors out;
  const Store store = model.store();
  for (const auto& [name, v] : store.entries()) out.emplace(name, v.value());
  return out;
}

struct Load : testing::Test {
  TempFolder folder;
  std::string path = folder / "x.safetensors";
  Pretrained source = model_of(gpt2_config(), {}, 1), target = model_of(gpt2_config(), {}, 2);
  NamedTensors tensors = tensors_of(source);

  std::string refused(const LoadOptions& options = {}) {
    const Pretrained before = nn::clone(target);
    save_tensors(path, tensors);
    std::string text = thrown([&] { target.load(path, options); });
    EXPECT_TRUE(same_state(before, target)) << "an error leaves the model as it was";
    const std::string head = "user: " + path + ": tensors: the file does not fit the model:";
    return text.starts_with(head) ? text.substr(head.size()) : text;
  }
  LoadReport loaded(const LoadOptions& options = {}) {
    save_tensors(path, tensors);
    return target.load(path, options);
  }
};

TEST_F(Load, every_name) {
  const LoadReport r = loaded();
  EXPECT_TRUE(same_state(source, target));
  EXPECT_EQ(r.loaded.size(), source.named_parameters().size());
  EXPECT_TRUE(r.missing.empty() && r.extra.empty() && r.converted.empty());
}

TEST_F(Load, missing_and_unexpected_names_are_all_listed) {
  std::string missing, extra;
  for (int i = 0; i < 2; ++i)
    for (const char* part : {"attn.c_attn.bias", "attn.c_proj.bias", "ln_1.bias", "mlp.c_fc.bias"})
      tensors.erase("transformer.h." + std::to_string(i) + "." + part);
  for (int i = 0; i < 9; ++i) {
    tensors.emplace("more." + std::to_string(i), HostTensor(DType::f32, {1}));
    extra += "\n  more." + std::to_string(i);
  }
  for (int i = 0; i < 2; ++i)
    for (const char* part : {"ln_1.bias", "attn.c_attn.bias", "attn.c_proj.bias", "mlp.c_fc.bias"})
      missing += "\n  transformer.h." + std::to_string(i) + "." + part;
  missing = "\n8 missing, which {.allow_missing = true} allows:" + missing;
  extra = "\n9 unexpected, which {.allow_extra = true} allows:" + extra;
  EXPECT_EQ(refused(), missing + extra);
  EXPECT_EQ(refused({.allow_missing = true}), extra);
  EXPECT_EQ(refused({.allow_extra = true}), missing);
  const LoadReport r = loaded({.allow_missing = true, .allow_extra = true});
  EXPECT_EQ(r.missing.size(), 8u);
  EXPECT_EQ(r.extra.size(), 9u);
}

TEST_F(Load, another_shape) {
  tensors.at("transformer.wpe.weight") = HostTensor(DType::f32, {9, 8});
  EXPECT_EQ(refused(), " 1 of another type: transformer.wpe.weight is f32[9,8], expected f32[8,8]");
}

TEST_F(Load, a_tied_weight_once_twice_or_with_two_values) {
  tensors.erase("lm_head.weight");
  loaded();
  EXPECT_TRUE(same_state(source, target));
  tensors.emplace("lm_head.weight", tensors.at("transformer.wte.weight"));
  tensors.erase("transformer.wte.weight");
  target = model_of(gpt2_config(), {}, 3);
  loaded();
  EXPECT_TRUE(same_state(source, target));
  tensors.emplace("transformer.wte.weight", HostTensor(DType::f32, {11, 8}));
  EXPECT_EQ(refused(),
            " 1 pairs of names of one tied weight with different contents: "
            "transformer.wte.weight and lm_head.weight");
}

TEST_F(Load, an_untied_head_is_missed) {
  target = model_of(gpt2_config(R"(, "tie_word_embeddings": false)"));
  tensors.erase("lm_head.weight");
  EXPECT_EQ(refused(), "\n1 missing, which {.allow_missing = true} allows:\n  lm_head.weight");
}

TEST_F(Load, a_base_model_and_what_is_ignored) {
  NamedTensors base;
  for (const auto& [name, t] : tensors)
    if (name != "lm_head.weight") base.emplace(name.substr(std::string("transformer.").size()), t);
  base.emplace("h.0.attn.bias", HostTensor(DType::boolean, {1, 1, 8, 8}));
  base.emplace("h.1.attn.masked_bias", HostTensor(DType::f32, {}));
  tensors = base;
  EXPECT_TRUE(loaded().extra.empty());
  EXPECT_TRUE(same_state(source, target));
  tensors.emplace("transformer.wte.weight", tensors.at("wte.weight"));
  EXPECT_NE(refused().find("rename: "), std::string::npos);  // both stand for one name
}

TEST_F(Load, halves_are_converted) {
  for (const DType half : {DType::f16, DType::bf16}) {
    for (auto& [name, t] : tensors) t = t.to(half);
    const LoadReport r = loaded();
    EXPECT_EQ(r.converted.size(), r.loaded.size());
    const Store store = target.store();
    for (const auto& [name, v] : store.entries())
      EXPECT_TRUE(v.value().same_bits(tensors.at(name).to(DType::f32))) << name;
    tensors = tensors_of(source);
  }
}

TEST_F(Load, prefix_and_rename_come_first) {
  NamedTensors other;
  for (const auto& [name, t] : tensors) other.emplace("module." + name + "_", t);
  tensors = other;
  loaded({.prefix = "module.",
          .rename = [](const std::string& name) { return name.substr(0, name.size() - 1); }});
  EXPECT_TRUE(same_state(source, target));
  const LoadReport r = loaded({.allow_missing = true,
                               .allow_extra = true,
                               .prefix = "module.",
                               .rename = [](const std::string&) { return std::string(); }});
  EXPECT_EQ(r.extra.size(), tensors.size());
}

}  // namespace
}  // namespace cleave
